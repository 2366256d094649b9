"""Reads return bytes from an offset up to the bound of the reader, and offsets for times."""

import pytest

from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.records.decoder import AbortedTransaction
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    FetchIsolation,
)
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.segment_view import TimestampAndOffset
from tests.unit.storage.log_samples import (
    NOW,
    LogHarness,
    bases,
    batch,
    bytes_of,
    filled,
    follow,
    interleaved,
    lead,
    marker,
    offsets,
    opened,
    produced,
    read,
    timed,
)
from tests.unit.storage.segment_samples import message

ONE = len(batch())
PAIRS = LogConfig(segment_bytes=2 * ONE, segment_index_bytes=1200, index_interval_bytes=0)
COMMITTED, HIGH_WATERMARK = FetchIsolation.TXN_COMMITTED, FetchIsolation.HIGH_WATERMARK


def gapped() -> Log:
    """Return a log of offsets 0 to 9, and then of every seventh one, a segment each."""
    log = opened(LogConfig(segment_bytes=ONE))
    for at in (*range(10), *range(10, 50, 7)):
        follow(log, batch(at=at))
    return log


# -- from an offset on


def test_read_begins_with_the_batch_that_holds_the_offset_and_returns_its_position() -> None:
    log = filled(opened(PAIRS), 3)
    follow(log, batch(3, at=3))

    found = read(log, 4)

    assert offsets(found) == [(3, 5)]
    assert found.base_offset == 3
    assert found.segment_base == 3
    assert found.position == 0


def test_read_ends_with_its_segment() -> None:
    log = filled(opened(PAIRS), 5)

    assert [offsets(read(log, offset)) for offset in (0, 1, 3, 4)] == [
        [(0, 0), (1, 1)],
        [(1, 1)],
        [(3, 3)],
        [(4, 4)],
    ]


def test_read_returns_the_bounds_of_the_log() -> None:
    log = filled(opened(), 5)
    follow(log, batch(at=5))
    log.delete_records(2)

    found = read(log, 3)

    assert found.log_start == 2
    assert found.high_watermark == 5
    assert found.last_stable == 5
    assert found.log_end == 6
    assert found.aborted is None


def test_read_at_the_end_is_empty() -> None:
    log = filled(opened(), 5)

    found = read(log, 5)

    assert found.slice is None
    assert found.length == 0
    assert found.base_offset == -1
    assert found.log_end == 5


@pytest.mark.parametrize("offset", (-1, 1, 6))
def test_read_outside_the_log_is_rejected(offset: int) -> None:
    log = filled(opened(), 5)
    log.delete_records(2)

    with pytest.raises(OffsetOutOfRangeError, match="offsets from 2 to 5"):
        read(log, offset)


def test_read_below_the_local_records_is_rejected() -> None:
    log = filled(opened(), 5)
    log.truncate_fully(50, log_start=20)
    follow(log, batch(at=50))

    assert log.bounds.log_start == 20
    with pytest.raises(OffsetOutOfRangeError, match="offsets from 50 to 51"):
        read(log, 30)


@pytest.mark.parametrize("max_bytes", (1, 100, 100_000))
def test_read_in_a_gap_returns_the_batch_after_it(max_bytes: int) -> None:
    log = gapped()

    found = [offsets(read(log, at, max_bytes, min_one=True)) for at in (9, 10, 11, 17, 18, 44, 45)]

    assert found == [[(at, at)] for at in (9, 10, 17, 17, 24, 45, 45)]


def test_read_continues_in_the_next_segment_after_the_last_batch() -> None:
    log = opened(PAIRS)
    follow(log, batch(), batch(at=1))
    follow(log, batch(at=9))

    assert bases(log) == [0, 9]
    assert offsets(read(log, 5)) == [(9, 9)]


def test_read_behind_a_batch_that_was_truncated_whole_is_empty() -> None:
    log = filled(opened(), 3)
    follow(log, batch(5, at=3))
    log.truncate_to(5)

    assert log.bounds.log_end == 5
    assert read(log, 3).slice is None
    assert offsets(read(log, 2)) == [(2, 2)]


