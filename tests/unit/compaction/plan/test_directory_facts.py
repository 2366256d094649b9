"""The facts of a directory, compared with those of the open log."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cordwood.compaction.plan import log_facts
from cordwood.compaction.plan.candidates import CandidateSegment, LogFacts, assess
from cordwood.compaction.plan.directory_facts import (
    DirectoryFacts,
    plan_directory,
    read_directory_facts,
)
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.reader.partition_reader import PartitionCheckpoints
from tests.unit.storage.log_samples import (
    DIRECTORY,
    NOW,
    PARTITION,
    LogHarness,
    batch,
    filled,
    lead,
    marker,
    produced,
)
from tests.unit.storage.reader_samples import THREES, reader

COMPACTED = replace(THREES, cleanup_policy=frozenset({COMPACT}))
BY_TIME = replace(COMPACTED, min_compaction_lag_ms=1000, max_compaction_lag_ms=5000)


def seen(
    place: LogHarness,
    config: LogConfig = COMPACTED,
    *,
    beside: PartitionCheckpoints = PartitionCheckpoints(),  # noqa: B008 - an immutable value
    high_watermark: int | None = None,
) -> DirectoryFacts:
    found = reader(place.files, beside)
    return read_directory_facts(
        found, partition=PARTITION, config=config, high_watermark=high_watermark
    )


def test_directory_facts_have_the_bounds_and_segments_of_the_log() -> None:
    place = LogHarness()
    log = filled(place.open(COMPACTED), 8)
    log.close()

    found = seen(place, beside=PartitionCheckpoints(log_start=1, cleaned_to=3), high_watermark=7)

    facts = found.facts
    assert (facts.log_start, facts.checkpoint, facts.high_watermark) == (1, 3, 7)
    assert (facts.log_end, facts.last_stable) == (8, 7)
    assert [each.base_offset for each in facts.segments] == [0, 3, 6]
    assert list(found.sources) == log_facts.source_segments(log, 6)


def test_high_watermark_defaults_to_the_log_end() -> None:
    place = LogHarness()
    filled(place.open(COMPACTED), 8).close()

    assert seen(place).facts.high_watermark == 8
    assert seen(place, high_watermark=99).facts.high_watermark == 8


def test_segment_without_timestamps_has_the_timestamp_of_its_file() -> None:
    place = LogHarness()
    log = place.open(BY_TIME)
    lead(log, *(batch(timestamp=-1) for _ in range(4)))
    log.close()
    place.files.set_modified(f"{DIRECTORY}/{0:020}.log", type(place.clock.now_ms())(77))

    assert seen(place, BY_TIME).facts.segments[0][2:] == (-1, 77)


def test_directory_without_segments_is_an_empty_log() -> None:
    place = LogHarness()
    place.files.make_directory(DIRECTORY)

    found = seen(place, beside=PartitionCheckpoints(log_start=5))

    assert found.facts.segments == (CandidateSegment(5, 0),)
    assert plan_directory(found, assess(found.facts, NOW), now_ms=NOW) is None


def written(log: Log, steps: list[int]) -> None:
    """Append transactional records and markers of producers 1 and 2, and other records."""
    sequences, is_open = {1: 0, 2: 0}, {1: False, 2: False}
    for number, step in enumerate(steps):
        producer = step % 3
        if not producer:
            lead(log, batch(timestamp=NOW + 500 * number))
        elif step < 3 or not is_open[producer]:
            sequence = sequences[producer]
            lead(log, produced(sequence, producer=(producer, 0), is_transactional=True))
            sequences[producer], is_open[producer] = sequence + 1, True
        else:
            ended = marker(producer=(producer, 0), is_commit=step > 5)
            lead(log, ended, origin=AppendOrigin.COORDINATOR)
            is_open[producer] = False


@given(
    steps=st.lists(st.integers(0, 8), min_size=1, max_size=30),
    high_watermark=st.integers(0, 30),
    cleaned_to=st.integers(1, 30),
    is_closed=st.booleans(),
)
def test_directory_facts_lead_to_the_plan_of_the_open_log(
    steps: list[int], high_watermark: int, cleaned_to: int, *, is_closed: bool
) -> None:
    place = LogHarness()
    log = place.open(BY_TIME)
    written(log, steps)
    log.set_high_watermark(high_watermark)
    expected = log_facts.read_log_facts(log, checkpoint=cleaned_to)
    assessment = assess(expected, NOW + 9000)
    plan = log_facts.PlanningJob.of(log, assessment, now_ms=NOW).run()
    if is_closed:
        log.close()

    found = seen(
        place,
        BY_TIME,
        beside=PartitionCheckpoints(cleaned_to=cleaned_to),
        high_watermark=high_watermark,
    )

    assert timeless(found.facts) == timeless(expected)
    assert assess(found.facts, NOW + 9000).end == assessment.end
    assert plan_directory(found, assessment, now_ms=NOW) == plan


def timeless(facts: LogFacts) -> LogFacts:
    """Remove the timestamps: the open log does not read those of clean segments."""
    segments = tuple(CandidateSegment(*each[:2]) for each in facts.segments)
    return replace(facts, segments=segments, active_since_ms=0)
