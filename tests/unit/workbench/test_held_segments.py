"""The reasons why segments are not compacted, and what a caller does about them."""

from dataclasses import replace

import pytest

from cordwood.compaction.plan.candidates import CandidateSegment, LogFacts
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.held_segments import NOT_REQUESTED, HeldSegments, first_offsets
from cordwood.workbench.topic_settings_lookup import FoundSettings, SettingsFinder

SEGMENTS = tuple(CandidateSegment(base, 100, 1000, 1000) for base in (0, 10, 20))


def settings(lag_ms: int = 0) -> FoundSettings:
    given = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(lag_ms)}
    return SettingsFinder(MemoryFiles(), given=given).find("/d", None)


def facts(found: FoundSettings) -> LogFacts:
    return LogFacts(
        partition=TopicPartition(TopicName("t"), PartitionId(0)),
        config=found.config,
        segments=SEGMENTS,
        log_start=0,
        log_end=30,
        high_watermark=30,
        last_stable=30,
    )


@pytest.mark.parametrize(
    ("changes", "text", "remedy"),
    (
        ({}, "the active segment is never cleaned", "--roll"),
        ({"high_watermark": 25}, "not wholly below the high watermark 25", "a replica"),
        ({"last_stable": 25}, "a transaction is open since offset 25", "a log without"),
    ),
)
def test_reason_has_its_facts(changes: dict[str, int], text: str, remedy: str) -> None:
    found = settings()
    changed = replace(facts(found), **changes)  # type: ignore[arg-type]  # offsets they are

    held = HeldSegments(changed, found, now_ms=5000, is_rolled=False)
    texts, remedies = held.of_offsets([25])

    assert text in "; ".join(texts)
    assert any(each.startswith(remedy) for each in remedies)


def test_offset_of_a_segment_that_could_be_cleaned_is_beyond_the_requested_end() -> None:
    found = settings()

    held = HeldSegments(facts(found), found, now_ms=5000, is_rolled=False)

    assert held.of_offsets([5]) == ([NOT_REQUESTED], ["a larger --until"])


def test_offsets_are_shortened() -> None:
    assert first_offsets([1, 2]) == "1, 2"
    assert first_offsets([1, 2, 3, 4, 5]) == "1, 2, 3 and 2 more"
