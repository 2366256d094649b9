"""Progress of a batch, from Spark's JSON to a line."""

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.stream.batch_progress import (
    BatchProgress,
    PartitionProgress,
    parse_progress,
    progress_line,
)
from cordwood.spark.stream.stream_offset import JsonObject

P0, P1 = (TopicPartition(TopicName("orders"), PartitionId(each)) for each in range(2))
OURS: JsonObject = {
    "endOffset": {"@cordwood": {"ids": {"orders": "id"}}, "orders": {"0": 5}},
    "latestOffset": {
        "@cordwood": {
            "behindMs": 3100,
            "bytes": 360_000,
            "failedCommits": 1,
            "gapOffsets": 2,
            "gaps": {"orders": {"1": 2}},
        },
        "orders": {"0": 9, "1": 3},
    },
    "numInputRows": 3000,
}
THEIRS: JsonObject = {"endOffset": 7, "latestOffset": 9, "numInputRows": 4}


def progress(*sources: JsonObject, **more: object) -> JsonObject:
    times = {"triggerExecution": 420}
    return {"id": "q", "batchId": 7, "durationMs": times, "sources": list(sources), **more}


def test_progress_has_the_facts_of_our_source() -> None:
    done = parse_progress(progress(OURS, THEIRS, name="orders"))

    assert done == BatchProgress(
        "orders",
        7,
        3000,
        360_000,
        420,
        behind=7,
        behind_ms=3100,
        gap_offsets=2,
        failed_commits=1,
        partitions={P0: PartitionProgress(5, 4), P1: PartitionProgress(0, 3, gap_offsets=2)},
    )


def test_query_without_a_name_has_its_id() -> None:
    done = parse_progress(progress(OURS, name=None))

    assert done is not None
    assert done.query == "q"


def test_query_without_our_source_has_no_progress() -> None:
    assert parse_progress(progress(THEIRS)) is None
    assert parse_progress({}) is None


def test_line_has_rates_and_lag() -> None:
    done = BatchProgress("orders", 7, 3000, 360_000, 420, 7, 3100, 2, 1)

    assert progress_line(done) == (
        "orders batch 7: 3000 records, 360.0 kB in 0.42 s (7143 records/s), 7 records 3.1 s behind,"
        " 2 offsets missing, 1 commits of the group failed"
    )


def test_line_of_a_query_that_is_caught_up_is_short() -> None:
    done = BatchProgress("orders", 8, 0, 0, 0, 0, 0, 0, 0)

    assert progress_line(done) == "orders batch 8: 0 records, 0.0 kB in 0.00 s (0 records/s)"
