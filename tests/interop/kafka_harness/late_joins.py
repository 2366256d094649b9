"""JoinGroup requests of a classic member that arrive again, in a group with consumer members.

The sequence is that of `tests/scripts/groups/consumer_late_join.txt`.
"""

from collections.abc import Collection
from typing import Final

from cordwood.coordination.groups.consumer.conversion.consumer_protocol import read_assignment
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.internal import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from cordwood.protocol.schema import Response
from tests.interop.kafka_harness.group_twins import GroupTwins

_TOPIC: Final = "groups-foo"
_TIMEOUT_MS: Final = 300_000
#: Before version 4 a new member gets its id with its generation.
_JOIN_VERSION: Final = 3
_SUBSCRIPTION_VERSION: Final = 1


class LateJoins:
    """The requests of a classic member and of two consumer members, with the results of the first.

    In the sequence a late join acknowledges a revocation that its client has not made, and one
    with the partitions of an older epoch takes none back.
    """

    def __init__(self, twins: GroupTwins) -> None:
        self._twins = twins
        self._member_id = ""
        #: The generation of each JoinGroup response.
        self.generations = list[int]()
        #: The partitions of each SyncGroup response.
        self.assignments = list[list[int]]()
        #: The error code of each heartbeat.
        self.codes = list[int]()

    def run(self) -> None:
        """Send all requests."""
        self._join()
        self._sync(1, assigned=range(6))
        self._beat("N", 0)
        self._join(range(6))
        self._join(range(3))
        self._sync(2)
        self._beat("N", 2)
        self._join()
        self._classic_beat(2)
        self._beat("M", 0)
        self._classic_beat(2)
        self._join()
        self._beat("M", 3)
        self._classic_beat(2)
        self._join(range(3))
        self._sync(3)
        self._join(range(6))
        self._describe()

    def _join(self, owned: Collection[int] = ()) -> None:
        partitions = [TopicPartition(topic=_TOPIC, partitions=[*owned])] if owned else []
        subscription = ConsumerProtocolSubscription(topics=[_TOPIC], owned_partitions=partitions)
        request = JoinGroupRequest(
            group_id=self._twins.group_id,
            session_timeout_ms=_TIMEOUT_MS,
            rebalance_timeout_ms=_TIMEOUT_MS,
            member_id=self._member_id,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequestProtocol(
                    name="range",
                    metadata=_SUBSCRIPTION_VERSION.to_bytes(2)
                    + joined(encode(subscription, _SUBSCRIPTION_VERSION)),
                )
            ],
        )
        self._twins.ask(request, _JOIN_VERSION, self._joined)

    def _joined(self, response: Response) -> None:
        assert isinstance(response, JoinGroupResponse)
        self._member_id = response.member_id
        self.generations.append(response.generation_id)

    def _sync(self, generation: int, *, assigned: Collection[int] = ()) -> None:
        partitions = [TopicPartition(topic=_TOPIC, partitions=[*assigned])]
        assignment = ConsumerProtocolAssignment(assigned_partitions=partitions)
        given = SyncGroupRequestAssignment(
            member_id=self._member_id, assignment=bytes(2) + joined(encode(assignment, 0))
        )
        request = SyncGroupRequest(
            group_id=self._twins.group_id,
            generation_id=generation,
            member_id=self._member_id,
            assignments=[given] if assigned else [],
        )
        self._twins.ask(request, _JOIN_VERSION, self._synced)

    def _synced(self, response: Response) -> None:
        assert isinstance(response, SyncGroupResponse)
        found = read_assignment(bytes(response.assignment)).assigned_partitions
        self.assignments.append([number for each in found for number in each.partitions])

    def _classic_beat(self, generation: int) -> None:
        request = HeartbeatRequest(
            group_id=self._twins.group_id, generation_id=generation, member_id=self._member_id
        )
        self._twins.ask(request, _JOIN_VERSION, self._beaten)

    def _beaten(self, response: Response) -> None:
        assert isinstance(response, HeartbeatResponse)
        self.codes.append(response.error_code)

    def _beat(self, member_id: str, epoch: int) -> None:
        is_first = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._twins.group_id,
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=_TIMEOUT_MS if is_first else -1,
            subscribed_topic_names=[_TOPIC] if is_first else None,
            topic_partitions=[] if is_first else None,
        )
        self._twins.ask(request, 1)

    def _describe(self) -> None:
        request = ConsumerGroupDescribeRequest(
            group_ids=[self._twins.group_id], include_authorized_operations=False
        )
        self._twins.ask(request, 1)
