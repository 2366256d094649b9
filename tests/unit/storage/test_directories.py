"""Log directories are taken together, named, and given back when they are somebody else's."""

import errno
from dataclasses import replace

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.storage.atomic import read_whole, write_atomically
from cordwood.storage.clean_shutdown import read_clean_shutdown
from cordwood.storage.directories import Owner, give_back, open_directories
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles
from cordwood.testing.random import SeededRandom

NEW = [
    ".lock",
    "cleaner-offset-checkpoint",
    "log-start-offset-checkpoint",
    "meta.properties",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
]


class Ground:
    """Files, and who opens directories in them."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.events: list[str] = []
        self.owner = Owner(
            cluster_id="c", node_id=7, random=SeededRandom(1), on_event=self.events.append
        )

    def open(self, *paths: str) -> tuple[LogDirectory, ...]:
        return open_directories(self.files, paths or ("/a", "/b"), owner=self.owner)

    def stopped(self, *paths: str) -> None:
        """Leave directories after a clean stop."""
        for directory in self.open(*paths):
            directory.is_loaded = True
            directory.close(broker_epoch=1)

    def meta(self, path: str) -> MetaProperties:
        found = read_meta_properties(self.files, path)
        assert found is not None
        return found


@pytest.fixture
def ground() -> Ground:
    return Ground()


def test_new_directories_have_what_kafka_makes_and_nothing_else(ground: Ground) -> None:
    ground.open()

    first, second = ground.meta("/a"), ground.meta("/b")

    assert [ground.files.list(path) for path in ("/a", "/b")] == [NEW, NEW]
    assert (first.version, first.cluster_id, first.node_id) == (1, "c", 7)
    assert None not in {first.directory_id, second.directory_id}
    assert first.directory_id != second.directory_id


def test_name_tags_survive_a_crash_and_are_not_written_again(ground: Ground) -> None:
    ground.open()
    before = read_whole(ground.files, "/a/meta.properties")

    ground.files.crash()
    again = ground.open()

    assert read_whole(ground.files, "/a/meta.properties") == before
    assert again[0].meta == ground.meta("/a")


def test_directories_know_their_owner_when_it_does_not_know_itself(ground: Ground) -> None:
    ground.stopped("/a")
    ground.owner = replace(ground.owner, cluster_id=None, node_id=None)

    ground.open("/a", "/b")

    assert (ground.meta("/b").cluster_id, ground.meta("/b").node_id) == ("c", 7)


def test_owner_that_nobody_knows_gets_a_cluster_and_the_first_node_id(ground: Ground) -> None:
    ground.owner = replace(ground.owner, cluster_id=None, node_id=None)

    ground.open()

    assert ground.meta("/a").node_id == 1
    assert ground.meta("/a").cluster_id == ground.meta("/b").cluster_id
    assert len(ground.meta("/a").cluster_id or "") == 22


def test_directory_without_an_id_of_its_own_gets_one(ground: Ground) -> None:
    ground.stopped("/a")
    write_meta_properties(ground.files, "/a", meta=MetaProperties(cluster_id="c", node_id=7))

    ground.open("/a")

    assert ground.meta("/a").directory_id is not None


def test_directories_of_version_0_stay_so_and_new_ones_follow(ground: Ground) -> None:
    ground.stopped("/a")
    old = MetaProperties(version=0, cluster_id="c", node_id=7)
    write_meta_properties(ground.files, "/a", meta=old)

    ground.open("/a", "/b")

    assert (ground.meta("/a"), ground.meta("/b")) == (old, old)


def test_directories_of_another_cluster_are_given_back_as_they_were(ground: Ground) -> None:
    ground.stopped()
    ground.owner = replace(ground.owner, cluster_id="another")

    with pytest.raises(LogDirectoryError, match="/a: belongs to cluster c, not to cluster another"):
        ground.open()

    assert all(read_clean_shutdown(ground.files, path) is not None for path in ("/a", "/b"))
    ground.owner = replace(ground.owner, cluster_id="c")
    assert [directory.is_clean for directory in ground.open()] == [True, True]


def test_directories_are_given_back_when_another_process_has_one_of_them(ground: Ground) -> None:
    ground.open("/b")

    with pytest.raises(LogDirectoryError, match="/b: is in use by another process"):
        ground.open("/a", "/b")

    assert ground.open("/a")[0].is_online


def test_directories_that_are_given_back_are_as_they_were(ground: Ground) -> None:
    for directory in open_directories(ground.files, ["/a"], owner=ground.owner):
        directory.is_loaded = True
        directory.close(broker_epoch=7)
    before = ground.files.list("/a")

    give_back(open_directories(ground.files, ["/a"], owner=ground.owner))

    assert ".kafka_cleanshutdown" in before
    assert ground.files.list("/a") == before


def test_directory_that_is_named_twice_is_refused(ground: Ground) -> None:
    with pytest.raises(LogDirectoryError, match="/a: is among the log directories twice"):
        ground.open("/a", "/a")


def test_directory_whose_disk_fails_is_offline_and_the_others_are_not(ground: Ground) -> None:
    ground.files.script.add(Fault(on="create", path="/a/*", times=9))

    opened = ground.open()

    assert [directory.is_online for directory in opened] == [False, True]
    assert ground.events == [
        "/a cannot be opened: [Errno 5] Input/output error: '/a/cleaner-offset-checkpoint'"
    ]
    for directory in opened:
        directory.close(broker_epoch=1)


def test_directory_whose_name_tag_is_damaged_is_offline(ground: Ground) -> None:
    ground.stopped()
    write_atomically(ground.files, f"/a/{META_PROPERTIES}", data=b"version=9\n")

    opened = ground.open()

    assert [directory.is_online for directory in opened] == [False, True]
    assert "/a cannot be opened: /a/meta.properties: version is unknown" in ground.events[0]


def test_directory_whose_name_tag_cannot_be_written_is_offline(ground: Ground) -> None:
    ground.files.script.add(Fault(on="create", path="/b/meta.properties.tmp", code=errno.ENOSPC))

    opened = ground.open()

    assert [directory.is_online for directory in opened] == [True, False]
    assert ground.events[0].startswith("/b cannot be used: [Errno 28] No space left")


def test_damaged_checkpoint_is_told(ground: Ground) -> None:
    ground.stopped("/a")
    path = "/a/replication-offset-checkpoint"
    ground.files.open(path, writable=True).append(b"seven\n")

    ground.open("/a")

    assert ground.events[0].startswith(f"taken for empty: {path}: line 1 of a checkpoint")


def test_no_directory_at_all_is_refused(ground: Ground) -> None:
    ground.files.script.add(Fault(on="make_directory", times=9))

    with pytest.raises(LogDirectoryError, match="/a, /b: no log directory can be used"):
        ground.open()
