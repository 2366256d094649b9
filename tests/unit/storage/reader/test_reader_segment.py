"""The end of a segment that its owner may be writing to, or that a crash has left."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.storage.reader.reader_segment import ReaderSegment, find_end, with_location
from cordwood.storage.reader.segment_listing import SegmentChangedError
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE
from cordwood.testing.memory_files import MemoryFile, MemoryFiles
from tests.unit.storage.log_samples import batch
from tests.unit.storage.reader_samples import (
    directory,
    harm,
    name,
    offset_entries,
    put,
    segment,
    time_entries,
)
from tests.unit.storage.segment_samples import v2

FIRST, SECOND, THIRD = v2(0, 1, size=200), v2(2, 4, size=200), v2(5, size=200)
LOG = FIRST + SECOND + THIRD
AT = (0, len(FIRST), len(FIRST) + len(SECOND))
TORN = THIRD[:-1] + b"\xee"


def last(data: bytes, **others: bytes) -> ReaderSegment:
    return segment(directory(log=data, **others), is_last=True)


@pytest.mark.parametrize("tail", (b"", b"\0", bytes(16), bytes(5000), THIRD[:40], THIRD[:-1], TORN))
def test_last_segment_ends_after_its_last_whole_batch(tail: bytes) -> None:
    opened = last(FIRST + SECOND + tail)

    assert opened.view.size == AT[2]
    assert opened.next_offset == 5
    assert opened.file_size == AT[2] + len(tail)


@pytest.mark.parametrize("data", (b"", THIRD[:30], TORN, bytes(500)))
def test_last_segment_without_a_whole_batch_is_empty(data: bytes) -> None:
    opened = last(data)

    assert opened.view.size == 0
    assert opened.next_offset == 0


def test_last_segment_ends_before_a_batch_that_is_truncated_during_the_read() -> None:
    view = segment(directory(log=LOG)).view

    def pread(length: int, position: int) -> bytes:
        return LOG if (position, length) == (0, len(LOG)) else b""

    assert find_end(view._replace(pread=pread)) == (0, 0)


def test_last_segment_ends_before_several_torn_batches() -> None:
    opened = last(FIRST + SECOND[:-1] + b"\xee" + TORN)

    assert opened.view.size == AT[1]
    assert opened.next_offset == 2


def test_last_segment_ends_before_a_torn_batch_with_a_batch_in_its_value() -> None:
    """The value is a part of a dump; a later offset in it is not the end of this log."""
    inner = v2(1000, size=200)
    outer = bytes(batch(at=2, value=inner + inner))
    size = outer.index(inner) + len(inner) + 5

    opened = last(FIRST + outer[:size])

    assert (opened.view.size, opened.next_offset) == (AT[1], 2)
    assert last(FIRST + outer).next_offset == 3


@pytest.mark.parametrize("at", (AT[1] + 16, AT[1] + 11, AT[1] + 8, AT[2] - 1))
def test_last_segment_keeps_damage_before_a_whole_batch(at: int) -> None:
    files = directory(log=LOG)
    harm(files, name(0), at)

    opened = segment(files, is_last=True)

    assert opened.view.size == len(LOG)
    assert opened.next_offset == 6


def test_last_segment_is_read_from_its_last_entry_on_when_it_is_whole() -> None:
    damaged = b"\xee" * len(FIRST) + SECOND + THIRD
    opened = last(damaged, index=offset_entries(0, (4, AT[1])))

    assert opened.view.size == len(LOG)
    assert opened.next_offset == 6


def test_inactive_segment_is_as_long_as_its_file() -> None:
    opened = segment(directory(log=LOG + b"more"))

    assert opened.view.size == len(LOG) + 4
    assert opened.next_offset is None


def test_search_rejects_an_end_inside_a_batch() -> None:
    opened = segment(directory(log=LOG[:-1]))

    with pytest.raises(CorruptMessageError, match="runs past the end") as caught:
        opened.find(5)

    assert caught.value.position == AT[2]
    assert caught.value.base_offset == 5


def test_search_rejects_a_segment_of_half_a_batch() -> None:
    opened = segment(directory(log_7=v2(7, size=200)[:-1]), 7)

    with pytest.raises(CorruptMessageError, match="base offset 7"):
        opened.find(7)


def test_data_of_a_batch_is_rejected_when_the_file_was_written_again() -> None:
    files = directory(log=LOG)
    opened = segment(files)
    header = opened.find(3)
    assert header is not None
    before = opened.data_of(header)

    for data in (LOG[: AT[1]] + THIRD + SECOND, LOG[: AT[1] + 70], b"\xee" * len(LOG)):
        put(files, name(0), data)
        opened.source.stat(name(0))
        with pytest.raises(SegmentChangedError):
            opened.data_of(header)

    assert before == SECOND


def test_search_by_timestamp_begins_at_the_index_entry() -> None:
    log = v2(0, timestamp=10) + v2(1, timestamp=20) + v2(2, timestamp=30)
    opened = segment(directory(log=log, timeindex=time_entries(0, (30, 2))))

    found = [opened.find_by_timestamp(timestamp, 0) for timestamp in (15, 30, 31)]

    assert [None if each is None else each.offset for each in found] == [1, 2, None]


def test_search_by_timestamp_names_the_file_when_it_is_damaged() -> None:
    opened = segment(directory(log=FIRST + b"\xee" * 100))

    with pytest.raises(CorruptMessageError, match=r"0\.log: "):
        opened.find_by_timestamp(5, 0)


def test_located_error_has_file_position_and_remedy() -> None:
    error = CorruptMessageError("wrong", position=5, base_offset=7, expected=1, found=2)

    assert str(with_location(error, "/my logs/t-0/a.log", shift=100)) == (
        "/my logs/t-0/a.log: wrong (position 105, base offset 7, expected 1, found 2); restore the "
        "file from a replica, or copy the readable records with: "
        "cordwood log salvage '/my logs/t-0' --out NEWDIR"
    )
    assert with_location(CorruptMessageError(), "/a").position is None


def test_opening_a_segment_reads_a_few_blocks() -> None:
    files = CountingFiles()
    for each in ("/d", "/d/t-0"):
        files.make_directory(each)
    data = b"".join(v2(offset, size=1000) for offset in range(300))
    entries = offset_entries(0, *((offset, offset * 1000) for offset in range(4, 300, 4)))
    put(files, name(0), data)
    put(files, name(0, ".index"), entries)

    opened = segment(files, is_last=True)

    assert opened.next_offset == 300
    assert len(entries) // OFFSET_ENTRY_SIZE == 74
    assert files.bytes_read < 16_384


class CountingFiles(MemoryFiles):
    """Files that count the bytes that were read."""

    bytes_read = 0

    def open(self, path: str, *, writable: bool = False) -> MemoryFile:
        file = super().open(path, writable=writable)
        inner = file.pread

        def pread(length: int, position: int) -> bytes:
            data = inner(length, position)
            self.bytes_read += len(data)
            return data

        file.pread = pread  # type: ignore[method-assign]  # counts, and does nothing else
        return file


def test_end_offset_is_after_the_last_batch() -> None:
    files = directory(log=v2(0, 2) + v2(5, 6), log_9=b"")

    assert segment(files).end_offset() == 7
    assert segment(files, 9).end_offset() == 9
