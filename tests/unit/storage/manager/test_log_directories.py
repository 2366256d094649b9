"""Log directories are opened and identified together, and closed again if one is foreign."""

import errno
from dataclasses import replace

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.storage.checkpoints.clean_shutdown_file import read_clean_shutdown
from cordwood.storage.checkpoints.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from cordwood.storage.files.atomic_write import read_whole, write_atomically
from cordwood.storage.manager.log_directories import DirectoryOwner, give_back, open_directories
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom

NEW = [
    ".lock",
    "cleaner-offset-checkpoint",
    "log-start-offset-checkpoint",
    "meta.properties",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
]


class LogDirectoriesHarness:
    """Files, and the owner that opens log directories in them."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.events: list[str] = []
        self.owner = DirectoryOwner(
            cluster_id="c", node_id=7, random=SeededRandom(1), on_event=self.events.append
        )

    def open(self, *paths: str) -> tuple[LogDirectory, ...]:
        return open_directories(self.files, paths or ("/a", "/b"), owner=self.owner)

    def stopped(self, *paths: str) -> None:
        """Leave directories after a clean shutdown."""
        for directory in self.open(*paths):
            directory.is_loaded = True
            directory.close(broker_epoch=1)

    def meta(self, path: str) -> MetaProperties:
        found = read_meta_properties(self.files, path)
        assert found is not None
        return found


@pytest.fixture
def harness() -> LogDirectoriesHarness:
    return LogDirectoriesHarness()


def test_new_directories_have_exactly_the_files_of_kafka(harness: LogDirectoriesHarness) -> None:
    harness.open()

    first, second = harness.meta("/a"), harness.meta("/b")

    assert [harness.files.list(path) for path in ("/a", "/b")] == [NEW, NEW]
    assert first.version == 1
    assert first.cluster_id == "c"
    assert first.node_id == 7
    assert None not in {first.directory_id, second.directory_id}
    assert first.directory_id != second.directory_id


def test_meta_properties_survive_a_crash_and_are_not_written_again(
    harness: LogDirectoriesHarness,
) -> None:
    harness.open()
    before = read_whole(harness.files, "/a/meta.properties")

    harness.files.crash()
    again = harness.open()

    assert read_whole(harness.files, "/a/meta.properties") == before
    assert again[0].meta == harness.meta("/a")


def test_unknown_owner_is_read_from_the_directories(
    harness: LogDirectoriesHarness,
) -> None:
    harness.stopped("/a")
    harness.owner = replace(harness.owner, cluster_id=None, node_id=None)

    harness.open("/a", "/b")

    assert harness.meta("/b").cluster_id == "c"
    assert harness.meta("/b").node_id == 7


def test_unknown_owner_gets_a_cluster_and_the_first_node_id(harness: LogDirectoriesHarness) -> None:
    harness.owner = replace(harness.owner, cluster_id=None, node_id=None)

    harness.open()

    assert harness.meta("/a").node_id == 1
    assert harness.meta("/a").cluster_id == harness.meta("/b").cluster_id
    assert len(harness.meta("/a").cluster_id or "") == 22


def test_directory_without_an_id_receives_one(harness: LogDirectoriesHarness) -> None:
    harness.stopped("/a")
    write_meta_properties(harness.files, "/a", meta=MetaProperties(cluster_id="c", node_id=7))

    harness.open("/a")

    assert harness.meta("/a").directory_id is not None


def test_meta_properties_version_0_is_kept_and_used_for_new_directories(
    harness: LogDirectoriesHarness,
) -> None:
    harness.stopped("/a")
    old = MetaProperties(version=0, cluster_id="c", node_id=7)
    write_meta_properties(harness.files, "/a", meta=old)

    harness.open("/a", "/b")

    assert harness.meta("/a") == old
    assert harness.meta("/b") == old


def test_directories_of_another_cluster_are_closed_again_as_they_were(
    harness: LogDirectoriesHarness,
) -> None:
    harness.stopped()
    harness.owner = replace(harness.owner, cluster_id="another")

    with pytest.raises(LogDirectoryError, match="/a: belongs to cluster c, not to cluster another"):
        harness.open()

    assert all(read_clean_shutdown(harness.files, path) is not None for path in ("/a", "/b"))
    harness.owner = replace(harness.owner, cluster_id="c")
    assert [directory.is_clean for directory in harness.open()] == [True, True]


def test_directories_are_closed_again_when_one_is_in_use_by_another_process(
    harness: LogDirectoriesHarness,
) -> None:
    harness.open("/b")

    with pytest.raises(LogDirectoryError, match="/b: is in use by another process"):
        harness.open("/a", "/b")

    assert harness.open("/a")[0].is_online


def test_directories_that_are_closed_again_are_as_they_were(harness: LogDirectoriesHarness) -> None:
    for directory in open_directories(harness.files, ["/a"], owner=harness.owner):
        directory.is_loaded = True
        directory.close(broker_epoch=7)
    before = harness.files.list("/a")

    give_back(open_directories(harness.files, ["/a"], owner=harness.owner))

    assert ".kafka_cleanshutdown" in before
    assert harness.files.list("/a") == before


@pytest.mark.parametrize("again", ("/a", "/a/", "/./a", "/b/../a"))
def test_directory_that_is_named_twice_is_rejected(
    harness: LogDirectoriesHarness, again: str
) -> None:
    with pytest.raises(LogDirectoryError, match="is listed twice among the log directories"):
        harness.open("/a", again)


def test_directory_whose_disk_fails_is_offline_and_the_others_are_not(
    harness: LogDirectoriesHarness,
) -> None:
    harness.files.script.add(FileFault(on="create", path="/a/*", times=9))

    opened = harness.open()

    assert [directory.is_online for directory in opened] == [False, True]
    assert harness.events == [
        "/a cannot be opened: [Errno 5] Input/output error: '/a/cleaner-offset-checkpoint'"
    ]
    for directory in opened:
        directory.close(broker_epoch=1)


def test_directory_whose_meta_properties_is_damaged_is_offline(
    harness: LogDirectoriesHarness,
) -> None:
    harness.stopped()
    write_atomically(harness.files, f"/a/{META_PROPERTIES}", data=b"version=9\n")

    opened = harness.open()

    assert [directory.is_online for directory in opened] == [False, True]
    assert "/a cannot be opened: /a/meta.properties: version is unknown" in harness.events[0]


def test_directory_whose_meta_properties_cannot_be_written_is_offline(
    harness: LogDirectoriesHarness,
) -> None:
    harness.files.script.add(
        FileFault(on="create", path="/b/meta.properties.tmp", code=errno.ENOSPC)
    )

    opened = harness.open()

    assert [directory.is_online for directory in opened] == [True, False]
    assert harness.events[0].startswith("/b cannot be used: [Errno 28] No space left")


def test_damaged_checkpoint_is_reported(harness: LogDirectoriesHarness) -> None:
    harness.stopped("/a")
    path = "/a/replication-offset-checkpoint"
    harness.files.open(path, writable=True).append(b"seven\n")

    harness.open("/a")

    assert harness.events[0].startswith(
        f"a damaged checkpoint counts as empty: {path}: line 1 of the checkpoint"
    )


def test_no_directory_at_all_is_rejected(harness: LogDirectoriesHarness) -> None:
    harness.files.script.add(FileFault(on="make_directory", times=9))

    with pytest.raises(LogDirectoryError, match="/a, /b: no log directory can be used"):
        harness.open()


def test_directory_that_is_no_partition_is_rejected_before_anything_is_written(
    harness: LogDirectoriesHarness,
) -> None:
    harness.files.make_directory("/a")
    harness.files.make_directory("/b")
    harness.files.make_directory("/b/backup")

    with pytest.raises(LogDirectoryError, match="/b/backup: 'backup' does not have the form"):
        harness.open("/a", "/b")

    assert harness.files.list("/a") == []
    assert harness.files.list("/b") == ["backup"]


def test_lost_and_found_of_a_file_system_is_ignored(harness: LogDirectoriesHarness) -> None:
    harness.files.make_directory("/a")
    harness.files.make_directory("/a/lost+found")

    opened = harness.open("/a")

    assert opened[0].partitions() == {}
