"""A query of a stream without Spark: batches, limits, targets and repeated batches."""

import gc
import logging
import tracemalloc
from pathlib import Path

import pytest

from cordwood.core.errors import InconsistentTopicIdError, OffsetOutOfRangeError, SettingError
from cordwood.core.types import TimestampMs
from cordwood.spark.stream.admission import NO_LIMITS, AdmissionLimits
from cordwood.spark.stream.stream_offset import INITIAL, JsonObject
from cordwood.spark.stream.stream_query import StreamQuery
from cordwood.spark.stream.stream_report import ReportedFacts, parse_facts
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.spark.stream.stream_samples import (
    extend_log,
    identify_log,
    query_of,
    records,
    write_log,
)
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import produced, v2

#: Leader epochs of the ends of a log of samples.
EPOCHS = {"epochs": {"t": {"0": 4}}}


def spans(query: StreamQuery, start: JsonObject, end: JsonObject) -> list[tuple[int, int, int]]:
    """Return partition, start and end of each range of a batch."""
    return [
        (each.range.partition.partition, each.range.start, each.range.end)
        for pack in query.packs(start, end)
        for each in pack
    ]


def test_batch_zero_has_the_start_and_all_records(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path)

    end = query.latest(INITIAL, NO_LIMITS)

    assert end == {
        "@cordwood": {"epochs": {"t": {"0": 4}}, "start": {"t": {"0": 0}}},
        "t": {"0": 4},
    }
    assert spans(query, INITIAL, end) == [(0, 0, 4)]


def test_offset_without_new_records_is_returned_as_it_came(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path)
    end = query.latest(INITIAL, NO_LIMITS)

    assert query.latest(end, NO_LIMITS) is end
    assert query.latest(theirs := {"t": {"0": 4}}, NO_LIMITS) is theirs


def test_new_records_are_the_next_batch(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path)
    first = query.latest(INITIAL, NO_LIMITS)
    extend_log(tmp_path, records(4, 9))

    second = query.latest(first, NO_LIMITS)

    assert second == {"@cordwood": EPOCHS, "t": {"0": 9}}
    assert spans(query, first, second) == [(0, 4, 9)]


def test_new_partition_is_read_from_its_start(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path, startingOffsets="latest")
    first = query.latest(INITIAL, NO_LIMITS)
    write_log(tmp_path, records(0, 3), partition=1)

    second = query.latest(first, NO_LIMITS)

    assert spans(query, first, second) == [(1, 0, 3)]


def test_new_topic_of_an_empty_pattern_is_read_from_its_start(tmp_path: Path) -> None:
    (tmp_path / "other-0").mkdir()
    (tmp_path / "other-0" / name(0)).write_bytes(records(0, 1))
    query = query_of(tmp_path, startingOffsets="latest", subscribePattern="t.*")
    first = query.latest(INITIAL, NO_LIMITS)
    write_log(tmp_path, records(0, 3))

    second = query.latest(first, NO_LIMITS)

    assert spans(query, first, second) == [(0, 0, 3)]


