"""Every log directory has a copy of the metadata, and the newest whole copy is used."""

import errno

import pytest

from cordwood.broker.metadata.file_metadata_store import FileMetadataStore
from cordwood.broker.metadata.metadata_copies import CopyPlace
from cordwood.core.errors import DamagedFileError, KafkaStorageError, LogDirectoryError
from cordwood.core.znodes import CreateZNode, SetZNode
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE
from cordwood.storage.files.atomic_write import exists, read_whole, write_synced
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles


class CopiesHarness:
    """Log directories; `events` are the messages for the operator."""

    def __init__(self, directories: str = "abc") -> None:
        self.files = MemoryFiles()
        self.events: list[str] = []
        for name in directories:
            self.files.make_directory(f"/{name}")
        self.files.sync_directory("/")

    def places(self, directories: str) -> list[CopyPlace]:
        return [CopyPlace(self.files, f"/{name}", f"id-{name}") for name in directories]

    def create(self, directories: str) -> FileMetadataStore:
        return FileMetadataStore.create(
            self.places(directories), changes=[], on_event=self.events.append
        )

    def open(self, directories: str) -> FileMetadataStore:
        store = FileMetadataStore.open(self.places(directories), on_event=self.events.append)
        assert store is not None, "there is a copy"
        return store

    def add(self, directories: str, node: str) -> None:
        """Make a change as a broker that has these directories, and stop."""
        store = self.open(directories)
        store.multi([CreateZNode(node)])
        store.close()

    def nodes(self, directories: str) -> list[str]:
        store = self.open(directories)
        store.close()
        return store.children("/")

    def path(self, directory: str) -> str:
        return f"/{directory}/{METADATA_FILE}"

    def copy(self, directory: str) -> bytes:
        return read_whole(self.files, self.path(directory))

    def overwrite(self, directory: str, data: bytes) -> None:
        write_synced(self.files, self.path(directory), data=data)

    def fail(self, on: str, directory: str, code: int = errno.EIO) -> None:
        self.files.script.add(FileFault(on=on, path=f"/{directory}/*", code=code))


@pytest.fixture
def harness() -> CopiesHarness:
    """Return two directories with copies and a third one without."""
    harness = CopiesHarness()
    harness.create("ab").close()
    return harness


def test_change_is_in_every_copy(harness: CopiesHarness) -> None:
    harness.add("ab", "/x")

    assert harness.copy("a") == harness.copy("b")
    assert (harness.nodes("a"), harness.nodes("b")) == (["x"], ["x"])


def test_there_is_no_store_without_a_copy() -> None:
    harness = CopiesHarness()

    assert FileMetadataStore.open(harness.places("ab"), on_event=str) is None


def test_new_directory_gets_a_copy(harness: CopiesHarness) -> None:
    harness.add("abc", "/x")

    assert harness.nodes("c") == ["x"]
    assert harness.events == []


def test_replaced_disk_gets_the_copy_of_the_other_one(harness: CopiesHarness) -> None:
    harness.add("ab", "/x")
    harness.files.remove(harness.path("a"))

    nodes = harness.nodes("ab")

    assert nodes == ["x"]
    assert harness.copy("a") == harness.copy("b")
    assert harness.events == [f"{harness.path('a')} is missing; the copy of /b replaces it"]