def test_read_of_zero_bytes_is_empty_and_of_one_byte_a_partial_batch() -> None:
    log = gapped()

    nothing, byte = read(log, 11, 0), read(log, 11, 1)

    assert nothing.length == 0
    assert not nothing.is_first_incomplete
    assert byte.length == 1
    assert byte.is_first_incomplete
    assert byte.base_offset == 17


def test_read_of_at_least_one_batch_returns_exactly_one_whole_batch() -> None:
    log = filled(opened(), 3)

    found = read(log, 1, 1, min_one=True)

    assert found.length == ONE
    assert not found.is_first_incomplete


def test_read_stays_readable_after_the_log_has_grown_and_rolled() -> None:
    log = filled(opened(), 1)
    found = read(log, 0)
    before = bytes_of(found)

    log.roll()
    filled(log, 20)

    assert bytes_of(found) == before


# -- up to the bound of the reader


@pytest.mark.parametrize("high_watermark", range(6))
def test_consumer_reads_up_to_the_high_watermark(high_watermark: int) -> None:
    log = opened(PAIRS)
    lead(log, *[batch()] * 5)
    log.set_high_watermark(high_watermark)

    found = [offsets(read(log, offset, isolation=HIGH_WATERMARK)) for offset in range(6)]

    assert all(found[:high_watermark])
    assert not any(found[high_watermark:])
    assert {last for each in found for _, last in each} == set(range(high_watermark))


def test_consumer_reads_no_segment_above_the_high_watermark() -> None:
    log = opened(PAIRS)
    follow(log, batch(), batch(at=1))
    follow(log, batch(at=9))
    log.set_high_watermark(8)

    assert read(log, 5, isolation=HIGH_WATERMARK).slice is None


def test_consumer_reads_to_the_end_of_a_segment_without_its_last_offsets() -> None:
    log = opened()
    follow(log, batch(), batch(at=1))
    follow(log, batch(at=9))
    log.set_high_watermark(5)

    assert offsets(read(log, 1, isolation=HIGH_WATERMARK)) == [(1, 1)]
    assert read(log, 3, isolation=HIGH_WATERMARK).slice is None


def test_follower_reads_beyond_the_high_watermark() -> None:
    log = opened()
    lead(log, *[batch()] * 5)

    assert len(offsets(read(log, 0, isolation=FetchIsolation.LOG_END))) == 5


@pytest.mark.parametrize(("high_watermark", "end"), ((0, 0), (20, 0), (30, 8), (75, 36), (90, 90)))
def test_committed_reads_end_at_the_last_stable_offset(high_watermark: int, end: int) -> None:
    log = opened()
    follow(log, *interleaved())
    log.set_high_watermark(high_watermark)

    found = read(log, 0, isolation=COMMITTED)

    assert ([0, *(last + 1 for _, last in offsets(found))])[-1] == end
    assert read(log, end, isolation=COMMITTED).length == 0
    assert found.last_stable == end


def test_committed_reads_have_the_aborted_transactions_of_their_range() -> None:
    log = opened(LogConfig(index_interval_bytes=0))
    for each in interleaved():
        follow(log, each)
    log.set_high_watermark(90)
    first, second = AbortedTransaction(1, 0), AbortedTransaction(2, 8)

    assert read(log, 0, 1, isolation=COMMITTED, min_one=True).aborted == (first,)
    assert read(log, 0, isolation=COMMITTED).aborted == (first, second)
    assert read(log, 30, isolation=COMMITTED).aborted == (second,)
    assert read(log, 75, isolation=COMMITTED).aborted == ()
    assert read(log, 90, isolation=COMMITTED).aborted == ()


def test_committed_reads_search_later_segments_for_the_marker() -> None:
    log = opened()
    lead(log, produced(0, 5, is_transactional=True))
    log.roll()
    lead(log, produced(5, 5, is_transactional=True))
    lead(log, marker(), origin=AppendOrigin.COORDINATOR)
    log.set_high_watermark(11)

    assert read(log, 0, 2048, isolation=COMMITTED).aborted == (AbortedTransaction(1, 0),)


