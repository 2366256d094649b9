"""Tests of the requests that wait for a broker."""

from typing import cast

from cordwood.cluster.active_controller.waiting_requests import WaitingRequests
from cordwood.cluster.controller.effects import BrokerRequest
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

A = Uuid(bytes(15) + b"\x0a")
B = Uuid(bytes(15) + b"\x0b")


def leader_and_isr(index: int, epoch: int = 0, *, is_new: bool = False) -> BrokerRequest:
    """Return a request for one partition of the topic `t`, led by the broker of its number."""
    state = LeaderAndIsrPartitionState(
        partition_index=index,
        controller_epoch=1,
        leader=index,
        leader_epoch=epoch,
        isr=[index],
        partition_epoch=epoch,
        replicas=[index],
        is_new=is_new,
    )
    request = LeaderAndIsrRequest(
        controller_id=1,
        controller_epoch=1,
        topic_states=[LeaderAndIsrTopicState(topic_name="t", topic_id=A, partition_states=[state])],
        live_leaders=[LeaderAndIsrLiveLeader(broker_id=index, host_name="h", port=1)],
    )
    return BrokerRequest(2, request, 7)


def update(index: int, epoch: int = 0, *, topic_id: Uuid = A, live: int = 1) -> BrokerRequest:
    """Return metadata of one partition of the topic `t`, and of `live` brokers."""
    state = UpdateMetadataPartitionState(
        partition_index=index,
        controller_epoch=1,
        leader=1,
        leader_epoch=epoch,
        isr=[1],
        zk_version=epoch,
        replicas=[1],
    )
    request = UpdateMetadataRequest(
        controller_id=1,
        controller_epoch=1,
        topic_states=[
            UpdateMetadataTopicState(topic_name="t", topic_id=topic_id, partition_states=[state])
        ],
        live_brokers=[UpdateMetadataBroker(id=each) for each in range(live)],
    )
    return BrokerRequest(2, request, 8)


def stop_replica(index: int, epoch: int = 0, *, is_deleted: bool = False) -> BrokerRequest:
    """Return a request to stop one replica of the topic `t`."""
    state = StopReplicaPartitionState(
        partition_index=index, leader_epoch=epoch, delete_partition=is_deleted
    )
    request = StopReplicaRequest(
        controller_id=1,
        controller_epoch=1,
        topic_states=[StopReplicaTopicState(topic_name="t", partition_states=[state])],
    )
    return BrokerRequest(2, request, 4)


def lines(*requests: BrokerRequest) -> list[str]:
    """Add requests, and return what is taken, as texts: kind and partitions with epochs."""
    waiting = WaitingRequests()
    for each in requests:
        waiting.add(each)
    taken = [waiting.take() for _ in range(len(waiting))]
    return [_line(each) for each in taken]


def _line(taken: BrokerRequest) -> str:
    request = taken.request
    assert isinstance(request, LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest)
    found = [
        f"{each.partition_index}@{each.leader_epoch}{_mark(each)}"
        for topic in request.topic_states
        for each in topic.partition_states
    ]
    return f"{type(request).__name__.removesuffix('Request')} {' '.join(found)}"


def _mark(state: object) -> str:
    is_new, is_deleted = getattr(state, "is_new", False), getattr(state, "delete_partition", False)
    return "+" if is_new else "-" if is_deleted else ""


def test_requests_of_different_kinds_keep_their_order() -> None:
    requests = leader_and_isr(1), update(1), stop_replica(2)

    assert lines(*requests) == ["LeaderAndIsr 1@0", "UpdateMetadata 1@0", "StopReplica 2@0"]


def test_request_alone_is_not_rebuilt() -> None:
    waiting, request = WaitingRequests(), update(1)
    waiting.add(request)

    assert waiting.take() is request


def test_metadata_are_merged_at_the_place_of_the_first() -> None:
    requests = update(1, 3), leader_and_isr(1), update(2), update(1, 4, live=3)

    assert lines(*requests) == ["UpdateMetadata 1@4 2@0", "LeaderAndIsr 1@0"]


def test_merged_metadata_have_the_last_brokers() -> None:
    waiting = WaitingRequests()
    waiting.add(update(1, live=1))
    waiting.add(update(1, live=3))

    assert len(cast("UpdateMetadataRequest", waiting.take().request).live_brokers) == 3


def test_metadata_of_a_topic_that_was_created_again_follow_those_of_the_former_one() -> None:
    waiting = WaitingRequests()
    waiting.add(update(1, topic_id=A))
    waiting.add(update(1, topic_id=B))
    waiting.add(update(1, 5, topic_id=A))
    topics = cast("UpdateMetadataRequest", waiting.take().request).topic_states

    assert [each.topic_id for each in topics] == [A, B]


def test_leaderships_are_merged_at_the_end() -> None:
    requests = leader_and_isr(1, 3), update(1), leader_and_isr(2), leader_and_isr(1, 4)

    assert lines(*requests) == ["UpdateMetadata 1@0", "LeaderAndIsr 1@4 2@0"]


def test_merged_leaderships_have_the_addresses_of_all_leaders() -> None:
    waiting = WaitingRequests()
    waiting.add(leader_and_isr(1))
    waiting.add(leader_and_isr(2))
    leaders = cast("LeaderAndIsrRequest", waiting.take().request).live_leaders

    assert [each.broker_id for each in leaders] == [1, 2]


def test_replica_stays_new_and_the_state_of_other_brokers_is_unchanged() -> None:
    later = leader_and_isr(1, 2)

    assert lines(leader_and_isr(1, 1, is_new=True), later) == ["LeaderAndIsr 1@2+"]
    assert _line(later) == "LeaderAndIsr 1@2"


def test_replica_stays_deleted() -> None:
    later = stop_replica(1, 2)

    assert lines(stop_replica(1, 1, is_deleted=True), later) == ["StopReplica 1@2-"]
    assert _line(later) == "StopReplica 1@2"


def test_requests_about_one_partition_keep_their_order() -> None:
    """A replica that is stopped, started and stopped again."""
    requests = stop_replica(1), leader_and_isr(1, 1), stop_replica(1, 1), leader_and_isr(1, 2)

    assert lines(*requests) == [
        "StopReplica 1@0",
        "LeaderAndIsr 1@1",
        "StopReplica 1@1",
        "LeaderAndIsr 1@2",
    ]


def test_requests_about_other_partitions_are_merged_across_each_other() -> None:
    requests = stop_replica(1), leader_and_isr(2), stop_replica(3), leader_and_isr(4)

    assert lines(*requests) == ["StopReplica 1@0 3@0", "LeaderAndIsr 2@0 4@0"]


def test_waiting_requests_of_a_broker_that_never_answers_stay_few() -> None:
    waiting = WaitingRequests()
    for epoch in range(100):
        for each in (leader_and_isr(1, epoch), update(1, epoch), stop_replica(2, epoch)):
            waiting.add(each)

    assert len(waiting) == 3
