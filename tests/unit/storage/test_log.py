"""One partition's log lives through appends, retention, flushes, stops and crashes."""

import pytest

from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.epochs import EpochEntry
from cordwood.storage.file_table import FileTable
from cordwood.storage.index import AbortedEntry
from cordwood.storage.lease import FREE
from cordwood.storage.log import Log
from cordwood.storage.log_config import COMPACT, DELETE, LogConfig
from cordwood.storage.reading import Isolation
from cordwood.storage.retention import Hold, Reason
from cordwood.storage.segment_reads import TimestampAndOffset
from cordwood.testing.faults import Fault
from tests.unit.storage.log_samples import (
    DIRECTORY,
    NOW,
    PARTITION,
    Place,
    bases,
    batch,
    filled,
    follow,
    interleaved,
    lead,
    offsets,
    opened,
    produced,
    read,
)
from tests.unit.storage.segment_samples import message

ONE = len(batch())
DAY_MS = 86_400_000


def fives(
    *,
    retention_bytes: int = -1,
    retention_ms: int = -1,
    cleanup_policy: frozenset[str] = frozenset({DELETE}),
) -> LogConfig:
    """Return settings of a log with five records a segment."""
    return LogConfig(
        segment_bytes=5 * ONE,
        segment_index_bytes=1200,
        index_interval_bytes=0,
        retention_bytes=retention_bytes,
        retention_ms=retention_ms,
        cleanup_policy=cleanup_policy,
    )


def values(log: Log) -> tuple[int, int, int, int]:
    """Return the start, the high watermark, the end and the recovery point."""
    bounds = log.bounds
    return bounds.log_start, bounds.high_watermark, bounds.log_end, bounds.recovery_point


# -- a new log


def test_new_log_is_an_empty_segment() -> None:
    place = Place()

    log = place.open()

    assert (log.partition, log.directory, log.size) == (PARTITION, DIRECTORY, 0)
    assert (values(log), bases(log), log.base_offsets) == ((0, 0, 0, 0), [0], (0,))
    assert place.names() == ["0.log"]
    assert (log.lease, log.is_torn, log.epochs.entries) == (FREE, False, ())


def test_log_says_what_it_is() -> None:
    assert repr(opened()).startswith("Log(t-0, OffsetBounds(log_start=0, high_watermark=0, ")


def test_log_tells_facts_of_its_segments() -> None:
    log = filled(opened(fives()), 7)

    assert [tuple(facts) for facts in log.segments] == [
        (0, 5, 5 * ONE, NOW),
        (5, 7, 2 * ONE, NOW),
    ]
    assert [path.rpartition("/")[2] for path in log.paths()] == [
        f"{base:020}.{each}" for base in (0, 5) for each in ("log", "index", "timeindex")
    ]


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

    assert (truncated, appended) == (3, 3)
    assert values(log)[:3] == (4, 4, 4)


def test_times_are_found_up_to_the_high_watermark() -> None:
    log = filled(opened(), 1)
    lead(log, batch(timestamp=NOW + 1))

    assert log.offset_for_timestamp(NOW) == TimestampAndOffset(NOW, 0, 0)
    assert log.offset_for_timestamp(NOW + 1) is None


# -- records are deleted by offset


def test_deleted_records_take_segments_along_that_are_wholly_below() -> None:
    log = filled(opened(fives()), 15)
    found = []

    for offset in (1, 6, 15):
        log.delete_records(offset)
        log.delete_old_segments()
        found.append((log.bounds.log_start, bases(log)))

    assert found == [(1, [0, 5, 10]), (6, [5, 10]), (15, [10])]
    assert read(log, 15).slice is None


def test_start_at_25_lets_the_segments_0_and_11_go() -> None:
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
        with pytest.raises(OffsetOutOfRangeError, match=f"to {offset}: its high watermark is 3"):
            log.delete_records(offset)


# -- retention


@pytest.mark.parametrize(("records", "left"), ((10, [5, 10]), (15, [0, 5, 10]), (11, [0, 5, 10])))
def test_segments_beyond_the_size_go_and_never_less_than_the_size_stays(
    records: int, left: list[int]
) -> None:
    log = filled(opened(fives(retention_bytes=records * ONE)), 15)

    log.delete_old_segments()

    assert bases(log) == left
    assert log.bounds.log_start == left[0]


def test_all_old_segments_go_and_an_empty_one_takes_their_place() -> None:
    place = Place()
    log = filled(place.open(fives(retention_ms=DAY_MS)), 15)
    place.clock.advance(ms=DAY_MS + 1)

    plan = log.delete_old_segments()

    assert plan.is_rolling
    assert {deletion.reason for deletion in plan.deletions} == {Reason.AGE}
    assert (bases(log), log.size, values(log)[:3]) == ([15], 0, (15, 15, 15))
    assert filled(log, 1).bounds.log_end == 16


