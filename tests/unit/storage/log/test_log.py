"""A log survives appends, retention, flushes, shutdowns and crashes."""

import pytest

from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log.maintenance_lease import FREE
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.segment_view import TimestampAndOffset
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import (
    DIRECTORY,
    NOW,
    PARTITION,
    LogHarness,
    bases,
    batch,
    filled,
    fives,
    follow,
    interleaved,
    lead,
    offsets,
    opened,
    produced,
    read,
)

ONE = len(batch())
DAY_MS = 86_400_000


def values(log: Log) -> tuple[int, int, int, int]:
    """Return the start, the high watermark, the end and the recovery point."""
    bounds = log.bounds
    return bounds.log_start, bounds.high_watermark, bounds.log_end, bounds.recovery_point


# -- a new log


def test_new_log_is_an_empty_segment() -> None:
    harness = LogHarness()

    log = harness.open()

    assert log.partition == PARTITION
    assert log.directory == DIRECTORY
    assert log.size == 0
    assert values(log) == (0, 0, 0, 0)
    assert bases(log) == [0]
    assert log.base_offsets == (0,)
    assert harness.names() == ["0.log"]
    assert log.lease == FREE
    assert not log.is_torn
    assert log.epochs.entries == ()


def test_log_has_a_repr() -> None:
    assert repr(opened()).startswith("Log(t-0, OffsetBounds(log_start=0, high_watermark=0, ")


def test_log_returns_facts_of_its_segments() -> None:
    log = filled(opened(fives()), 7)

    facts = [tuple(each) for each in log.segment_facts()]
    assert facts == [(0, 5, 5 * ONE, NOW), (5, 7, 2 * ONE, NOW)]


# -- the high watermark


def test_high_watermark_stays_inside_the_log() -> None:
    log = opened()
    lead(log, batch(3))
    seen = [int(log.bounds.high_watermark)]

    for wanted in (1, 5):
        assert log.set_high_watermark(wanted)
        seen.append(log.bounds.high_watermark)
    follow(log, batch(3, at=3))
    log.set_high_watermark(6)
    seen.append(log.bounds.high_watermark)

    assert seen == [0, 1, 3, 6]
    assert not log.set_high_watermark(9)


def test_high_watermark_follows_truncations() -> None:
    log = filled(opened(), 6)

    log.truncate_to(3)
    truncated = log.bounds.high_watermark
    lead(log, batch(3))
    appended = log.bounds.high_watermark
    log.truncate_fully(4)

    assert truncated == 3
    assert appended == 3
    assert values(log)[:3] == (4, 4, 4)


def test_times_are_found_up_to_the_high_watermark() -> None:
    log = filled(opened(), 1)
    lead(log, batch(timestamp=NOW + 1))

    assert log.offset_for_timestamp(NOW) == TimestampAndOffset(NOW, 0, 0)
    assert log.offset_for_timestamp(NOW + 1) is None


# -- records are deleted by offset


def test_segments_wholly_below_the_deleted_offset_are_deleted() -> None:
    log = filled(opened(fives()), 15)
    found = []

    for offset in (1, 6, 15):
        log.delete_records(offset)
        log.delete_old_segments()
        found.append((log.bounds.log_start, bases(log)))

    assert found == [(1, [0, 5, 10]), (6, [5, 10]), (15, [10])]
    assert read(log, 15).slice is None


def test_records_deleted_up_to_25_delete_segments_0_and_11() -> None:
    log = opened()
    for count in (11, 12, 7):
        filled(log, count)
        log.roll()

    log.delete_records(25)
    log.delete_old_segments()

    assert bases(log) == [23, 30]


def test_records_are_deleted_up_to_the_high_watermark() -> None:
    log = opened()
    lead(log, *[batch()] * 5)
    log.set_high_watermark(3)

    assert log.delete_records(-1) == 3
    for offset in (-2, 4):
        with pytest.raises(OffsetOutOfRangeError, match=f"up to {offset} .the high watermark is 3"):
            log.delete_records(offset)


# -- producers


def test_idle_producers_expire_and_may_continue() -> None:
    harness = LogHarness()
    log = harness.open()
    lead(log, produced(0), produced(0, producer=(2, 0), is_transactional=True))
    harness.clock.advance(days=1)

    assert log.expire_producers() == 1
    assert list(log.producers.producers) == [2]
    assert lead(log, produced(7)).last_offset == 2


# -- durability


