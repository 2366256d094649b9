"""The metadata store keeps each acknowledged change in every copy that it has."""

import errno
from pathlib import Path

import pytest

from cordwood.broker.metadata.file_metadata_store import FileMetadataStore
from cordwood.broker.metadata.metadata_copies import CopyPlace
from cordwood.core.errors import KafkaStorageError
from cordwood.core.system import SystemFiles
from cordwood.core.znodes import CreateZNode, DeleteZNode, SetZNode, ZNode
from cordwood.storage.checkpoints.metadata_file_format import encode_line
from cordwood.storage.files.atomic_write import read_whole, write_synced
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles

PATH = "/cordwood.metadata"
PAGE = Path(__file__).parents[4] / "docs" / "formats" / "metadata.md"
DOCUMENTED = PAGE.read_text().split("```metadata\n")[1].split("```")[0].encode()


def created(files: MemoryFiles, *paths: str) -> FileMetadataStore:
    return FileMetadataStore.create(
        [CopyPlace(files, "", "a")], changes=[CreateZNode(path) for path in paths], on_event=str
    )


def opened(files: MemoryFiles) -> FileMetadataStore:
    store = FileMetadataStore.open([CopyPlace(files, "", "a")], on_event=str)
    assert store is not None
    return store


def append(files: MemoryFiles, data: bytes) -> None:
    write_synced(files, PATH, data=read_whole(files, PATH) + data)


def test_file_is_read_as_it_was_written() -> None:
    files = MemoryFiles()
    store = created(files, "/a", "/b")
    store.multi([SetZNode("/a", b"\xff\n\x00"), DeleteZNode("/b")])
    store.close()

    again = opened(files)

    assert again.get("/a") == ZNode(b"\xff\n\x00", 1)
    assert again.children("/") == ["a"]


def test_documented_example_equals_the_written_file() -> None:
    files = MemoryFiles()
    store = created(files, "/brokers", "/brokers/topics")

    store.multi([CreateZNode("/brokers/topics/orders", b'{"version":3}')])
    store.multi([DeleteZNode("/brokers/topics/orders")])

    assert read_whole(files, PATH) == DOCUMENTED


@pytest.mark.parametrize("tail", (b"12", b"00000000 {}\n", b"\0\0\0\0", b"00000000 [1]\n"))
def test_incomplete_last_line_is_truncated(tail: bytes) -> None:
    files = MemoryFiles()
    created(files, "/a").close()
    before = read_whole(files, PATH)
    append(files, tail)

    store = opened(files)
    store.multi([CreateZNode("/b")])

    assert read_whole(files, PATH).startswith(before)
    assert opened(files).children("/") == ["a", "b"]


def test_empty_change_is_not_written() -> None:
    files = MemoryFiles()
    store = created(files, "/a")
    before = read_whole(files, PATH)

    store.multi([])

    assert read_whole(files, PATH) == before


def test_format_1_is_read_and_rewritten() -> None:
    files = MemoryFiles()
    line = encode_line({"/a": ZNode(b"old", 3)})
    write_synced(files, PATH, data=b"cordwood.metadata 1\n" + line)

    store = opened(files)
    store.multi([CreateZNode("/b")])

    assert read_whole(files, PATH).startswith(b"cordwood.metadata 2\n")
    assert opened(files).get("/a") == ZNode(b"old", 3)
    assert opened(files).children("/") == ["a", "b"]


def test_file_is_rewritten_when_most_lines_are_obsolete() -> None:
    files = MemoryFiles()
    store = created(files, "/a")

    for number in range(1100):
        store.multi([SetZNode("/a", b"%d" % number)])

    assert len(read_whole(files, PATH).splitlines()) < 200
    assert opened(files).get("/a") == ZNode(b"1099", 1100)


def test_file_is_not_rewritten_when_the_disk_is_full() -> None:
    files = MemoryFiles()
    store = created(files, "/a")
    files.script.add(FileFault(on="append", path="*.tmp", code=errno.ENOSPC, times=9))

    for number in range(1100):
        store.multi([SetZNode("/a", b"%d" % number)])

    assert opened(files).get("/a") == ZNode(b"1099", 1100)


def test_change_is_rejected_when_the_disk_is_full() -> None:
    files = MemoryFiles()
    store = created(files, "/a")
    files.script.add(FileFault(on="append", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match="No space left"):
        store.multi([CreateZNode("/b")])
    store.multi([CreateZNode("/c")])

    assert opened(files).children("/") == ["a", "c"]


def test_store_rejects_all_changes_after_a_failed_fsync() -> None:
    files = MemoryFiles()
    store = created(files, "/a")
    files.script.add(FileFault(on="sync"))

    for path in ("/b", "/c"):
        with pytest.raises(KafkaStorageError, match="Input/output error"):
            store.multi([CreateZNode(path)])


@pytest.mark.parametrize("call", ("rename", "sync_directory"))
def test_store_rejects_all_changes_after_a_failed_rename(call: str) -> None:
    files = MemoryFiles()
    store = created(files, "/a")
    files.script.add(FileFault(on=call))
    for _ in range(1002):
        store.multi([SetZNode("/a", b"")])

    with pytest.raises(KafkaStorageError, match="Input/output error"):
        store.multi([SetZNode("/a", b"")])


def test_opened_file_is_fsynced_before_its_content_is_used() -> None:
    files = MemoryFiles()
    store = created(files, "/a")
    files.script.add(FileFault(on="sync"))
    with pytest.raises(KafkaStorageError):
        store.multi([CreateZNode("/b")])

    opened(files)
    files.crash()

    assert opened(files).children("/") == ["a", "b"]


def test_file_with_passwords_is_private_after_each_way_to_write_it(tmp_path: Path) -> None:
    place = CopyPlace(SystemFiles(), str(tmp_path), "a")
    write_synced(place.files, f"{place.path}.tmp", data=b"left by a crash")
    store = FileMetadataStore.create([place], changes=[CreateZNode("/a")], on_event=str)
    created = mode_of(place.path)
    for number in range(1_100):
        store.multi([SetZNode("/a", str(number).encode())])
    store.close()

    assert (created, mode_of(place.path)) == (0o600, 0o600)


def test_file_of_an_earlier_release_becomes_private(tmp_path: Path) -> None:
    place = CopyPlace(SystemFiles(), str(tmp_path), "a")
    FileMetadataStore.create([place], changes=[CreateZNode("/a")], on_event=str).close()
    Path(place.path).chmod(0o644)

    store = FileMetadataStore.open([place], on_event=str)

    assert store is not None
    store.close()

    assert mode_of(place.path) == 0o600


def mode_of(path: str) -> int:
    return Path(path).stat().st_mode & 0o777
