"""Positions after a batch: new, vanished, truncated and recreated topics."""

import pytest

from cordwood.core.errors import (
    InconsistentTopicIdError,
    OffsetOutOfRangeError,
    SettingError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.offset_resolution import PartitionExtent
from cordwood.spark.source.source_options import OffsetRangeLimit
from cordwood.spark.stream.admission import Backlog
from cordwood.spark.stream.stream_offset import StreamOffset
from cordwood.spark.stream.stream_progress import (
    LogChanges,
    StreamPolicy,
    StreamPositions,
    backlogs_of,
    check_listed,
    check_starts,
    end_of_batch,
    positions_after,
    ranges_between,
    ranges_to_repeat,
)

P0, P1 = (TopicPartition(TopicName("t"), PartitionId(each)) for each in range(2))
STRICT, RESTARTING = StreamPolicy(), StreamPolicy(restarts_recreated=True)


def test_stream_continues_at_its_positions() -> None:
    found = positions_after(
        StreamOffset({P0: 5}), {P0: PartitionExtent(0, 9)}, topic_ids={}, policy=STRICT
    )

    assert found == StreamPositions({P0: 5}, {})


def test_new_partition_begins_at_zero() -> None:
    extents = {P0: PartitionExtent(0, 9), P1: PartitionExtent(0, 3)}

    found = positions_after(StreamOffset({P0: 5}), extents, topic_ids={}, policy=STRICT)

    assert found.readable == {P0: 5, P1: 0}


def test_vanished_partition_is_an_error() -> None:
    with pytest.raises(
        UnknownTopicOrPartitionError, match="t-0: the stream continues at offset 5, but no source"
    ):
        positions_after(StreamOffset({P0: 5}), {}, topic_ids={}, policy=STRICT)


def test_vanished_partition_keeps_its_position_when_gaps_are_recorded() -> None:
    found = positions_after(
        StreamOffset({P0: 5}), {}, topic_ids={}, policy=StreamPolicy(gap="record")
    )

    assert found == StreamPositions({}, {P0: 5})


def test_recreated_topic_is_an_error_with_both_ids() -> None:
    done = StreamOffset({P0: 5}, {"t": "old"})

    with pytest.raises(InconsistentTopicIdError, match="id old in the checkpoint, new now"):
        positions_after(done, {P0: PartitionExtent(0, 9)}, topic_ids={"t": "new"}, policy=STRICT)


def test_recreated_topic_is_restarted_without_its_old_partitions() -> None:
    done = StreamOffset({P0: 5, P1: 7}, {"t": "old"})

    found = positions_after(
        done, {P0: PartitionExtent(0, 9)}, topic_ids={"t": "new"}, policy=RESTARTING
    )

    assert found == StreamPositions({P0: 0}, {})


def test_log_that_ends_before_the_position_is_an_error() -> None:
    with pytest.raises(InconsistentTopicIdError, match="offset 5, but the log ends at 3"):
        positions_after(
            StreamOffset({P0: 5}), {P0: PartitionExtent(0, 3)}, topic_ids={}, policy=STRICT
        )


def test_log_that_ends_before_the_position_is_restarted_on_request() -> None:
    found = positions_after(
        StreamOffset({P0: 5}), {P0: PartitionExtent(0, 3)}, topic_ids={}, policy=RESTARTING
    )

    assert found.readable == {P0: 0}


@pytest.mark.parametrize("before", ({}, {"t": "old"}))
@pytest.mark.parametrize("now", ({}, {"t": "old"}))
@pytest.mark.parametrize("policy", (STRICT, RESTARTING))
def test_stream_waits_at_its_position_while_records_after_the_end_cannot_be_read(
    before: dict[str, str], now: dict[str, str], policy: StreamPolicy
) -> None:
    done, extents = StreamOffset({P0: 5}, before), {P0: PartitionExtent(0, 3)}

    found = positions_after(
        done, extents, topic_ids=now, policy=policy, changes=LogChanges({P0: 5})
    )

    assert found.readable == {P0: 5}


@pytest.mark.parametrize("policy", (STRICT, RESTARTING))
def test_same_topic_that_ends_before_the_position_is_never_restarted(policy: StreamPolicy) -> None:
    done, extents = StreamOffset({P0: 5}, {"t": "id"}), {P0: PartitionExtent(0, 3)}

    with pytest.raises(
        InconsistentTopicIdError, match=r"log ends at 4.* isolation\.level or endAt"
    ) as caught:
        positions_after(
            done, extents, topic_ids={"t": "id"}, policy=policy, changes=LogChanges({P0: 4})
        )

    assert "restart" not in str(caught.value)


def test_truncated_log_is_refused_with_the_offsets_that_were_replaced() -> None:
    changes = LogChanges(truncated={P0: 3})

    with pytest.raises(OffsetOutOfRangeError, match="t-0: offsets 3 to 4 were truncated"):
        positions_after(
            StreamOffset({P0: 5}),
            {P0: PartitionExtent(0, 9)},
            topic_ids={},
            policy=STRICT,
            changes=changes,
        )


def test_truncated_log_is_read_again_where_gaps_are_recorded() -> None:
    found = positions_after(
        StreamOffset({P0: 5, P1: 2}),
        {P0: PartitionExtent(0, 4), P1: PartitionExtent(0, 2)},
        topic_ids={},
        policy=StreamPolicy(gap="record"),
        changes=LogChanges(truncated={P0: 3}),
    )

    assert found == StreamPositions({P0: 3, P1: 2}, {}, {P0: 3})


def test_batch_of_a_truncated_log_begins_at_the_start_of_its_end() -> None:
    done = StreamOffset({P0: 5, P1: 2})
    positions = StreamPositions({P0: 3, P1: 2}, {}, {P0: 3})

    end = end_of_batch(done, positions, ends={P0: 5, P1: 4}, topic_ids={})

    assert end == StreamOffset({P0: 5, P1: 4}, {}, {P0: 3})
    assert ranges_between(done, end) == [OffsetRange(P0, 3, 5), OffsetRange(P1, 2, 4)]


def test_batch_between_equal_offsets_is_empty() -> None:
    end = StreamOffset({P0: 9}, {}, {P0: 4})

    assert ranges_between(end, end) == []


@pytest.mark.parametrize("ids", (({"t": "id"}, {}), ({}, {"t": "id"})))
def test_low_end_is_restarted_if_one_side_has_no_topic_id(
    ids: tuple[dict[str, str], dict[str, str]],
) -> None:
    done, extents = StreamOffset({P0: 5}, ids[0]), {P0: PartitionExtent(0, 3)}

    found = positions_after(done, extents, topic_ids=ids[1], policy=RESTARTING)

    assert found.readable == {P0: 0}


@pytest.mark.parametrize(("gap", "start"), (("record", 4), ("refill", 1)))
def test_deleted_offsets_are_a_backlog_only_if_they_can_be_refilled(gap: str, start: int) -> None:
    backlogs = backlogs_of({P0: 1}, {P0: PartitionExtent(4, 9)}, policy=StreamPolicy(gap=gap))

    assert backlogs == {P0: Backlog(start, 9)}


def test_batch_zero_stores_its_start_and_the_topic_ids() -> None:
    end = end_of_batch(
        StreamOffset({}),
        StreamPositions({P0: 4}, {}),
        ends={P0: 9},
        topic_ids={"t": "id", "u": "x"},
    )

    assert end == StreamOffset({P0: 9}, {"t": "id"}, {P0: 4})


def test_batch_zero_exists_without_records() -> None:
    end = end_of_batch(StreamOffset({}), StreamPositions({}, {}), ends={}, topic_ids={})

    assert end == StreamOffset({}, {}, {})


def test_later_batches_do_not_repeat_the_start() -> None:
    done = StreamOffset({P0: 9}, {"t": "id"}, {P0: 4})

    end = end_of_batch(done, StreamPositions({P0: 9}, {}), ends={P0: 11}, topic_ids={"t": "id"})

    assert end == StreamOffset({P0: 11}, {"t": "id"})


def test_nothing_new_is_no_batch() -> None:
    done = StreamOffset({P0: 9, P1: 2}, {"t": "id"}, {P0: 4})

    end = end_of_batch(done, StreamPositions({P0: 9}, {P1: 2}), ends={P0: 9}, topic_ids={"t": "id"})

    assert end is None


def test_new_topic_id_is_stored_without_new_records() -> None:
    done = StreamOffset({P0: 0}, {"t": "old"})

    end = end_of_batch(done, StreamPositions({P0: 0}, {}), ends={P0: 0}, topic_ids={"t": "new"})

    assert end == StreamOffset({P0: 0}, {"t": "new"})


def test_batch_has_the_offsets_between_its_ends() -> None:
    ranges = ranges_between(StreamOffset({P0: 4}), StreamOffset({P0: 9, P1: 2}))

    assert ranges == [OffsetRange(P0, 4, 9), OffsetRange(P1, 0, 2)]


def test_batch_zero_begins_at_the_start_in_its_end() -> None:
    assert ranges_between(StreamOffset({}), StreamOffset({P0: 9}, {}, {P0: 4})) == [
        OffsetRange(P0, 4, 9)
    ]


def test_batch_zero_of_spark_sql_kafka_is_rejected_with_the_command_that_adopts_it() -> None:
    with pytest.raises(SettingError, match=r"batch 0 has no start.* checkpoint adopt"):
        ranges_between(StreamOffset({}), StreamOffset({P0: 9}))


@pytest.mark.parametrize(
    ("start", "end"),
    (
        (StreamOffset({P0: 5}, {"t": "old"}), StreamOffset({P0: 8}, {"t": "new"})),
        (StreamOffset({P0: 50}), StreamOffset({P0: 8})),
    ),
    ids=("another id", "an earlier end"),
)
def test_batch_of_a_restarted_topic_begins_at_zero(start: StreamOffset, end: StreamOffset) -> None:
    assert ranges_between(start, end) == [OffsetRange(P0, 0, 8)]


def test_repeated_batch_of_a_topic_created_since_is_an_error_with_both_ids() -> None:
    start, end = StreamOffset({P0: 5}, {"t": "older"}), StreamOffset({P0: 8}, {"t": "old"})

    with pytest.raises(InconsistentTopicIdError, match="id old in the checkpoint, new now"):
        ranges_to_repeat(start, end, topic_ids={"t": "new"}, policy=STRICT)


def test_repeated_batch_leaves_out_a_topic_created_since_when_it_restarts() -> None:
    other = TopicPartition(TopicName("u"), PartitionId(0))
    end = StreamOffset({P0: 8, other: 3}, {"t": "old", "u": "id"})

    ranges = ranges_to_repeat(
        StreamOffset({P0: 5}, {"t": "old"}),
        end,
        topic_ids={"t": "new", "u": "id"},
        policy=RESTARTING,
    )

    assert ranges == [OffsetRange(other, 0, 3)]


def test_repeated_batch_of_a_restarted_topic_has_its_range() -> None:
    start, end = StreamOffset({P0: 5}, {"t": "old"}), StreamOffset({P0: 8}, {"t": "new"})

    ranges = ranges_to_repeat(start, end, topic_ids={"t": "new"}, policy=STRICT)

    assert ranges == [OffsetRange(P0, 0, 8)]


def test_starting_offsets_list_every_partition() -> None:
    starting = OffsetRangeLimit(is_time=False, default=-1, by_partition={P0: 4})

    with pytest.raises(SettingError, match="no offset for t-1; list every partition"):
        check_listed(starting, [P0, P1])


def test_starting_word_lists_no_partition() -> None:
    check_listed(OffsetRangeLimit(is_time=False, default=-1), [P0, P1])


def test_start_after_the_end_is_rejected() -> None:
    with pytest.raises(SettingError, match="offset 12 of t-0 is after its end 9"):
        check_starts({P0: 12}, {P0: PartitionExtent(0, 9)})