def test_flush_makes_all_records_durable() -> None:
    harness = LogHarness()
    log = filled(harness.open(fives()), 7)

    log.flush()
    harness.files.crash()
    log = harness.open(fives(), is_clean=False, recovery_point=7)

    assert values(log) == (0, 0, 7, 7)
    assert offsets(read(log, 5)) == [(5, 5), (6, 6)]


def test_flush_of_a_durable_log_writes_no_files() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 3)
    log.flush()
    before = harness.files.script.write_points

    log.flush()

    assert log.begin_flush() is None
    assert harness.files.script.write_points == before


def test_flush_raises_the_recovery_point_to_where_it_began() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 3)

    job = log.begin_flush()
    filled(log, 2)
    assert job is not None
    job.run(harness.files)
    log.finish_flush(job)

    assert values(log) == (0, 5, 5, 3)


def test_failed_flush_is_repeated_by_the_next() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 3)
    harness.files.script.add(FileFault(on="sync", path="*.log"))
    job = log.begin_flush()
    assert job is not None

    with pytest.raises(OSError, match="error"):
        job.run(harness.files)
    log.abort_flush(job)

    again = log.begin_flush()
    assert log.bounds.recovery_point == 0
    assert again is not None
    assert again.paths == job.paths
    assert again.has_new_names


def test_flush_is_due_after_its_interval_with_unflushed_records() -> None:
    harness = LogHarness()
    log = harness.open(LogConfig(flush_ms=1000))
    harness.clock.advance(seconds=5)
    empty = log.is_flush_due()
    lead(log, batch())
    waited = log.is_flush_due()

    log.flush()
    lead(log, batch())
    harness.clock.advance(ms=999)
    early = log.is_flush_due()
    harness.clock.advance(ms=1)

    assert not empty
    assert waited
    assert not early
    assert log.is_flush_due()


def test_flush_creates_no_index_files_for_an_empty_segment_but_close_does() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 1)
    log.roll()

    log.flush()
    flushed = harness.names(".index")
    log.close()

    assert flushed == ["0.index"]
    assert harness.names(".index") == ["0.index", "1.index"]


# -- shutdowns and crashes


def test_closed_log_is_durable_and_opens_as_it_was() -> None:
    harness = LogHarness()
    log = harness.open(fives())
    lead(log, *(produced(sequence) for sequence in range(7)), epoch=3)
    log.close()
    harness.files.crash()

    log = harness.open(fives(), high_watermark=7)

    assert log.report.recovered == []
    assert values(log) == (0, 7, 7, 7)
    assert log.epochs.entries == (EpochEntry(LeaderEpoch(3), Offset(0)),)
    assert log.producers.producers[1].last_sequence == 6
    assert lead(log, produced(7)).first_offset == 7


def test_closed_log_has_exact_indexes_and_a_snapshot_at_its_end() -> None:
    harness = LogHarness()
    log = harness.open()
    lead(log, produced(0), produced(1), produced(2))

    log.close()

    assert harness.names("index") == ["0.index", "0.timeindex"]
    assert harness.names(".snapshot") == ["3.snapshot"]
    assert len(harness.bytes_of(f"{0:020}.index")) == 2 * 8


def test_log_keeps_its_start_and_high_watermark_when_it_is_opened_again() -> None:
    harness = LogHarness()
    filled(harness.open(fives()), 12).close()

    log = harness.open(fives(), log_start=6, high_watermark=11)

    assert values(log) == (6, 11, 12, 12)
    with pytest.raises(OffsetOutOfRangeError):
        read(log, 5)


@pytest.mark.parametrize("is_indexed", (True, False))
def test_crashed_log_restores_its_transactions(*, is_indexed: bool) -> None:
    harness = LogHarness()
    log = harness.open()
    follow(log, *interleaved())
    log.flush()
    harness.files.crash()
    if not is_indexed:
        harness.files.remove(f"{DIRECTORY}/{0:020}.txnindex")

    log = harness.open(is_clean=False)
    log.set_high_watermark(75)

    assert harness.aborted() == [AbortedTxn(1, 0, 29, 8), AbortedTxn(2, 8, 74, 36)]
    assert log.bounds.log_end == 90
    assert log.bounds.last_stable == 36


def test_crashed_log_is_recovered_and_accepts_appends() -> None:
    harness = LogHarness()
    log = filled(harness.open(fives()), 7)
    log.flush()
    filled(log, 1)
    harness.files.crash()

    log = harness.open(fives(), is_clean=False, recovery_point=7)
    filled(log, 1)

    assert log.report.recovered == [5]
    found = read(log, 5, isolation=FetchIsolation.HIGH_WATERMARK)
    assert offsets(found) == [(5, 5), (6, 6), (7, 7)]
