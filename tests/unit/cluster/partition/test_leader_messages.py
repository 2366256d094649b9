"""Tests of a follower's messages: requests from states, answers from responses."""

from cordwood.client.consumer.fetch_session_handler import FetchTarget
from cordwood.cluster.partition.leader_messages import (
    epoch_answers,
    epoch_request,
    fetch_answers,
    fetch_targets,
    offset_answers,
    offsets_request,
)
from cordwood.cluster.partition.partition_fetch_state import FetchPhase, PartitionFetchState
from cordwood.cluster.partition.replica_fetcher import SentPartitions
from cordwood.core.types import LeaderEpoch, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from cordwood.protocol.messages.offset_for_leader_epoch import EpochEndOffset as EpochEndResult
from cordwood.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)

ORDERS_ID = Uuid(bytes(range(16)))


def name(topic: str, number: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


def sent(phase: FetchPhase, *names: TopicPartition) -> SentPartitions:
    state = PartitionFetchState(
        version=0,
        topic_id=ORDERS_ID,
        leader_epoch=LeaderEpoch(4),
        phase=phase,
        fetch_offset=10,
        last_epoch=LeaderEpoch(3),
    )
    return SentPartitions(phase, dict.fromkeys(names, state))


def data(
    number: int, *, diverging: EpochEndOffset | None = None, high_watermark: int = 9
) -> PartitionData:
    return PartitionData(
        partition_index=number,
        error_code=0,
        high_watermark=high_watermark,
        diverging_epoch=diverging,
        aborted_transactions=None,
        records=None,
    )


def test_epoch_request_has_the_latest_epoch_of_each_log() -> None:
    request = epoch_request(
        sent(FetchPhase.ASKING_EPOCH, name("orders", 0), name("bills"), name("orders", 1)),
        node_id=2,
    )

    asked = [
        OffsetForLeaderPartition(partition=each, current_leader_epoch=4, leader_epoch=3)
        for each in (0, 1)
    ]
    assert request.replica_id == 2
    assert request.topics == [
        OffsetForLeaderTopic(topic="orders", partitions=asked),
        OffsetForLeaderTopic(topic="bills", partitions=asked[:1]),
    ]


def test_offsets_request_has_the_special_timestamp_of_its_phase() -> None:
    for phase, timestamp in ((FetchPhase.FINDING_END, -1), (FetchPhase.FINDING_START, -2)):
        request = offsets_request(sent(phase, name("orders")), node_id=2)

        wanted = ListOffsetsPartition(
            partition_index=0, current_leader_epoch=4, timestamp=timestamp
        )
        assert (request.replica_id, request.isolation_level) == (2, 0)
        assert request.topics == [ListOffsetsTopic(name="orders", partitions=[wanted])]


def test_fetch_has_the_epoch_of_the_last_record_and_the_local_log_start() -> None:
    partitions = sent(FetchPhase.FETCHING, name("orders"))

    targets = fetch_targets(partitions, {name("orders"): 5}, max_bytes=100)

    wanted = FetchTarget(
        10, leader_epoch=4, max_bytes=100, topic_id=ORDERS_ID, last_epoch=3, log_start=5
    )
    assert targets == {name("orders"): wanted}


def test_epoch_answers_have_the_ends() -> None:
    result = EpochEndResult(error_code=0, partition=1, leader_epoch=3, end_offset=7)
    response = OffsetForLeaderEpochResponse(
        topics=[OffsetForLeaderTopicResult(topic="orders", partitions=[result])]
    )

    assert [*epoch_answers(response)] == [(name("orders", 1), 0, (3, 7))]


def test_offset_answers_have_the_offsets() -> None:
    result = ListOffsetsPartitionResponse(partition_index=1, error_code=6, offset=7)
    response = ListOffsetsResponse(
        topics=[ListOffsetsTopicResponse(name="orders", partitions=[result])]
    )

    assert [*offset_answers(response)] == [(name("orders", 1), 6, 7)]


def test_fetch_answers_have_names_by_topic_id() -> None:
    orders = FetchableTopicResponse(topic_id=ORDERS_ID, partitions=[data(1)])
    bills = FetchableTopicResponse(
        topic="bills",
        topic_id=NO_UUID,
        partitions=[
            data(0, diverging=EpochEndOffset(epoch=2, end_offset=7)),
            data(1, diverging=EpochEndOffset()),
        ],
    )
    unknown = FetchableTopicResponse(topic_id=Uuid(bytes([9] * 16)), partitions=[data(0)])
    response = FetchResponse(responses=[orders, bills, unknown])

    answers = [*fetch_answers(response, {ORDERS_ID: TopicName("orders")})]

    assert [each.answer for each in answers] == [
        (name("orders", 1), 0, 9, None),
        (name("bills"), 0, 9, (2, 7)),
        (name("bills", 1), 0, 9, None),
    ]
    assert answers[0].data is orders.partitions[0]