def test_segments_that_are_just_not_old_enough_stay() -> None:
    place = Place()
    log = filled(place.open(fives(retention_ms=DAY_MS)), 15)
    place.clock.advance(ms=DAY_MS)

    assert log.delete_old_segments().deletions == ()
    assert bases(log) == [0, 5, 10]


def test_touching_a_file_does_not_change_when_it_goes() -> None:
    place = Place()
    log = filled(place.open(fives(retention_ms=DAY_MS)), 15)
    place.clock.advance(ms=DAY_MS + 1)
    for name in place.files.list(DIRECTORY):
        place.files.set_modified(f"{DIRECTORY}/{name}", place.clock.now_ms())

    log.delete_old_segments()

    assert bases(log) == [15]


def test_segments_without_times_go_by_when_their_files_were_changed() -> None:
    place = Place()
    log = place.open(fives(retention_ms=DAY_MS))
    follow(log, message(0, magic=0))
    log.set_high_watermark(1)
    place.clock.advance(ms=DAY_MS + 1)

    log.delete_old_segments()

    assert bases(log) == [1]


def test_retention_never_passes_the_high_watermark() -> None:
    place = Place()
    log = place.open(fives(retention_ms=0))
    lead(log, *[batch()] * 20)
    place.clock.advance(ms=1)

    for high_watermark in range(21):
        log.set_high_watermark(high_watermark)
        log.delete_old_segments()
        assert log.bounds.log_start <= high_watermark
        assert bases(log)[0] <= high_watermark
        assert all(base > high_watermark for base in bases(log)[1:])

    assert (bases(log), log.size, log.bounds.log_start) == ([20], 0, 20)


def test_compacted_log_goes_by_its_start_alone() -> None:
    place = Place()
    config = fives(retention_ms=0, retention_bytes=0, cleanup_policy=frozenset({COMPACT}))
    log = filled(place.open(config), 15)
    place.clock.advance(days=1)
    log.delete_records(6)

    plan = log.delete_old_segments()

    assert bases(log) == [5, 10]
    assert {hold for kept in plan.kept for hold in kept.holds} == {Hold.POLICY}


def test_log_goes_by_new_settings_at_once() -> None:
    log = filled(opened(fives()), 15)
    before = log.delete_old_segments()

    log.configure(fives(retention_bytes=5 * ONE))
    log.delete_old_segments()

    assert before.deletions == ()
    assert bases(log) == [10]
    assert log.config.retention_bytes == 5 * ONE


def test_retention_is_planned_without_doing_it() -> None:
    log = filled(opened(fives(retention_bytes=5 * ONE)), 15)

    plan = log.plan_retention()

    assert [deletion.segment.base_offset for deletion in plan.deletions] == [0, 5]
    assert bases(log) == [0, 5, 10]


# -- producers


def test_idle_producers_are_forgotten_and_may_go_on() -> None:
    place = Place()
    log = place.open()
    lead(log, produced(0), produced(0, producer=(2, 0), is_transactional=True))
    place.clock.advance(days=1)

    assert log.expire_producers() == 1
    assert list(log.producers.producers) == [2]
    assert lead(log, produced(7)).last_offset == 2


# -- durability


def test_flush_makes_everything_durable() -> None:
    place = Place()
    log = filled(place.open(fives()), 7)

    log.flush()
    place.files.crash()
    log = place.open(fives(), is_clean=False, recovery_point=7)

    assert values(log) == (0, 0, 7, 7)
    assert offsets(read(log, 5)) == [(5, 5), (6, 6)]


def test_flush_of_a_durable_log_has_nothing_to_do() -> None:
    place = Place()
    log = filled(place.open(), 3)
    log.flush()
    before = place.files.script.write_points

    log.flush()

    assert log.begin_flush() is None
    assert place.files.script.write_points == before


def test_flush_raises_the_recovery_point_to_where_it_began() -> None:
    place = Place()
    log = filled(place.open(), 3)

    job = log.begin_flush()
    filled(log, 2)
    assert job is not None
    job.run(place.files)
    log.finish_flush(job)

    assert values(log) == (0, 5, 5, 3)


def test_failed_flush_is_made_good_by_the_next() -> None:
    place = Place()
    log = filled(place.open(), 3)
    place.files.script.add(Fault(on="sync", path="*.log"))
    job = log.begin_flush()
    assert job is not None

    with pytest.raises(OSError, match="error"):
        job.run(place.files)
    log.failed_flush(job)

    again = log.begin_flush()
    assert log.bounds.recovery_point == 0
    assert again is not None
    assert again.paths == job.paths
    assert again.has_new_names