def test_repeated_batch_reads_the_same_after_growth(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    end = query_of(tmp_path).latest(INITIAL, NO_LIMITS)
    extend_log(tmp_path, records(4, 9))

    again = query_of(tmp_path, startingOffsets="latest")

    assert spans(again, INITIAL, end) == [(0, 0, 4)]


def recreated(folder: Path) -> tuple[JsonObject, str]:
    """Return the end of batch 0 of a topic, and the new id of the topic that replaces it."""
    write_log(folder, records(0, 4))
    identify_log(folder, 1)
    end = query_of(folder).latest(INITIAL, NO_LIMITS)
    return end, identify_log(folder, 2)


def test_repeated_batch_of_a_topic_created_since_is_refused(tmp_path: Path) -> None:
    end, _ = recreated(tmp_path)

    with pytest.raises(
        InconsistentTopicIdError, match="t: the topic was deleted and created again"
    ):
        query_of(tmp_path).packs(INITIAL, end)


def test_repeated_batch_leaves_a_restarted_topic_to_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    end, new_id = recreated(tmp_path)
    query = query_of(tmp_path, onRecreatedTopic="restart")
    with caplog.at_level(logging.WARNING, "cordwood"):
        assert spans(query, INITIAL, end) == []

    following = query.latest(end, NO_LIMITS)

    assert following == {"@cordwood": {**EPOCHS, "ids": {"t": new_id}}, "t": {"0": 4}}
    assert spans(query, end, following) == [(0, 0, 4)]
    assert "t: the topic was created again; the repeated batch leaves it out" in caplog.text


def test_position_after_the_last_stable_offset_waits_and_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_log(tmp_path, records(0, 2), produced(2, 4, producer_id=7))
    identify_log(tmp_path, 1)
    end = query_of(tmp_path).latest(INITIAL, NO_LIMITS)
    options = {"isolation.level": "read_committed", "onRecreatedTopic": "restart"}
    query = query_of(tmp_path, None, **options)

    with caplog.at_level(logging.WARNING, "cordwood"):
        assert query.latest(end, NO_LIMITS) is end
        assert query.latest(end, NO_LIMITS) is end

    assert caplog.text.count("t-0: the query waits at offset 5, after the readable end 2") == 1


def truncated(folder: Path) -> JsonObject:
    """Return the end of a batch of six records, of which a failover has replaced the last two."""
    write_log(folder, records(0, 6, epoch=3))
    end = query_of(folder).latest(INITIAL, NO_LIMITS)
    write_log(folder, records(0, 4, epoch=3), records(4, 9, epoch=5))
    return end


@pytest.mark.parametrize("gap", ("fail", "refill"))
def test_log_that_was_truncated_and_grew_past_the_position_is_refused(
    tmp_path: Path, gap: str
) -> None:
    end = truncated(tmp_path)
    options = {"gap": gap, **({"refillPath": str(tmp_path)} if gap == "refill" else {})}

    with pytest.raises(OffsetOutOfRangeError, match="t-0: offsets 5 to 5 were truncated"):
        query_of(tmp_path, None, **options).latest(end, NO_LIMITS)


def test_truncated_log_is_read_again_and_its_gap_is_recorded(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    end, gaps = truncated(tmp_path), tmp_path_factory.mktemp("gaps")
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_text("0\n2\n3 0\n5 4\n")
    query = query_of(tmp_path, gap="record", gapTable=str(gaps))

    following = query.latest(end, NO_LIMITS)

    ours = {"epochs": {"t": {"0": 5}}, "start": {"t": {"0": 4}}}
    assert following == {"@cordwood": ours, "t": {"0": 9}}
    assert spans(query, end, following) == [(0, 4, 9)]
    assert [each.name for each in gaps.iterdir()] == ["t-0-4-6.parquet"]
    assert query.latest(following, NO_LIMITS) is following


def test_repeated_batch_of_a_truncated_log_is_refused(tmp_path: Path) -> None:
    end = truncated(tmp_path)

    with pytest.raises(OffsetOutOfRangeError, match="t-0: offsets 5 to 5 were truncated"):
        query_of(tmp_path).packs(INITIAL, end)


def test_repeated_batch_leaves_the_truncated_part_to_the_next(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    end = truncated(tmp_path)
    query = query_of(tmp_path, gap="record", gapTable=str(tmp_path_factory.mktemp("gaps")))

    repeated = spans(query, INITIAL, end)
    following = query.latest(end, NO_LIMITS)

    assert repeated == [(0, 0, 5)]
    assert spans(query, end, following) == [(0, 5, 9)]


def test_checkpoint_without_epochs_continues_a_truncated_log(tmp_path: Path) -> None:
    truncated(tmp_path)
    query = query_of(tmp_path)

    following = query.latest(theirs := {"t": {"0": 6}}, NO_LIMITS)

    assert spans(query, theirs, following) == [(0, 6, 9)]
    assert following == {"@cordwood": {"epochs": {"t": {"0": 5}}}, "t": {"0": 9}}


def test_limits_hold_for_each_batch(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 10))
    query, limits = query_of(tmp_path), AdmissionLimits(max_offsets=4)

    ends, start = [], INITIAL
    while (end := query.latest(start, limits)) is not start:
        ends.append(end["t"])
        start = end

    assert ends == [{"0": 4}, {"0": 8}, {"0": 10}]


def test_bytes_limit_a_batch(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 100))
    query = query_of(tmp_path)

    end = query.latest(INITIAL, AdmissionLimits(max_bytes=10 * len(v2(0))))

    assert end["t"] == {"0": 10}


def test_batch_waits_for_its_minimum(tmp_path: Path) -> None:
    clock, limits = VirtualClock(), AdmissionLimits(min_offsets=5, max_delay_ms=60_000)
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path, clock)
    first = query.latest(INITIAL, limits)
    extend_log(tmp_path, records(4, 6))
    assert query.latest(first, limits) is first

    clock.advance(seconds=61)

    assert query.latest(first, limits) == {"@cordwood": EPOCHS, "t": {"0": 6}}


def test_facts_of_a_batch_are_reported_once(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path)
    end = query.latest(INITIAL, NO_LIMITS)

    query.latest(end, NO_LIMITS)

    report = query.report()
    assert report is not None
    assert parse_facts(report) == ReportedFacts()