def test_committed_reads_of_a_log_that_starts_inside_a_transaction_begin_at_its_start() -> None:
    log = opened()
    lead(log, produced(0, 5, is_transactional=True), batch(3))
    log.set_high_watermark(8)
    log.delete_records(5)

    assert log.bounds.first_unstable == 5
    assert log.bounds.last_stable == 5
    assert read(log, 5, isolation=COMMITTED).slice is None


# -- by offset through the index: worked examples


def test_offset_is_found_from_the_entry_before_it() -> None:
    """Entry [22, 656] leads to offset 23."""
    log = opened()
    first = batch(22, value=b"")
    overhead = len(batch(value=bytes(200))) - 200
    follow(log, first, batch(at=22, value=bytes(656 - len(first) - overhead)))

    follow(log, batch(at=23))

    assert read(log, 22).position == len(first)
    assert read(log, 23).position == 656


@pytest.mark.parametrize(
    ("base_offset", "offset", "segment"), ((120, 132, 120), (120, 133, 133), (217, 230, 217))
)
def test_offset_is_read_from_the_segment_with_the_next_lower_base_offset(
    base_offset: int, offset: int, segment: int
) -> None:
    log = opened()
    log.truncate_fully(base_offset)
    for at in range(base_offset, base_offset + 20):
        if at == 133:
            log.roll()
        follow(log, batch(at=at))

    found = read(log, offset)

    assert found.segment_base == segment
    assert found.base_offset == offset
    assert found.position == (offset - segment) * ONE


def test_second_segment_named_133_means_that_132_is_the_last_before_it() -> None:
    log = opened()
    follow(log, batch(133))
    log.roll()
    follow(log, batch(at=133))

    assert bases(log) == [0, 133]
    assert offsets(read(log, 132)) == [(0, 132)]
    assert offsets(read(log, 133)) == [(133, 133)]


# -- by time


def test_time_finds_the_first_record_that_is_not_earlier() -> None:
    log = opened(PAIRS)
    for step in range(6):
        lead(log, batch(timestamp=NOW + 10 * step), epoch=step)
    log.set_high_watermark(6)

    found = [log.offset_for_timestamp(NOW + each) for each in (0, 1, 10, 45, 51)]

    assert found == [
        TimestampAndOffset(NOW, 0, 0),
        TimestampAndOffset(NOW + 10, 1, 1),
        TimestampAndOffset(NOW + 10, 1, 1),
        TimestampAndOffset(NOW + 50, 5, 5),
        None,
    ]


def test_time_finds_a_record_inside_a_batch() -> None:
    log = opened()
    lead(log, timed(NOW, NOW + 1, NOW + 3))
    log.set_high_watermark(3)

    assert log.offset_for_timestamp(NOW + 2) == TimestampAndOffset(NOW + 3, 2, 0)


def test_timestamp_lookup_ignores_deleted_records() -> None:
    log = opened(PAIRS)
    for step in range(4):
        lead(log, batch(timestamp=NOW + (5, 0, 7, 8)[step]))
    log.set_high_watermark(4)
    log.delete_records(1)

    assert log.offset_for_timestamp(NOW + 1) == TimestampAndOffset(NOW + 7, 2, 0)


@pytest.mark.parametrize("timestamp", (NOW, MAX_TIMESTAMP))
def test_timestamp_lookup_ignores_records_above_the_high_watermark(timestamp: int) -> None:
    log = opened()
    lead(log, batch())

    assert log.offset_for_timestamp(timestamp) is None
    assert log.offset_for_timestamp(timestamp, FetchIsolation.LOG_END) == TimestampAndOffset(
        NOW, 0, 0
    )


def test_latest_time_is_that_of_the_first_record_that_has_it() -> None:
    log = opened()
    for step in (0, 1, 0):
        lead(log, batch(timestamp=NOW + step))
    lead(log, timed(NOW, NOW + 1))
    log.set_high_watermark(5)

    assert log.offset_for_timestamp(MAX_TIMESTAMP) == TimestampAndOffset(NOW + 1, 1, 0)


