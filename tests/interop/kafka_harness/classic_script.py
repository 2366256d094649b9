"""Random requests of members with the classic protocol, for one group in both brokers."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeVar

from cordwood.coordination.groups.consumer.conversion.consumer_protocol import read_assignment
from cordwood.core.errors import BytesError
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest
from cordwood.protocol.messages.describe_groups import DescribeGroupsRequest
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
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
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from cordwood.protocol.messages.list_groups import ListGroupsRequest
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from cordwood.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from cordwood.protocol.schema import Response
from tests.interop.kafka_harness.group_twins import GroupTwins
from tests.interop.kafka_harness.ordered_kafka import COUNTS, SHORTEST_SESSION_MS

TIMEOUT_MS: Final = 300_000
SHORTEST_STATIC: Final = {"join": 5, "sync": 3, "heartbeat": 3, "leave": 3, "commit": 7}
UNKNOWN_MEMBER_ID: Final = 25
ILLEGAL_GENERATION: Final = 22
REBALANCE_IN_PROGRESS: Final = 27
MEMBER_ID_REQUIRED: Final = 79
FENCED_INSTANCE_ID: Final = 82
PROTOCOLS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")


T = TypeVar("T")


@dataclass(eq=False, slots=True)
class ClassicClient:
    """A client, and the latest answers that it got."""

    instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    protocol: str | None = None
    #: All members, which only the leader gets.
    members: list[str] = field(default_factory=list)
    owned: dict[str, list[int]] = field(default_factory=dict)
    needs_join: bool = True
    needs_sync: bool = False
    #: The request that waits for its answer.
    waits_for: str = ""
    #: The answered JoinGroup requests, with their versions.
    joins: list[tuple[JoinGroupRequest, int]] = field(default_factory=list)


class Timeouts(NamedTuple):
    """A short timeout of sessions, and those of rebalances.

    A member with a short session has joined before: a new one has another timeout, of five minutes.
    """

    session_ms: int
    rebalance_ms: Sequence[int]


class ClassicScript:
    """The clients of one seed."""

    def __init__(
        self,
        twins: GroupTwins,
        source: random.Random,
        *,
        clients: Sequence[int] = (2, 3, 4, 5, 6, 8),
        protocol_type: str = "consumer",
        timeouts: Timeouts | None = None,
        late_joins: float = 0.0,
    ) -> None:
        self._timeouts = timeouts or Timeouts(TIMEOUT_MS, (TIMEOUT_MS, 2 * TIMEOUT_MS))
        self._twins = twins
        self._random = source
        self._protocol_type = protocol_type
        self._late_joins = late_joins
        # Two clients with one instance id fence each other.
        instances = ("i1", "i2", "i1")[: source.choice([0, 1, 2, 2, 3])]
        self.clients = [
            ClassicClient(instances[number] if number < len(instances) else None)
            for number in range(source.choice(clients))
        ]
        source.shuffle(self.clients)

    def step(self) -> None:
        """Send one random request."""
        client = self._random.choice(self.clients)
        if self._late_joins and client.joins and self._random.random() < self._late_joins:
            self.join_late(client)
        elif client.waits_for:
            if self._random.random() < 0.1:
                {"join": self.join, "sync": self.sync}[client.waits_for](client)
            else:
                calls = [self.heartbeat] * 6 + [self.commit] * 3 + [self.leave]
                self._random.choice(calls)(client)
        elif self._random.random() < 0.15:
            self.admin()
        elif client.needs_join and self._random.random() < 0.9:
            self.join(client)
        elif client.needs_sync and self._random.random() < 0.8:
            self.sync(client)
        else:
            calls = [self.heartbeat] * 8 + [self.join, self.sync, self.leave] + [self.commit] * 3
            self._random.choice(calls)(client)

    def admin(self) -> None:
        """Send a request about the group, or one of another client."""
        calls: list[Callable[[], None]] = [self.describe] * 4 + [
            self.list_groups,
            self.fetch,
            self.fetch,
        ]
        self._random.choice([*calls, self.delete, self.leave_together])()

    # -- requests of members

    def join(self, client: ClassicClient) -> None:
        version = self._version("join", 9, client)
        request = JoinGroupRequest(
            group_id=self._twins.group_id,
            session_timeout_ms=self._rarely(SHORTEST_SESSION_MS - 1, self._session_ms(client)),
            rebalance_timeout_ms=self._random.choice(self._timeouts.rebalance_ms),
            member_id=self._rarely("unknown", client.member_id),
            group_instance_id=self._instance_id(client, "join", version),
            protocol_type=self._rarely("connect", self._protocol_type),
            protocols=self._protocols(client),
        )
        client.waits_for = "join"
        self._twins.ask(request, version, partial(self._joined, client, request, version))

    def join_late(self, client: ClassicClient) -> None:
        """Let one of the last joins arrive again, whose answer the client does not get."""
        request, version = self._random.choice(client.joins[-3:])
        self._twins.ask(request, version)

    def sync(self, client: ClassicClient) -> None:
        version = self._version("sync", 5, client)
        members = client.members or self._rarely(["unknown"], [])
        assignments = self._assignments(members)
        request = SyncGroupRequest(
            group_id=self._twins.group_id,
            generation_id=self._generation(client),
            member_id=self._rarely("unknown", client.member_id),
            group_instance_id=self._instance_id(client, "sync", version),
            protocol_type=self._rarely("connect", self._protocol_type),
            protocol_name=self._rarely("other", client.protocol or "range"),
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=assignment)
                for each, assignment in assignments.items()
            ],
        )
        client.waits_for = "sync"
        self._twins.ask(request, version, partial(self._synced, client))

    def heartbeat(self, client: ClassicClient) -> None:
        version = self._version("heartbeat", 4, client)
        request = HeartbeatRequest(
            group_id=self._twins.group_id,
            generation_id=self._generation(client),
            member_id=self._rarely("unknown", client.member_id),
            group_instance_id=self._instance_id(client, "heartbeat", version),
        )
        self._twins.ask(request, version, partial(self._beaten, client))

    def leave(self, client: ClassicClient) -> None:
        version = self._version("leave", 5, client)
        if version < SHORTEST_STATIC["leave"]:
            request = LeaveGroupRequest(group_id=self._twins.group_id, member_id=client.member_id)
        else:
            request = LeaveGroupRequest(
                group_id=self._twins.group_id, members=[self._identity(client)]
            )
        self._twins.ask(request, version)

    def leave_together(self) -> None:
        clients = self._random.choices(self.clients, k=self._random.randint(1, 3))
        request = LeaveGroupRequest(
            group_id=self._twins.group_id, members=[self._identity(each) for each in clients]
        )
        self._twins.ask(request, self._random.choice([3, 4, 5]))

    def commit(self, client: ClassicClient) -> None:
        version = self._version("commit", 9, client)
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=each,
                committed_offset=self._random.randint(0, 100),
                committed_metadata="m",
            )
            for each in self._random.sample(range(3), 2)
        ]
        request = OffsetCommitRequest(
            group_id=self._twins.group_id,
            generation_id_or_member_epoch=self._rarely(-1, self._generation(client)),
            member_id=self._rarely("", client.member_id),
            group_instance_id=self._instance_id(client, "commit", version),
            topics=[OffsetCommitRequestTopic(name="groups-bar", partitions=partitions)],
        )
        self._twins.ask(request, version)

    # -- requests about the group

    def describe(self) -> None:
        request = DescribeGroupsRequest(groups=[self._twins.group_id])
        self._twins.ask(request, self._random.randint(0, 6))

    def list_groups(self) -> None:
        version = self._random.randint(3, 5)
        request = ListGroupsRequest(
            states_filter=self._random.choice([[], ["Stable", "empty"]]) if version > 3 else [],
            types_filter=self._random.choice([[], ["classic"], ["Consumer"]])
            if version > 4
            else [],
        )
        self._twins.ask(request, version)

    def fetch(self) -> None:
        client = self._random.choice(self.clients)
        has_member = self._random.random() < 0.5
        group = OffsetFetchRequestGroup(
            group_id=self._twins.group_id,
            member_id=client.member_id if has_member else None,
            member_epoch=self._generation(client) if has_member else -1,
            topics=[OffsetFetchRequestTopic(name="groups-bar", partition_indexes=[0, 1, 2])],
        )
        self._twins.ask(OffsetFetchRequest(groups=[group]), self._random.choice([8, 9]))

    def delete(self) -> None:
        self._twins.ask(DeleteGroupsRequest(group_names=[self._twins.group_id]), 2)

    # -- answers

    def _joined(
        self, client: ClassicClient, request: JoinGroupRequest, version: int, response: Response
    ) -> None:
        assert isinstance(response, JoinGroupResponse)
        client.waits_for = ""
        client.joins.append((request, version))
        if response.error_code == 0:
            client.member_id = response.member_id
            client.generation = response.generation_id
            client.protocol = response.protocol_name
            client.members = [each.member_id for each in response.members]
            client.needs_join, client.needs_sync = False, True
        elif response.error_code == MEMBER_ID_REQUIRED:
            client.member_id = response.member_id
        else:
            self._failed(client, response.error_code)

    def _synced(self, client: ClassicClient, response: Response) -> None:
        assert isinstance(response, SyncGroupResponse)
        client.waits_for = ""
        if response.error_code:
            self._failed(client, response.error_code)
            return
        client.needs_sync = False
        try:
            found = read_assignment(bytes(response.assignment))
        except BytesError:
            return
        client.owned = {each.topic: each.partitions for each in found.assigned_partitions}

    def _beaten(self, client: ClassicClient, response: Response) -> None:
        self._failed(client, getattr(response, "error_code", 0))

    def _failed(self, client: ClassicClient, code: int) -> None:
        if code in {UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID}:
            client.member_id = ""
        if code in {
            UNKNOWN_MEMBER_ID,
            FENCED_INSTANCE_ID,
            ILLEGAL_GENERATION,
            REBALANCE_IN_PROGRESS,
        }:
            client.needs_join = True

    # -- parts of requests

    def _rarely(self, unusual: T, usual: T) -> T:
        return unusual if self._random.random() < 0.03 else usual

    def _session_ms(self, client: ClassicClient) -> int:
        short_ms = self._timeouts.session_ms
        if short_ms == TIMEOUT_MS or not client.member_id or self._random.random() < 0.7:
            return TIMEOUT_MS
        return short_ms

    def _version(self, name: str, newest: int, client: ClassicClient) -> int:
        first = {"commit": 2}.get(name, 0)
        if client.instance_id is not None:
            first = SHORTEST_STATIC[name]
        return self._random.randint(first, newest)

    def _instance_id(self, client: ClassicClient, name: str, version: int) -> str | None:
        if version < SHORTEST_STATIC[name]:
            return None
        return self._rarely(None if client.instance_id else "i9", client.instance_id)

    def _generation(self, client: ClassicClient) -> int:
        return client.generation + self._rarely(self._random.choice([-1, 1]), 0)

    def _identity(self, client: ClassicClient) -> MemberIdentity:
        is_by_instance = client.instance_id is not None and self._random.random() < 0.5
        return MemberIdentity(
            member_id="" if is_by_instance else client.member_id,
            group_instance_id=client.instance_id,
        )

    def _protocols(self, client: ClassicClient) -> list[JoinGroupRequestProtocol]:
        others = self._random.sample(PROTOCOLS[1:], self._random.randint(0, 2))
        names = self._rarely(["other"], ["range", *others])
        if self._random.random() < 0.3:
            self._random.shuffle(names)
        return [
            JoinGroupRequestProtocol(name=each, metadata=self._subscription(client))
            for each in names
        ]

    def _subscription(self, client: ClassicClient) -> bytes:
        version = self._random.choice([0, 1, 2, 3])
        topics = self._random.choice([["groups-foo"], ["groups-foo", "groups-bar"], ["groups-bar"]])
        owned = client.owned if self._random.random() < 0.7 else {}
        message = ConsumerProtocolSubscription(
            topics=[*topics],
            owned_partitions=[
                TopicPartition(topic=name, partitions=[*numbers]) for name, numbers in owned.items()
            ],
        )
        return version.to_bytes(2) + joined(encode(message, version))

    def _assignments(self, members: list[str]) -> dict[str, bytes]:
        """Return the partitions of members, some of which get none; no partition has two owners.

        Kafka fails to convert a group in which members share a partition.
        """
        version = self._random.choice([0, 1])
        given: dict[str, dict[str, list[int]]] = {each: {} for each in members}
        for name, count in COUNTS.items() if members else ():
            for number in range(count):
                owner = given[self._random.choice(members)]
                owner.setdefault(name, []).append(number)
        return {
            member_id: b"" if self._random.random() < 0.1 else _assignment(version, partitions)
            for member_id, partitions in given.items()
        }


def _assignment(version: int, partitions: dict[str, list[int]]) -> bytes:
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=name, partitions=numbers) for name, numbers in partitions.items()
        ]
    )
    return version.to_bytes(2) + joined(encode(message, version))
