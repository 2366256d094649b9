"""Index entries of a foreign segment are counted and checked against its log."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import FileStat
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.files.file_names import INDEX
from cordwood.storage.reader.checked_indexes import open_entries
from cordwood.storage.reader.reader_segment import open_segment
from cordwood.storage.reader.segment_listing import ListedSegment, SegmentChangedError
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetEntry
from cordwood.storage.segment.time_index import TimeEntry
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.reader_samples import (
    directory,
    name,
    offset_entries,
    put,
    segment,
    source,
    time_entries,
)
from tests.unit.storage.segment_samples import message, v2

LOG = v2(0, 1, timestamp=10) + v2(2, 4, timestamp=20) + v2(5, timestamp=15)
SECOND, THIRD = len(v2(0, 1)), len(v2(0, 1)) + len(v2(2, 4))


def count_of(data: bytes) -> int:
    files = directory(index=data)
    entries = open_entries(source(files), (name(0, INDEX),), entry_size=OFFSET_ENTRY_SIZE)
    return entries.count


def test_entries_are_none_without_a_file() -> None:
    entries = open_entries(source(directory()), (name(7, INDEX),), entry_size=8)

    assert entries.count == 0
    assert entries.size == 0
    assert entries.path == f"/d/t-0/{name(7, INDEX)}"


def test_missing_indexes_are_looked_up_once() -> None:
    looked_up: list[str] = []

    class Recording(DirectorySource):
        def stat(self, name: str) -> FileStat:
            looked_up.append(name)
            return super().stat(name)

    open_segment(Recording(directory(log=LOG), DIRECTORY), ListedSegment(0), is_last=False)

    assert looked_up == [name(0, ".log"), name(0, ".index"), name(0, ".timeindex")]


def test_entries_are_those_of_a_swap_that_has_renamed_only_its_log() -> None:
    files = directory()
    put(files, name(0, ".index.swap"), offset_entries(0, (4, 70)))

    listed = ListedSegment(0, swapped=(INDEX,))
    entries = open_entries(source(files), listed.index_names(INDEX), entry_size=OFFSET_ENTRY_SIZE)

    assert (entries.count, entries.path) == (1, f"/d/t-0/{name(0, '.index.swap')}")


@pytest.mark.parametrize(
    ("data", "count"),
    (
        (b"", 0),
        (offset_entries(0, (4, 70), (5, 150)), 2),
        (offset_entries(0, (4, 70), (5, 150)) + bytes(80), 2),
        (bytes(8) + offset_entries(0, (4, 70)) + bytes(80), 2),
        (bytes(80), 1),
        (offset_entries(0, (4, 70)) + b"par", 1),
    ),
)
def test_entries_end_at_the_zeros_of_a_growing_file(data: bytes, count: int) -> None:
    assert count_of(data) == count


def test_entries_raise_when_the_file_has_been_truncated() -> None:
    files = directory(index=offset_entries(0, (4, 70), (5, 150)))
    entries = open_entries(source(files), (name(0, INDEX),), entry_size=OFFSET_ENTRY_SIZE)

    put(files, name(0, ".index"), b"")

    assert bytes(entries.read(1, 1)) == offset_entries(0, (5, 150))
    with pytest.raises(SegmentChangedError, match="has been truncated"):
        entries.read(2, 1)


@pytest.mark.parametrize(
    ("entry", "is_used"),
    (
        ((4, SECOND), True),
        ((5, SECOND), True),  # a set that was indexed as a whole, as Kafka before 4.1 did
        ((3, SECOND), False),
        ((4, SECOND + 1), False),
        ((4, 0), True),
        ((9, SECOND), False),
        ((4, 9999), False),
    ),
)
def test_offset_entry_is_used_when_the_log_agrees(entry: tuple[int, int], *, is_used: bool) -> None:
    index = segment(directory(log=LOG, index=offset_entries(0, entry))).view.offset_index

    beginning = OffsetEntry(0, 0)
    assert index.lookup(9) == (entry if is_used else beginning)
    assert index.lookup_below_position(10_000) == (entry if is_used else beginning)


@pytest.mark.parametrize(
    ("entry", "is_used"),
    (((20, 4), True), ((21, 4), False), ((20, 5), False), ((20, 9), False)),
)
def test_time_entry_is_used_when_the_batch_has_the_timestamp(
    entry: tuple[int, int], *, is_used: bool
) -> None:
    index = segment(directory(log=LOG, timeindex=time_entries(0, entry))).view.time_index

    assert index.last == (entry if is_used else TimeEntry(-1, 0))
    assert index.lookup(99) == (entry if is_used else TimeEntry(-1, 0))


def test_time_entry_is_not_used_when_the_log_is_damaged_there() -> None:
    damaged = v2(0, 1) + b"\xee" * 80
    index = segment(directory(log=damaged, timeindex=time_entries(0, (20, 4)))).view.time_index

    assert index.last == TimeEntry(-1, 0)


def test_time_entry_of_old_messages_is_used() -> None:
    log = message(0, timestamp=5) + message(1, timestamp=9)
    index = segment(directory(log=log, timeindex=time_entries(0, (9, 1)))).view.time_index

    assert index.last == (9, 1)


def test_lookup_finds_the_batch_when_the_index_is_wrong() -> None:
    lying = offset_entries(0, (1, SECOND), (4, THIRD + 3))
    opened = segment(directory(log=LOG, index=lying))

    found = [opened.find(offset) for offset in (0, 3, 5, 6)]

    assert [None if each is None else each.position for each in found] == [0, SECOND, THIRD, None]


def test_lookup_raises_where_the_log_is_damaged() -> None:
    opened = segment(directory(log=v2(0, 1) + b"\xee" * 80))

    with pytest.raises(CorruptMessageError, match=r"/d/t-0/0{20}\.log: .*position"):
        opened.find(5)
