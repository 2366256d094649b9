"""Requests about groups that a running Kafka and a shard get, and their comparable answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from cordwood.coordination.outcome import Ticket
from cordwood.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from cordwood.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from cordwood.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from cordwood.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from cordwood.protocol.schema import Request, Response
from tests.interop.kafka_harness.comparable_groups import comparable_response
from tests.interop.kafka_harness.group_log import plain_assignment
from tests.interop.kafka_harness.wire import Connection

#: The answer of a request, and the method of the shard that gives it.
CALLS: Final[Mapping[type[Request], tuple[type[Response], str]]] = {
    ConsumerGroupDescribeRequest: (ConsumerGroupDescribeResponse, "consumer_group_describe"),
    ConsumerGroupHeartbeatRequest: (ConsumerGroupHeartbeatResponse, "consumer_group_heartbeat"),
    DeleteGroupsRequest: (DeleteGroupsResponse, "delete_groups"),
    DescribeGroupsRequest: (DescribeGroupsResponse, "describe_groups"),
    HeartbeatRequest: (HeartbeatResponse, "heartbeat"),
    JoinGroupRequest: (JoinGroupResponse, "join_group"),
    LeaveGroupRequest: (LeaveGroupResponse, "leave_group"),
    ListGroupsRequest: (ListGroupsResponse, "list_groups"),
    OffsetCommitRequest: (OffsetCommitResponse, "offset_commit"),
    OffsetFetchRequest: (OffsetFetchResponse, "offset_fetch"),
    SyncGroupRequest: (SyncGroupResponse, "sync_group"),
    TxnOffsetCommitRequest: (TxnOffsetCommitResponse, "txn_offset_commit"),
}

OnAnswer: TypeAlias = Callable[[Response], None]


@dataclass(eq=False, slots=True, kw_only=True)
class Asked:
    """A request that both have, until it is answered."""

    request: Request
    version: int
    lane: Connection
    ticket: Ticket
    on_answer: OnAnswer
    #: The id of the member, also of one that has none in its request.
    member_id: str = ""
    kafka: Response | None = None

    @property
    def answer(self) -> type[Response]:
        """The kind of the answer."""
        return CALLS[type(self.request)][0]

    def repeats(self, other: "Asked") -> bool:
        """Return whether another request has the same kind and member."""
        return (type(self.request), self.member_id) == (type(other.request), other.member_id)


def comparable_answer(response: Response, group_id: str) -> Response:
    """Return an answer with its lists sorted, and without the groups of others."""
    match response:
        case JoinGroupResponse():
            response.members.sort(key=lambda each: each.member_id)
        case SyncGroupResponse():
            response.assignment = plain_assignment(response.assignment)
        case DescribeGroupsResponse():
            _sort_classic_members(response)
        case ConsumerGroupDescribeResponse():
            _sort_consumer_members(response)
        case ConsumerGroupHeartbeatResponse(assignment=assignment) if assignment is not None:
            assignment.topic_partitions.sort(key=lambda each: each.topic_id)
    return comparable_response(response, {group_id})


def _sort_classic_members(response: DescribeGroupsResponse) -> None:
    for group in response.groups:
        group.members.sort(key=lambda each: each.member_id)
        for each in group.members:
            each.member_assignment = plain_assignment(each.member_assignment)


def _sort_consumer_members(response: ConsumerGroupDescribeResponse) -> None:
    for group in response.groups:
        group.members.sort(key=lambda each: each.member_id)
        for each in group.members:
            each.subscribed_topic_names.sort()
            _sort_partitions(each.assignment)
            _sort_partitions(each.target_assignment)


def _sort_partitions(assignment: Assignment) -> None:
    assignment.topic_partitions.sort(key=lambda each: each.topic_id)
    for topic in assignment.topic_partitions:
        topic.partitions.sort()


def first_difference(kafka: object, ours: object) -> str:
    """Return the parts of two texts from their first difference on."""
    texts = str(kafka), str(ours)
    shorter = min(map(len, texts))
    at = next((at for at in range(shorter) if texts[0][at] != texts[1][at]), shorter)
    begin = max(0, at - 40)
    return f"kafka: ...{texts[0][begin : at + 160]}\nours:  ...{texts[1][begin : at + 160]}"
