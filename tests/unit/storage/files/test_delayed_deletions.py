"""Deleted files are removed after a delay."""

import errno
from pathlib import Path

import pytest

from cordwood.core.ports import Worker
from cordwood.core.system import SystemFiles, ThreadWorker
from cordwood.storage.files.delayed_deletions import ScheduledDeletions, remove_tree
from cordwood.storage.log_config import LogConfig
from cordwood.testing.file_faults import FileFault
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.storage.log_samples import LogHarness, bases, batch, filled


class DeletionHarness:
    """A directory with files, and deletions whose errors are collected."""

    def __init__(self, *names: str, worker: Worker | None = None) -> None:
        self.clock = VirtualClock()
        self.files = MemoryFiles(self.clock)
        self.files.make_directory("/d")
        for name in names:
            self.files.create(f"/d/{name}")
        self.errors: list[tuple[str, int | None]] = []
        self.deletions = ScheduledDeletions(
            self.files,
            self.clock,
            worker or InlineWorker(),
            now_ms=self.clock.monotonic_ms,
            on_error=lambda path, error: self.errors.append((path, error.errno)),
        )


def test_deletions_remove_files_when_they_are_due() -> None:
    yard = DeletionHarness("a", "b", "c")

    yard.deletions.remove_later(["/d/a", "/d/b"], delay_ms=1000)
    yard.clock.advance(ms=999)
    before = yard.files.list("/d")
    yard.clock.advance(ms=1)

    assert before == ["a", "b", "c"]
    assert yard.files.list("/d") == ["c"]


def test_deletions_without_files_start_no_timer() -> None:
    yard = DeletionHarness()

    yard.deletions.remove_later([], delay_ms=1000)

    assert yard.clock.next_call_ms() is None


def test_deletions_ignore_missing_files() -> None:
    yard = DeletionHarness("b")

    yard.deletions.remove_later(["/d/a", "/d/b"], delay_ms=0)
    yard.clock.advance(ms=0)

    assert yard.files.list("/d") == []
    assert yard.errors == []


def test_deletions_report_failures_and_continue() -> None:
    yard = DeletionHarness("a", "b")
    yard.files.script.add(FileFault(on="remove", path="/d/a"))

    yard.deletions.remove_later(["/d/a", "/d/b"], delay_ms=0)
    yard.clock.advance(ms=0)

    assert yard.errors == [("/d/a", errno.EIO)]
    assert yard.files.list("/d") == ["a"]


def test_deletions_leave_segments_under_another_name_until_their_delay_is_over() -> None:
    place = LogHarness()
    deletions = ScheduledDeletions(
        place.files,
        place.clock,
        InlineWorker(),
        now_ms=place.clock.monotonic_ms,
        on_error=lambda path, error: pytest.fail(f"{path}: {error}"),
    )
    log = filled(place.open(LogConfig(segment_bytes=5 * len(batch()), retention_bytes=1)), 12)

    log.delete_old_segments()
    deletions.remove_later(place.deletions.paths, delay_ms=place.deletions.delays_ms[0])
    place.clock.advance(ms=59_999)
    before = place.names(".log.deleted")
    place.clock.advance(ms=2)

    assert before == ["0.log.deleted", "5.log.deleted"]
    assert place.names(".deleted") == []
    assert bases(log) == [10]


def test_deletions_remove_a_directory_when_it_is_due() -> None:
    yard = DeletionHarness("a")

    yard.deletions.remove_trees_later(["/d"], delay_ms=1000)
    yard.clock.advance(ms=999)
    before = yard.files.list("/")
    yard.clock.advance(ms=1)

    assert before == ["d"]
    assert yard.files.list("/") == []


def test_deletions_report_a_directory_that_cannot_be_removed() -> None:
    yard = DeletionHarness("a")
    yard.files.script.add(FileFault(on="remove", path="/d/a"))

    yard.deletions.remove_trees_later(["/d"], delay_ms=0)
    yard.clock.advance(ms=0)

    assert yard.errors == [("/d", errno.EIO)]


def test_closed_deletions_remove_no_files() -> None:
    yard = DeletionHarness("a", "b")
    yard.deletions.remove_later(["/d/a"], delay_ms=1000)
    yard.deletions.remove_later(["/d/b"], delay_ms=2000)
    yard.clock.advance(ms=1000)

    yard.deletions.close()
    yard.clock.advance(ms=5000)

    assert yard.files.list("/d") == ["b"]


def test_tree_is_removed_with_its_content() -> None:
    yard = DeletionHarness("a")
    yard.files.make_directory("/d/e")
    yard.files.create("/d/e/f")

    remove_tree(yard.files, "/d")

    assert yard.files.list("/") == []


def test_missing_tree_is_ignored() -> None:
    remove_tree(MemoryFiles(), "/d")


def test_tree_is_removed_and_link_targets_stay(tmp_path: Path) -> None:
    kept, tree = tmp_path / "kept", tmp_path / "tree"
    (kept / "inside").mkdir(parents=True)
    (tree / "deep").mkdir(parents=True)
    (tree / "deep" / "link").symlink_to(kept)
    (tree / "dangling").symlink_to(tmp_path / "nothing")

    remove_tree(SystemFiles(), str(tree))

    assert not tree.exists()
    assert (kept / "inside").is_dir()


def test_link_is_removed_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "kept")

    remove_tree(SystemFiles(), str(tmp_path / "link"))

    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_tree_raises_when_a_file_may_not_be_removed() -> None:
    yard = DeletionHarness("a")
    yard.files.script.add(FileFault(on="remove", path="/d/a", code=errno.EPERM))

    with pytest.raises(PermissionError):
        remove_tree(yard.files, "/d")


def test_tree_is_removed_although_a_file_disappears() -> None:
    yard = DeletionHarness("a", "b")
    yard.files.script.add(FileFault(on="remove", path="/d/a", code=errno.ENOENT))

    with pytest.raises(OSError, match="not empty"):
        remove_tree(yard.files, "/d")

    assert yard.files.list("/d") == ["a"]


def test_close_waits_for_running_deletions() -> None:
    worker = ThreadWorker(threads=1)
    yard = DeletionHarness("a", "b", worker=worker)
    for name in ("a", "b"):
        yard.deletions.remove_later([f"/d/{name}"], delay_ms=0)
    yard.clock.advance(ms=0)

    yard.deletions.close()
    left = yard.files.list("/d")
    worker.close()

    assert left == []
