"""Offsets and timestamps are found through a view of a segment."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch_header import BatchHeader
from cordwood.records.record_lookup import PlainRecordFinder
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetIndex
from cordwood.storage.segment.segment_view import SegmentRead, SegmentView, TimestampAndOffset
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE, TimeIndex
from tests.unit.storage.segment_samples import (
    append,
    created,
    filled,
    headers_of,
    message,
    offsets,
    read,
    times,
    v2,
)


def view(*batches: bytes, base: int = 0) -> SegmentView:
    """Return a view without index entries."""
    data = b"".join(batches)
    return SegmentView(
        base,
        len(data),
        lambda length, at: data[at : at + length],
        OffsetIndex(base, InMemoryEntries(b"", OFFSET_ENTRY_SIZE)),
        TimeIndex(base, InMemoryEntries(b"", TIME_ENTRY_SIZE)),
    )


def dense(base: int, *batches: bytes) -> SegmentView:
    """Return a view in which all batches but the first have entries."""
    return filled(created(base), batches).view


def base_offset(header: BatchHeader | None) -> int | None:
    return None if header is None else header.base_offset


@pytest.mark.parametrize(("offset", "base"), ((40, 40), (41, 43), (43, 43), (44, 44), (46, None)))
def test_translate_finds_the_batch_that_ends_at_or_above(offset: int, base: int | None) -> None:
    batches = v2(40), v2(43), v2(44, 45)

    assert base_offset(view(*batches, base=40).translate(offset)) == base
    assert base_offset(dense(40, *batches).translate(offset)) == base


def test_translate_begins_at_the_given_position_or_later() -> None:
    batches = v2(0), v2(1), v2(2)

    assert base_offset(view(*batches).translate(0, 2 * len(v2(0)))) == 2


@pytest.mark.parametrize(
    ("max_size", "max_position", "min_one", "length"),
    (
        (50, None, False, 50),
        (50, None, True, 80),
        (500, None, False, 160),
        (500, 100, False, 20),
        (500, 500, False, 160),
        (50, 100, True, 20),
        (50, 10, True, 0),
        (0, None, False, 0),
    ),
)
def test_length_to_read_respects_all_limits(
    max_size: int, max_position: int | None, *, min_one: bool, length: int
) -> None:
    segment = view(*(v2(offset, size=80) for offset in range(3)))
    header = segment.translate(1)
    assert header is not None
    assert header.position == 80
    assert header.size == 80

    found = segment.length_to_read(header, max_size, max_position=max_position, min_one=min_one)

    assert found == length


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    ((420, 42), (421, 43), (430, 43), (431, 44), (491, None), (401, 41), (399, 40)),
)
def test_find_by_timestamp_finds_the_first_record_that_is_not_earlier(
    timestamp: int, offset: int | None
) -> None:
    batches = [v2(offset, timestamp=10 * offset) for offset in range(40, 50)]

    for segment in (view(*batches, base=40), dense(40, *batches)):
        found = segment.find_by_timestamp(timestamp, 40)
        assert (None if found is None else found.offset) == offset


@pytest.mark.parametrize(
    ("timestamp", "first", "offset"), ((15, 0, 1), (15, 2, 2), (5, 1, 1), (5, 4, 4), (35, 0, 4))
)
def test_find_by_timestamp_looks_inside_batches_from_an_offset_on(
    timestamp: int, first: int, offset: int
) -> None:
    segment = view(times(0, 10, 20, 30), times(3, 7, 40))

    found = segment.find_by_timestamp(timestamp, first)

    assert found is not None
    assert found.offset == offset


def test_find_by_timestamp_continues_when_the_batch_has_it_only_below_the_first_offset() -> None:
    segment = view(times(0, 90, 20), v2(2, timestamp=95))

    assert segment.find_by_timestamp(90, 1) == TimestampAndOffset(95, 2, leader_epoch=4)


def test_search_begins_at_the_given_position() -> None:
    segment = view(times(0, 10, 50), times(2, 20, 40, 40, 30))
    position = len(times(0, 10, 50))

    assert segment.search_from(0, 40, first_offset=0) == TimestampAndOffset(50, 1)
    assert segment.search_from(position, 40, first_offset=0) == TimestampAndOffset(40, 3)
    assert segment.search_from(position, 50, first_offset=0) is None


def test_search_asks_for_a_finder_of_each_batch_by_its_size() -> None:
    batches = times(0, 10), times(1, 20, 30)
    sizes = list[int]()

    def finders(size: int) -> PlainRecordFinder:
        sizes.append(size)
        return PlainRecordFinder()

    found = view(*batches).search_from(0, 30, first_offset=0, finders=finders)

    assert found == TimestampAndOffset(30, 2)
    assert sizes == [len(batches[1])]


@pytest.mark.parametrize("is_indexed", (True, False))
def test_latest_timestamp_is_that_of_the_first_batch_that_has_it(*, is_indexed: bool) -> None:
    batches = v2(0, timestamp=50), v2(1, timestamp=70), v2(2, timestamp=60), v2(3, timestamp=70)

    segment = dense(0, *batches) if is_indexed else view(*batches)

    assert segment.latest_timestamp() == TimestampAndOffset(70, 1)


def test_latest_timestamp_is_none_in_an_empty_segment() -> None:
    assert view(base=40).latest_timestamp() == TimestampAndOffset(-1, 40)


@pytest.mark.parametrize(
    ("batches", "offset"), (((), 40), ((v2(50, 52),), 53), ((v2(50), v2(60)), 61))
)
def test_next_offset_follows_the_last_batch(batches: tuple[bytes, ...], offset: int) -> None:
    assert view(*batches, base=40).next_offset() == offset
    assert dense(40, *batches).next_offset() == offset


def test_first_batch_is_returned_for_the_roll() -> None:
    assert base_offset(view(v2(7), v2(8)).first_batch()) == 7
    assert view().first_batch() is None


def test_records_of_old_formats_are_found_by_time() -> None:
    segment = view(message(3, timestamp=30), message(4, timestamp=40))

    assert segment.find_by_timestamp(31, 0) == TimestampAndOffset(40, 4)


def test_records_are_rejected_when_the_file_has_been_truncated_since() -> None:
    data = v2(0)
    header = headers_of(data)[0]

    with pytest.raises(CorruptMessageError, match="the batch is incomplete"):
        view(data[:-1]).batch(header)


def test_view_does_not_change_with_the_segment() -> None:
    segment = created()
    append(segment, v2(0))
    before = segment.view

    append(segment, v2(1))

    assert before.next_offset() == 1
    assert segment.view.next_offset() == 2


def test_read_without_a_slice_has_no_length() -> None:
    header = headers_of(v2(0))[0]

    assert SegmentRead(None, 0, is_first_incomplete=False, header=header).length == 0


def test_read_of_an_empty_segment_is_none() -> None:
    assert created(40).read(40, 1000) is None


def test_read_before_the_first_batch_begins_with_it() -> None:
    segment = created(40)
    append(segment, v2(50), v2(51), v2(52), v2(53))

    assert offsets(read(segment, 41)) == [(50, 50), (51, 51), (52, 52), (53, 53)]


def test_read_in_a_gap_begins_with_the_batch_after_it() -> None:
    segment = created(40)
    append(segment, v2(50), v2(51))
    append(segment, v2(60), v2(61))

    assert offsets(read(segment, 55)) == [(60, 60), (61, 61)]