def test_any_flipped_bit_of_a_copy_loses_no_node(harness: CopiesHarness) -> None:
    harness.add("ab", "/x")
    whole = harness.copy("a")
    for position in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[position // 8] ^= 1 << position % 8
        harness.overwrite("a", bytes(damaged))

        assert harness.nodes("ab") == ["x"], position

    assert harness.copy("a") == harness.copy("b")


def test_copy_that_is_cut_anywhere_loses_no_node(harness: CopiesHarness) -> None:
    harness.add("ab", "/x")
    harness.add("ab", "/y")
    whole = harness.copy("a")
    for length in range(len(whole)):
        harness.overwrite("a", whole[:length])

        assert harness.nodes("ab") == ["x", "y"], length


def test_damaged_copy_is_reported(harness: CopiesHarness) -> None:
    harness.overwrite("a", b"?")

    harness.nodes("ab")

    (event,) = harness.events
    assert event.startswith(harness.path("a"))
    assert event.endswith("; the copy of /b replaces it")


def test_only_damaged_copies_are_rejected(harness: CopiesHarness) -> None:
    for name in "ab":
        harness.overwrite(name, b"?")

    with pytest.raises(DamagedFileError, match="The settings of topics and brokers are lost"):
        harness.open("ab")


def test_copy_that_was_left_behind_is_replaced(harness: CopiesHarness) -> None:
    harness.add("a", "/x")

    nodes = harness.nodes("ab")

    assert nodes == ["x"]
    assert harness.copy("a") == harness.copy("b")


def test_copies_with_histories_of_their_own_are_rejected(harness: CopiesHarness) -> None:
    harness.add("a", "/x")
    harness.add("b", "/y")

    with pytest.raises(LogDirectoryError, match=r"/b: has a .* of its own, and so has /a"):
        harness.open("ab")


def test_copy_without_a_header_is_behind_one_that_lists_it(harness: CopiesHarness) -> None:
    harness.add("ab", "/x")
    harness.overwrite("a", b"cordwood.metadata 1\n")

    assert harness.nodes("ab") == ["x"]


@pytest.mark.parametrize("call", ("append", "sync"))
def test_change_counts_with_one_of_two_copies(harness: CopiesHarness, call: str) -> None:
    store = harness.open("ab")
    harness.fail(call, "a")

    store.multi([CreateZNode("/x")])
    store.multi([CreateZNode("/y")])
    store.close()

    assert harness.nodes("b") == ["x", "y"]
    (event,) = harness.events
    assert event.startswith(f"{harness.path('a')} is not written until a restart: [Errno 5]")


def test_copy_that_was_given_up_is_not_used(harness: CopiesHarness) -> None:
    store = harness.open("ab")
    harness.fail("sync", "a")
    store.multi([CreateZNode("/x")])
    store.multi([CreateZNode("/y")])
    store.close()

    assert harness.nodes("ab") == ["x", "y"]
    assert harness.copy("a") == harness.copy("b")


def test_use_of_a_given_up_copy_alone_is_detected_later(harness: CopiesHarness) -> None:
    store = harness.open("ab")
    harness.fail("sync", "a")
    store.multi([CreateZNode("/x")])
    store.close()
    harness.add("a", "/z")

    with pytest.raises(LogDirectoryError, match="the broker has run on each without the other"):
        harness.open("ab")


def test_change_fails_with_the_last_copy(harness: CopiesHarness) -> None:
    store = harness.open("ab")
    for name in "ab":
        harness.fail("append", name, errno.ENOSPC)

    with pytest.raises(KafkaStorageError, match="No space left"):
        store.multi([CreateZNode("/x")])
    store.multi([CreateZNode("/y")])

    assert harness.nodes("ab") == ["y"]
    assert harness.copy("a") == harness.copy("b")


def test_copy_that_cannot_be_replaced_is_given_up(harness: CopiesHarness) -> None:
    harness.fail("rename", "c")

    harness.add("abc", "/x")

    assert harness.nodes("ab") == ["x"]
    assert not exists(harness.files, harness.path("c"))


@pytest.mark.parametrize("on", ("append", "rename"))
def test_copies_are_rewritten_where_that_is_possible(harness: CopiesHarness, on: str) -> None:
    store = harness.open("ab")
    store.multi([CreateZNode("/x")])
    harness.files.script.add(FileFault(on=on, path="/a/*.tmp", code=errno.ENOSPC))

    for number in range(1100):
        store.multi([SetZNode("/x", b"%d" % number)])
    store.close()

    reopened = harness.open("ab")
    node = reopened.get("/x")
    assert node is not None
    assert node.data == b"1099"
    assert len(harness.copy("b").splitlines()) < 200


def test_unacknowledged_change_of_one_copy_is_kept_or_lost_in_both(harness: CopiesHarness) -> None:
    harness.add("ab", "/x")
    harness.overwrite("b", b"".join(harness.copy("a").splitlines(keepends=True)[:-1]))

    assert harness.nodes("ab") == ["x"]
    assert harness.copy("a") == harness.copy("b")
