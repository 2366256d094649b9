"""Tests of the metadata file."""

import errno
import json
from pathlib import Path

import pytest

from cordwood.broker.metadata.metadata_file import MetadataFile
from cordwood.core.errors import KafkaStorageError
from cordwood.core.znodes import CreateZNode, DeleteZNode, SetZNode, ZNode
from cordwood.storage.checkpoints.metadata_file_format import FORMATS
from cordwood.storage.files.atomic_write import read_whole, write_synced
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles

PATH = "/cordwood.metadata"
PAGE = Path(__file__).parents[4] / "docs" / "formats" / "metadata.md"
DOCUMENTED = PAGE.read_text().split("```metadata\n")[1].split("```")[0].encode()


def made(files: MemoryFiles, *paths: str) -> MetadataFile:
    return MetadataFile.create(files, PATH, changes=[CreateZNode(path) for path in paths])


def append(files: MemoryFiles, data: bytes) -> None:
    write_synced(files, PATH, data=read_whole(files, PATH) + data)


def test_file_is_read_as_it_was_written() -> None:
    files = MemoryFiles()
    store = made(files, "/a", "/b")
    store.multi([SetZNode("/a", b"\xff\n\x00"), DeleteZNode("/b")])
    store.close()

    again = MetadataFile.open(files, PATH)

    assert again.get("/a") == ZNode(b"\xff\n\x00", 1)
    assert again.children("/") == ["a"]


def test_documented_example_equals_the_written_file() -> None:
    files = MemoryFiles()
    store = MetadataFile.create(
        files, PATH, changes=[CreateZNode(path) for path in ("/brokers", "/brokers/topics")]
    )

    store.multi([CreateZNode("/brokers/topics/orders", b'{"version":3}')])
    store.multi([DeleteZNode("/brokers/topics/orders")])

    assert read_whole(files, PATH) == DOCUMENTED


@pytest.mark.parametrize("tail", (b"12", b"00000000 {}\n", b"\0\0\0\0", b"00000000 [1]\n"))
def test_incomplete_last_line_is_truncated(tail: bytes) -> None:
    files = MemoryFiles()
    made(files, "/a").close()
    before = read_whole(files, PATH)
    append(files, tail)

    store = MetadataFile.open(files, PATH)
    store.multi([CreateZNode("/b")])

    assert read_whole(files, PATH).startswith(before)
    assert MetadataFile.open(files, PATH).children("/") == ["a", "b"]


def test_empty_change_is_not_written() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    before = read_whole(files, PATH)

    store.multi([])

    assert read_whole(files, PATH) == before


def test_older_format_is_read_and_rewritten() -> None:
    files = MemoryFiles()
    made(files, "/a").close()
    line = read_whole(files, PATH).splitlines(keepends=True)[1]
    write_synced(files, PATH, data=b"cordwood.metadata 0\n" + line)
    older = {0: lambda text: {path: ZNode(b"old") for path in json.loads(text)}}

    MetadataFile.open(files, PATH, formats={**FORMATS, **older})

    assert MetadataFile.open(files, PATH).get("/a") == ZNode(b"old")


def test_file_is_rewritten_when_most_lines_are_obsolete() -> None:
    files = MemoryFiles()
    store = made(files, "/a")

    for number in range(1100):
        store.multi([SetZNode("/a", b"%d" % number)])

    assert len(read_whole(files, PATH).splitlines()) < 200
    assert MetadataFile.open(files, PATH).get("/a") == ZNode(b"1099", 1100)


def test_file_is_not_rewritten_when_the_disk_is_full() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(FileFault(on="append", path="*.tmp", code=errno.ENOSPC, times=9))

    for number in range(1100):
        store.multi([SetZNode("/a", b"%d" % number)])

    assert MetadataFile.open(files, PATH).get("/a") == ZNode(b"1099", 1100)


def test_change_is_rejected_when_the_disk_is_full() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(FileFault(on="append", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match="No space left"):
        store.multi([CreateZNode("/b")])
    store.multi([CreateZNode("/c")])

    assert MetadataFile.open(files, PATH).children("/") == ["a", "c"]


def test_store_rejects_all_changes_after_a_failed_fsync() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(FileFault(on="sync"))

    for path in ("/b", "/c"):
        with pytest.raises(KafkaStorageError, match="Input/output error"):
            store.multi([CreateZNode(path)])


@pytest.mark.parametrize("call", ("rename", "sync_directory"))
def test_store_rejects_all_changes_after_a_failed_rename(call: str) -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(FileFault(on=call))
    for _ in range(1002):
        store.multi([SetZNode("/a", b"")])

    with pytest.raises(KafkaStorageError, match="Input/output error"):
        store.multi([SetZNode("/a", b"")])


def test_opened_file_is_fsynced_before_its_content_is_used() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(FileFault(on="sync"))
    with pytest.raises(KafkaStorageError):
        store.multi([CreateZNode("/b")])

    MetadataFile.open(files, PATH)
    files.crash()

    assert MetadataFile.open(files, PATH).children("/") == ["a", "b"]
