"""What is deleted goes a while later."""

import errno
from pathlib import Path

import pytest

from cordwood.core.ports import Worker
from cordwood.core.system import SystemFiles, ThreadWorker
from cordwood.storage.deletions import ScheduledDeletions, remove_tree
from cordwood.storage.log_config import LogConfig
from cordwood.testing.clock import VirtualClock
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles
from cordwood.testing.worker import InlineWorker
from tests.unit.storage.log_samples import Place, bases, batch, filled


class Yard:
    """A directory with files, and deletions that tell their errors."""

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


def test_deletions_remove_files_when_their_time_has_come() -> None:
    yard = Yard("a", "b", "c")

    yard.deletions.remove_later(["/d/a", "/d/b"], delay_ms=1000)
    yard.clock.advance(ms=999)
    before = yard.files.list("/d")
    yard.clock.advance(ms=1)

    assert before == ["a", "b", "c"]
    assert yard.files.list("/d") == ["c"]


def test_deletions_of_nothing_wait_for_nothing() -> None:
    yard = Yard()

    yard.deletions.remove_later([], delay_ms=1000)

    assert yard.clock.next_call_ms() is None


def test_deletions_do_not_mind_what_is_gone_already() -> None:
    yard = Yard("b")

    yard.deletions.remove_later(["/d/a", "/d/b"], delay_ms=0)
    yard.clock.advance(ms=0)

    assert yard.files.list("/d") == []
    assert yard.errors == []


def test_deletions_tell_what_could_not_go_and_go_on() -> None:
    yard = Yard("a", "b")
    yard.files.script.add(Fault(on="remove", path="/d/a"))

    yard.deletions.remove_later(["/d/a", "/d/b"], delay_ms=0)
    yard.clock.advance(ms=0)

    assert yard.errors == [("/d/a", errno.EIO)]
    assert yard.files.list("/d") == ["a"]


def test_deletions_leave_segments_under_another_name_until_their_delay_is_over() -> None:
    place = Place()
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
    assert (place.names(".deleted"), bases(log)) == ([], [10])


def test_deletions_remove_a_directory_when_its_time_has_come() -> None:
    yard = Yard("a")

    yard.deletions.remove_tree_later("/d", delay_ms=1000)
    yard.clock.advance(ms=999)
    before = yard.files.list("/")
    yard.clock.advance(ms=1)

    assert (before, yard.files.list("/")) == (["d"], [])


def test_deletions_tell_of_a_directory_that_could_not_go() -> None:
    yard = Yard("a")
    yard.files.script.add(Fault(on="remove", path="/d/a"))

    yard.deletions.remove_tree_later("/d", delay_ms=0)
    yard.clock.advance(ms=0)

    assert yard.errors == [("/d", errno.EIO)]


def test_closed_deletions_remove_nothing_any_more() -> None:
    yard = Yard("a", "b")
    yard.deletions.remove_later(["/d/a"], delay_ms=1000)
    yard.deletions.remove_later(["/d/b"], delay_ms=2000)
    yard.clock.advance(ms=1000)

    yard.deletions.close()
    yard.clock.advance(ms=5000)

    assert yard.files.list("/d") == ["b"]


def test_tree_is_removed_with_all_that_is_in_it() -> None:
    yard = Yard("a")
    yard.files.make_directory("/d/e")
    yard.files.create("/d/e/f")

    remove_tree(yard.files, "/d")

    assert yard.files.list("/") == []


def test_tree_that_is_gone_does_not_matter() -> None:
    remove_tree(MemoryFiles(), "/d")


def test_tree_goes_and_what_its_links_lead_to_stays(tmp_path: Path) -> None:
    kept, tree = tmp_path / "kept", tmp_path / "tree"
    (kept / "inside").mkdir(parents=True)
    (tree / "deep").mkdir(parents=True)
    (tree / "deep" / "link").symlink_to(kept)
    (tree / "dangling").symlink_to(tmp_path / "nothing")

    remove_tree(SystemFiles(), str(tree))

    assert not tree.exists()
    assert (kept / "inside").is_dir()


def test_tree_that_is_a_link_leaves_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "kept")

    remove_tree(SystemFiles(), str(tmp_path / "link"))

    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_tree_raises_when_a_file_may_not_be_removed() -> None:
    yard = Yard("a")
    yard.files.script.add(Fault(on="remove", path="/d/a", code=errno.EPERM))

    with pytest.raises(PermissionError):
        remove_tree(yard.files, "/d")


def test_tree_goes_although_one_of_its_files_has_gone_meanwhile() -> None:
    yard = Yard("a", "b")
    yard.files.script.add(Fault(on="remove", path="/d/a", code=errno.ENOENT))

    with pytest.raises(OSError, match="not empty"):
        remove_tree(yard.files, "/d")

    assert yard.files.list("/d") == ["a"]


def test_closing_deletions_waits_for_those_that_are_under_way() -> None:
    worker = ThreadWorker(threads=1)
    yard = Yard("a", "b", worker=worker)
    for name in ("a", "b"):
        yard.deletions.remove_later([f"/d/{name}"], delay_ms=0)
    yard.clock.advance(ms=0)

    yard.deletions.close()
    left = yard.files.list("/d")
    worker.close()

    assert left == []