def test_query_with_a_target_stops_there_and_ignores_the_minimum(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path)
    query.fix_target()
    extend_log(tmp_path, records(4, 9))
    write_log(tmp_path, records(0, 3), partition=1)

    end = query.latest(INITIAL, AdmissionLimits(min_offsets=100))

    assert end["t"] == {"0": 4}
    assert query.latest(end, NO_LIMITS) is end


def test_target_leaves_partitions_that_appear_later_to_the_next_query(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path)
    query.fix_target()
    done = {"t": {"0": 2, "1": 0}}
    write_log(tmp_path, records(0, 3), partition=1)

    end = query.latest(done, NO_LIMITS)

    assert end["t"] == {"0": 4, "1": 0}


def test_target_stores_no_old_offset_under_a_new_topic_id(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    new_id = identify_log(tmp_path, 2)
    query = query_of(tmp_path, onRecreatedTopic="restart")
    query.fix_target()
    write_log(tmp_path, records(0, 3), partition=1)

    end = query.latest({"@cordwood": {"ids": {"t": "old"}}, "t": {"0": 2, "1": 7}}, NO_LIMITS)

    assert end == {
        "@cordwood": {"epochs": {"t": {"0": 4, "1": 4}}, "ids": {"t": new_id}},
        "t": {"0": 4, "1": 0},
    }


def test_partition_after_the_target_is_not_reported_as_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path)
    query.fix_target()
    write_log(tmp_path, records(0, 3), partition=1)

    with caplog.at_level(logging.WARNING, "cordwood"):
        query.latest({"t": {"0": 2, "1": 0}}, NO_LIMITS)

    assert caplog.text == ""


def test_idle_query_holds_its_memory(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path)
    end = query.latest(INITIAL, NO_LIMITS)

    sizes = []
    tracemalloc.start()
    for _ in range(3):
        for _ in range(40):
            query.latest(end, NO_LIMITS)
            query.report()
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()

    assert sizes[2] - sizes[1] < 10_000, sizes


def test_topic_that_a_restart_adds_and_no_source_has_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_log(tmp_path, records(0, 4))
    end = query_of(tmp_path).latest(INITIAL, NO_LIMITS)
    restarted = query_of(tmp_path, subscribe="t, misspelled")

    for _ in range(2):
        assert restarted.latest(end, NO_LIMITS) == end

    assert caplog.messages == ["misspelled: no source has the topic; it is read when it is created"]


def test_partition_that_may_vanish_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_log(tmp_path, records(0, 4))
    options = {"gap": "record", "gapTable": str(tmp_path / "gaps"), "subscribePattern": "t.*"}
    query, start = query_of(tmp_path, None, **options), {"t": {"0": 4, "1": 7}}
    with caplog.at_level(logging.WARNING, "cordwood"):
        for _ in range(2):
            assert query.latest(start, NO_LIMITS) is start

    assert caplog.text.count("t-1: no source has the partition") == 1


def test_gone_offsets_are_refused_before_a_batch_is_promised(tmp_path: Path) -> None:
    write_log(tmp_path, records(4, 9), base_offset=4)

    with pytest.raises(OffsetOutOfRangeError, match="no source has offsets 2 to 3 of t-0"):
        query_of(tmp_path).latest({"t": {"0": 2}}, NO_LIMITS)


def test_gone_offsets_are_recorded_once_when_a_batch_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_log(tmp_path / "logs", records(4, 9), base_offset=4)
    options = {"gap": "record", "gapTable": str(tmp_path / "gaps")}
    start: JsonObject = {"t": {"0": 2}}
    end = query_of(tmp_path / "logs", None, **options).latest(start, NO_LIMITS)

    assert spans(query_of(tmp_path / "logs", None, **options), start, end) == [(0, 4, 9)]
    assert [each.name for each in (tmp_path / "gaps").iterdir()] == ["t-0-2-4.parquet"]


def test_start_of_an_unlisted_partition_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    write_log(tmp_path, records(0, 4), partition=1)
    query = query_of(tmp_path, startingOffsets='{"t": {"0": 2}}')

    with pytest.raises(SettingError, match="no offset for t-1"):
        query.latest(INITIAL, NO_LIMITS)


def test_report_has_the_ends_and_the_facts_of_the_batch(tmp_path: Path) -> None:
    clock = VirtualClock(TimestampMs(10_000))
    write_log(tmp_path, records(0, 4))
    query = query_of(tmp_path, clock)
    assert query.report() is None

    query.latest(INITIAL, AdmissionLimits(max_offsets=3))

    assert query.report() == {
        "@cordwood": {
            "behindMs": 9_000,
            "bytes": 3 * len(v2(0)),
            "failedCommits": 0,
            "gapOffsets": 0,
        },
        "t": {"0": 4},
    }
