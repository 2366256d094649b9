"""The facts of an open log."""

from dataclasses import replace

import pytest

from cordwood.compaction.plan.candidates import CandidateSegment, assess
from cordwood.compaction.plan.cleaning_plan import LastRecord
from cordwood.compaction.plan.log_facts import PlanningJob, read_log_facts, source_segments
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import COMPACT, NEVER, LogConfig
from tests.unit.storage.log_samples import (
    NOW,
    PARTITION,
    LogHarness,
    batch,
    filled,
    lead,
    marker,
    produced,
)
from tests.unit.storage.reader_samples import THREES

COMPACTED = replace(THREES, cleanup_policy=frozenset({COMPACT}))


def sizes(log: Log) -> list[int]:
    return [each.size for each in read_log_facts(log, checkpoint=None).segments]


def test_facts_are_the_bounds_and_segments_of_a_log() -> None:
    log = filled(LogHarness().open(COMPACTED), 8)
    log.delete_records(1)

    facts = read_log_facts(log, checkpoint=4)

    assert (facts.partition, facts.config, facts.checkpoint) == (PARTITION, COMPACTED, 4)
    assert (facts.log_start, facts.log_end, facts.last_stable) == (1, 8, 8)
    assert [each.base_offset for each in facts.segments] == [0, 3, 6]
    assert sum(each.size for each in facts.segments) == log.size


@pytest.mark.parametrize(("shortest", "longest"), ((1000, 5000), (1000, NEVER), (0, 5000)))
def test_timestamps_of_dirty_segments_are_read_when_a_setting_needs_them(
    shortest: int, longest: int
) -> None:
    config = replace(COMPACTED, min_compaction_lag_ms=shortest, max_compaction_lag_ms=longest)
    log = LogHarness().open(config)
    lead(log, *(batch(timestamp=NOW + at) for at in range(8)))

    found = read_log_facts(log, checkpoint=3).segments

    is_first, is_largest = longest != NEVER, shortest > 0
    assert [(each.first_timestamp, each.largest_timestamp) for each in found] == [
        (-1, -1),
        (NOW + 3 if is_first else -1, NOW + 5 if is_largest else -1),
        (NOW + 6 if is_first else -1, NOW + 7 if is_largest else -1),
    ]


def test_timestamps_are_not_read_when_no_setting_needs_them() -> None:
    place = LogHarness()
    log = filled(place.open(COMPACTED), 8)
    place.files.remove("/d/t-0/00000000000000000000.log")

    assert read_log_facts(log, checkpoint=None).segments[0] == CandidateSegment(0, sizes(log)[0])


def test_open_transaction_limits_the_cleanable_range() -> None:
    log = LogHarness().open(COMPACTED)
    lead(log, *(batch() for _ in range(4)), produced(0, is_transactional=True))
    filled(log, 3)

    assert assess(read_log_facts(log, checkpoint=None), NOW).end == 3

    lead(log, marker(), origin=AppendOrigin.COORDINATOR)
    log.set_high_watermark(log.bounds.log_end)

    assert assess(read_log_facts(log, checkpoint=None), NOW).end == log.base_offsets[-1]


def test_high_watermark_limits_the_cleanable_range() -> None:
    log = filled(LogHarness().open(COMPACTED), 3)
    lead(log, *(batch() for _ in range(7)))

    log.set_high_watermark(5)

    assert assess(read_log_facts(log, checkpoint=None), NOW).end == 3


def test_sources_are_closed_segments_with_their_indexes_and_times() -> None:
    place = LogHarness()
    log = filled(place.open(COMPACTED), 8)
    place.files.set_modified("/d/t-0/00000000000000000000.log", type(place.clock.now_ms())(77))

    first, second = source_segments(log, 6)

    assert (first.base_offset, first.end_offset, first.modified_ms) == (0, 3, 77)
    assert (first.size, first.index_size, first.time_index_size) == (sizes(log)[0], 16, 12)
    assert (second.base_offset, second.end_offset) == (3, 6)
    assert [each.base_offset for each in source_segments(log, 3)] == [0]


def test_plan_keeps_the_last_batches_of_producers() -> None:
    log = LogHarness().open(COMPACTED)
    lead(log, produced(0, 2), produced(2, 2), produced(0, producer=(2, 5)))
    filled(log, 5)

    plan = PlanningJob.of(log, assess(read_log_facts(log, checkpoint=None), NOW), now_ms=NOW).run()

    assert plan is not None
    assert plan.last_records == {1: LastRecord(0, 3), 2: LastRecord(5, 4)}
    assert plan.end == log.base_offsets[-1]


def test_idle_log_is_rolled_by_the_compaction_lag_and_then_cleaned() -> None:
    place = LogHarness()
    log = filled(
        place.open(LogConfig(cleanup_policy=frozenset({COMPACT}), max_compaction_lag_ms=5000)), 2
    )

    place.clock.advance(ms=5001)

    assert assess(read_log_facts(log, checkpoint=None), place.clock.now_ms()).is_roll_due
    log.roll()
    found = assess(read_log_facts(log, checkpoint=None), place.clock.now_ms())
    assert (found.is_roll_due, found.is_due, found.end) == (False, True, 2)