def test_latest_time_of_several_segments_is_in_the_first_that_has_it() -> None:
    log = opened(PAIRS)
    for step in (0, 1, 9, 0, 9, 0):
        lead(log, batch(timestamp=NOW + step))
    log.set_high_watermark(6)

    assert log.offset_for_timestamp(MAX_TIMESTAMP) == TimestampAndOffset(NOW + 9, 2, 0)


def test_log_without_timestamps_has_no_latest_timestamp() -> None:
    log = opened()
    follow(log, message(0, magic=0))
    log.set_high_watermark(1)

    assert log.offset_for_timestamp(MAX_TIMESTAMP) is None


@pytest.mark.parametrize("timestamp", (EARLIEST, EARLIEST_LOCAL))
def test_earliest_is_the_start_of_the_log_with_its_epoch(timestamp: int) -> None:
    log = filled(filled(opened(), 3, epoch=1), 3, epoch=2)
    log.delete_records(4)

    assert log.offset_for_timestamp(timestamp) == TimestampAndOffset(-1, 4, 2)


def test_earliest_offset_has_no_epoch_without_leader_epochs() -> None:
    old, mixed = opened(), opened()
    follow(old, message(0))
    follow(mixed, message(0))
    filled(mixed, 1, epoch=3)

    assert old.offset_for_timestamp(EARLIEST) == TimestampAndOffset(-1, 0, -1)
    assert mixed.offset_for_timestamp(EARLIEST) == TimestampAndOffset(-1, 0, -1)


@pytest.mark.parametrize(
    ("isolation", "end"), ((FetchIsolation.LOG_END, 4), (HIGH_WATERMARK, 3), (COMMITTED, 1))
)
def test_latest_offset_is_the_end_of_the_isolation_level(
    isolation: FetchIsolation, end: int
) -> None:
    log = opened()
    lead(log, batch(), produced(0, is_transactional=True), batch(), epoch=3)
    lead(log, batch(), epoch=5)
    log.set_high_watermark(3)

    assert log.offset_for_timestamp(LATEST, isolation) == TimestampAndOffset(-1, end, 5)


def test_latest_offset_has_no_epoch_without_leader_epochs() -> None:
    assert opened().offset_for_timestamp(LATEST) == TimestampAndOffset(-1, 0, -1)


def test_latest_tiered_offset_is_none() -> None:
    assert filled(opened(), 1).offset_for_timestamp(LATEST_TIERED) is None


def test_times_are_found_after_the_log_has_been_opened_again() -> None:
    harness = LogHarness()
    log = harness.open(PAIRS)
    for step in range(6):
        lead(log, batch(timestamp=NOW + 10 * step))
    log.close()

    log = harness.open(PAIRS, high_watermark=6)

    assert [log.offset_for_timestamp(NOW + 10 * step) for step in range(6)] == [
        TimestampAndOffset(NOW + 10 * step, step, 0) for step in range(6)
    ]


def test_segment_without_times_is_as_late_as_its_file() -> None:
    harness = LogHarness()
    log = harness.open()
    harness.clock.advance(hours=1)

    follow(log, message(0, magic=0))

    assert log.segments[0].largest_timestamp() == NOW + 3_600_000


def test_time_lookup_continues_in_the_next_segment() -> None:
    harness = LogHarness()
    log = harness.open()
    follow(log, message(0, magic=0))
    log.roll()
    lead(log, batch(timestamp=NOW))
    log.set_high_watermark(2)

    assert log.offset_for_timestamp(NOW) == TimestampAndOffset(NOW, 1, 0)


def test_read_reports_that_more_records_are_in_a_later_segment() -> None:
    log = opened(PAIRS)
    for _ in range(4):
        lead(log, batch())
    log.set_high_watermark(3)

    found = [read(log, offset, isolation=FetchIsolation.HIGH_WATERMARK) for offset in (0, 2)]

    assert [(offsets(each), each.has_more) for each in found] == [
        ([(0, 0), (1, 1)], True),
        ([(2, 2)], False),
    ]
