"""The file of metadata: read again, renewed, refused."""

import errno
import json
from pathlib import Path

import pytest

from cordwood.broker.metadata_file import MetadataFile
from cordwood.core.errors import KafkaStorageError
from cordwood.core.nodes import CreateNode, DeleteNode, Node, SetNode
from cordwood.storage.atomic import read_whole, write_synced
from cordwood.storage.metadata_lines import FORMATS
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles

PATH = "/cordwood.metadata"
PAGE = Path(__file__).parents[3] / "docs" / "formats" / "metadata.md"
DOCUMENTED = PAGE.read_text().split("```metadata\n")[1].split("```")[0].encode()


def made(files: MemoryFiles, *paths: str) -> MetadataFile:
    return MetadataFile.create(files, PATH, changes=[CreateNode(path) for path in paths])


def append(files: MemoryFiles, data: bytes) -> None:
    write_synced(files, PATH, data=read_whole(files, PATH) + data)


def test_file_is_read_as_it_was_written() -> None:
    files = MemoryFiles()
    store = made(files, "/a", "/b")
    store.multi([SetNode("/a", b"\xff\n\x00"), DeleteNode("/b")])
    store.close()

    again = MetadataFile.open(files, PATH)

    assert again.get("/a") == Node(b"\xff\n\x00", 1)
    assert again.children("/") == ["a"]


def test_documented_example_is_what_is_written() -> None:
    files = MemoryFiles()
    store = MetadataFile.create(
        files, PATH, changes=[CreateNode(path) for path in ("/brokers", "/brokers/topics")]
    )

    store.multi([CreateNode("/brokers/topics/orders", b'{"version":3}')])
    store.multi([DeleteNode("/brokers/topics/orders")])

    assert read_whole(files, PATH) == DOCUMENTED


@pytest.mark.parametrize("tail", (b"12", b"00000000 {}\n", b"\0\0\0\0", b"00000000 [1]\n"))
def test_last_line_that_is_not_whole_is_cut_off(tail: bytes) -> None:
    files = MemoryFiles()
    made(files, "/a").close()
    before = read_whole(files, PATH)
    append(files, tail)

    store = MetadataFile.open(files, PATH)
    store.multi([CreateNode("/b")])

    assert read_whole(files, PATH).startswith(before)
    assert MetadataFile.open(files, PATH).children("/") == ["a", "b"]


def test_nothing_is_written_where_nothing_changes() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    before = read_whole(files, PATH)

    store.multi([])

    assert read_whole(files, PATH) == before


def test_older_format_is_read_in_its_way_and_renewed() -> None:
    files = MemoryFiles()
    made(files, "/a").close()
    line = read_whole(files, PATH).splitlines(keepends=True)[1]
    write_synced(files, PATH, data=b"cordwood.metadata 0\n" + line)
    older = {0: lambda text: {path: Node(b"old") for path in json.loads(text)}}

    MetadataFile.open(files, PATH, formats={**FORMATS, **older})

    assert MetadataFile.open(files, PATH).get("/a") == Node(b"old")


def test_file_is_written_anew_when_most_was_overtaken() -> None:
    files = MemoryFiles()
    store = made(files, "/a")

    for number in range(1100):
        store.multi([SetNode("/a", b"%d" % number)])

    assert len(read_whole(files, PATH).splitlines()) < 200
    assert MetadataFile.open(files, PATH).get("/a") == Node(b"1099", 1100)


def test_file_goes_on_as_it_is_when_there_is_no_room_for_a_new_one() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(Fault(on="append", path="*.tmp", code=errno.ENOSPC, times=9))

    for number in range(1100):
        store.multi([SetNode("/a", b"%d" % number)])

    assert MetadataFile.open(files, PATH).get("/a") == Node(b"1099", 1100)


def test_change_is_refused_when_there_is_no_room() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(Fault(on="append", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match="No space left"):
        store.multi([CreateNode("/b")])
    store.multi([CreateNode("/c")])

    assert MetadataFile.open(files, PATH).children("/") == ["a", "c"]


def test_store_refuses_all_changes_after_one_of_which_nothing_is_known() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(Fault(on="sync"))

    for path in ("/b", "/c"):
        with pytest.raises(KafkaStorageError, match="Input/output error"):
            store.multi([CreateNode(path)])


@pytest.mark.parametrize("call", ("rename", "sync_directory"))
def test_store_refuses_all_changes_when_nobody_knows_which_file_it_has(call: str) -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(Fault(on=call))
    for _ in range(1002):
        store.multi([SetNode("/a", b"")])

    with pytest.raises(KafkaStorageError, match="Input/output error"):
        store.multi([SetNode("/a", b"")])


def test_file_that_a_crash_has_not_reached_is_made_durable_when_it_is_opened() -> None:
    files = MemoryFiles()
    store = made(files, "/a")
    files.script.add(Fault(on="sync"))
    with pytest.raises(KafkaStorageError):
        store.multi([CreateNode("/b")])

    MetadataFile.open(files, PATH)
    files.crash()

    assert MetadataFile.open(files, PATH).children("/") == ["a", "b"]