def test_flush_is_due_when_it_has_waited_and_there_is_something() -> None:
    place = Place()
    log = place.open(LogConfig(flush_ms=1000))
    place.clock.advance(seconds=5)
    empty = log.is_flush_due()
    lead(log, batch())
    waited = log.is_flush_due()

    log.flush()
    lead(log, batch())
    place.clock.advance(ms=999)
    early = log.is_flush_due()
    place.clock.advance(ms=1)

    assert (empty, waited, early, log.is_flush_due()) == (False, True, False, True)


def test_flush_leaves_an_empty_segment_without_index_files_and_a_stop_makes_them() -> None:
    place = Place()
    log = filled(place.open(), 1)
    log.roll()

    log.flush()
    flushed = place.names(".index")
    log.close()

    assert flushed == ["0.index"]
    assert place.names(".index") == ["0.index", "1.index"]


# -- stops and crashes


def test_closed_log_is_durable_and_opens_as_it_was() -> None:
    place = Place()
    log = place.open(fives())
    lead(log, *(produced(sequence) for sequence in range(7)), epoch=3)
    log.close()
    place.files.crash()

    log = place.open(fives(), high_watermark=7)

    assert log.report.recovered == []
    assert values(log) == (0, 7, 7, 7)
    assert log.epochs.entries == (EpochEntry(LeaderEpoch(3), Offset(0)),)
    assert log.producers.producers[1].last_sequence == 6
    assert lead(log, produced(7)).first_offset == 7


def test_closed_log_has_exact_indexes_and_a_snapshot_at_its_end() -> None:
    place = Place()
    log = place.open()
    lead(log, produced(0), produced(1), produced(2))

    log.close()

    assert place.names("index") == ["0.index", "0.timeindex"]
    assert place.names(".snapshot") == ["3.snapshot"]
    assert len(place.bytes_of(f"{0:020}.index")) == 2 * 8


def test_log_keeps_its_start_and_high_watermark_when_it_is_opened_again() -> None:
    place = Place()
    filled(place.open(fives()), 12).close()

    log = place.open(fives(), log_start=6, high_watermark=11)

    assert values(log) == (6, 11, 12, 12)
    with pytest.raises(OffsetOutOfRangeError):
        read(log, 5)


@pytest.mark.parametrize("is_indexed", (True, False))
def test_crashed_log_knows_its_transactions_again(*, is_indexed: bool) -> None:
    place = Place()
    log = place.open()
    follow(log, *interleaved())
    log.flush()
    place.files.crash()
    if not is_indexed:
        place.files.remove(f"{DIRECTORY}/{0:020}.txnindex")

    log = place.open(is_clean=False)
    log.set_high_watermark(75)

    assert place.aborted() == [AbortedEntry(1, 0, 29, 8), AbortedEntry(2, 8, 74, 36)]
    assert (log.bounds.log_end, log.bounds.last_stable) == (90, 36)


def test_crashed_log_is_recovered_and_goes_on() -> None:
    place = Place()
    log = filled(place.open(fives()), 7)
    log.flush()
    filled(log, 1)
    place.files.crash()

    log = place.open(fives(), is_clean=False, recovery_point=7)
    filled(log, 1)

    assert log.report.recovered == [5]
    assert offsets(read(log, 5, isolation=Isolation.HIGH_WATERMARK)) == [(5, 5), (6, 6), (7, 7)]


# -- its directory


def test_log_goes_on_in_another_directory() -> None:
    place = Place()
    log = filled(place.open(fives()), 7, epoch=1)

    log.move("/d/t-0.0123456789abcdef0123456789abcdef-future")
    filled(log, 5, epoch=2)
    log.flush()

    assert log.directory.endswith("-future")
    assert offsets(read(log, 6)) == [(6, 6), (7, 7), (8, 8), (9, 9)]
    assert f"{10:020}.snapshot" in place.files.list(log.directory)
    assert place.files.list("/d") == [log.directory.removeprefix("/d/")]


def test_log_that_is_moved_syncs_its_files_where_they_are_now() -> None:
    place = Place()
    log = filled(place.open(), 2)
    job = log.begin_flush()
    assert job is not None
    log.failed_flush(job)

    log.move("/d/u-0")
    again = log.begin_flush()

    assert again is not None
    assert all(path.startswith("/d/u-0/") for path in again.paths)


def test_log_goes_on_with_files_of_another_table_until_it_forgets_them() -> None:
    place = Place()
    log = filled(place.open(fives()), 7)
    table = FileTable(place.files, 3)

    log.use(table)
    filled(log, 4)

    assert table.open_count == 3
    assert offsets(read(log, 6)) == [(6, 6), (7, 7), (8, 8), (9, 9)]

    log.forget_files()
    assert table.open_count == 0
