"""Random requests of members with the consumer protocol, for one group in both brokers."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest
from cordwood.protocol.messages.describe_groups import DescribeGroupsRequest
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
from cordwood.protocol.schema import Response
from tests.interop.kafka_harness.group_twins import GroupTwins

LONG_MS: Final = 1_000_000
JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
NAMES: Final[Sequence[list[str]]] = (
    ["groups-foo"],
    ["groups-bar"],
    ["groups-foo", "groups-bar"],
    ["groups-foo", "groups-bar", "groups-qux"],
    ["groups-missing"],
    [],
    ["groups-foo", "groups-missing"],
    ["groups-foo", "groups-foo", "groups-bar"],
)
REGEXES: Final = ("groups-f.*", "groups-.*[ox]", "groups-(bar|qux)", "none-.*", "", ".*")
BAD_REGEXES: Final = ("(x", "fo(?=o)")
ASSIGNORS: Final = (None, None, "range", "uniform")

T = TypeVar("T")
Partitions = dict[Uuid, set[int]]


@dataclass(eq=False, slots=True)
class ConsumerClient:
    """A client, and the latest answers that it got."""

    member_id: str
    instance_id: str | None = None
    epoch: int = -1
    assigned: Partitions = field(default_factory=dict)
    #: The partitions that it reported last.
    owned: Partitions = field(default_factory=dict)

    @property
    def is_member(self) -> bool:
        return self.epoch > 0


class ConsumerScript:
    """The clients of one seed."""

    def __init__(
        self,
        twins: GroupTwins,
        source: random.Random,
        *,
        clients: Sequence[int] = (3, 5, 7),
        names: Sequence[list[str]] = NAMES,
        rebalance_ms: Sequence[int] = (LONG_MS, 2 * LONG_MS),
    ) -> None:
        self._names = names
        self._rebalance_ms = rebalance_ms
        self._twins = twins
        self._random = source
        self._topics = {each.name: each for each in twins.kafka.topics}
        self._has_regexes = source.random() < 0.4 and names is NAMES
        self._rack = source.choice([None, None, "r1"])
        instances = {"D": "i1", "E": "i2", "F": "i1", "G": "i3"}
        members = "ABCDEFG"[: source.choice(clients)]
        self.clients = [ConsumerClient(each, instances.get(each)) for each in members]

    def step(self) -> None:
        """Send one random request."""
        client = self._random.choice(self.clients)
        if self._random.random() < 0.12:
            self.admin()
        elif not client.is_member and self._random.random() < 0.8:
            self.join(client)
        else:
            calls: list[Callable[[ConsumerClient], None]] = [self.beat] * 10
            calls += [self.subscribe] * 2 + [self.commit] * 2
            calls += [self.leave, self.join, self.beat_wrongly, self.fetch]
            self._random.choice(calls)(client)

    def admin(self) -> None:
        """Send a request about the group, or one of another client."""
        calls = [self.describe] * 5 + [self.list_groups, self.describe_classic]
        self._random.choice([*calls, self.delete, self.leave_together, self.join_unnamed])()

    # -- heartbeats

    def join(self, client: ConsumerClient) -> None:
        regex = self._regex(client, bad=True)
        names: list[str] | None = self._random.choice(self._names)
        if regex and self._random.random() < 0.6:
            names = None
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._twins.group_id,
            member_id=client.member_id,
            member_epoch=JOIN_EPOCH,
            instance_id=self._rarely("", client.instance_id),
            rebalance_timeout_ms=self._rarely(-1, self._random.choice(self._rebalance_ms)),
            subscribed_topic_names=self._rarely(None, names),
            subscribed_topic_regex=regex,
            topic_partitions=self._rarely(None, []),
            server_assignor=self._rarely("zz", self._random.choice(ASSIGNORS)),
            rack_id=self._rarely("", self._rack),
        )
        self._beat(client, 1, request)

    def join_unnamed(self) -> None:
        """Let a client join to which the coordinator gives an id."""
        client = ConsumerClient("")
        self.clients.append(client)
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._twins.group_id,
            member_id=client.member_id,
            member_epoch=JOIN_EPOCH,
            rebalance_timeout_ms=LONG_MS,
            subscribed_topic_names=self._random.choice(self._names),
            topic_partitions=[],
        )
        self._beat(client, self._random.choice([0, 0, 0, 1]), request)
        if not client.member_id:
            self.clients.remove(client)

    def beat(self, client: ConsumerClient) -> None:
        """Send a heartbeat with the partitions that are assigned, or with others."""
        owned = self._owned(client)
        is_full = self._random.random() < 0.3
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._twins.group_id,
            member_id=client.member_id,
            member_epoch=client.epoch,
            instance_id=client.instance_id if self._random.random() < 0.8 else None,
            topic_partitions=owned,
            rebalance_timeout_ms=self._rebalance_ms[0] if is_full else -1,
        )
        self._beat(client, self._random.choice([0, 1, 1]), request)

    def keep_alive(self, client: ConsumerClient) -> None:
        """Send a heartbeat without a change."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._twins.group_id,
            member_id=client.member_id,
            member_epoch=client.epoch,
            instance_id=client.instance_id,
        )
        self._beat(client, 1, request)

    def subscribe(self, client: ConsumerClient) -> None:
        """Send a heartbeat with another subscription."""
        regex = self._regex(client, bad=False)
        names = None if regex and self._random.random() < 0.5 else self._random.choice(self._names)
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._twins.group_id,
            member_id=client.member_id,
            member_epoch=client.epoch,
            instance_id=client.instance_id,
            topic_partitions=self._owned(client),
            subscribed_topic_names=names,
            subscribed_topic_regex=regex,
            rebalance_timeout_ms=self._random.choice([-1, self._rebalance_ms[0]]),
            server_assignor=self._random.choice(ASSIGNORS),
        )
        self._beat(client, 1, request)

    def beat_wrongly(self, client: ConsumerClient) -> None:
        """Send a heartbeat with another epoch."""
        has_all = self._random.random() < 0.7
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._twins.group_id,
            member_id=client.member_id,
            member_epoch=client.epoch + self._random.choice([-1, -1, 1, -2, 50]),
            instance_id=self._random.choice([client.instance_id, None, "i9"]),
            topic_partitions=_listed(client.assigned) if has_all else None,
        )
        self._beat(client, 1, request)

    def leave(self, client: ConsumerClient) -> None:
        is_static = client.instance_id is not None
        epoch = LEAVE_EPOCH
        if self._rarely(not is_static, is_static) and self._random.random() < 0.7:
            epoch = STATIC_LEAVE_EPOCH
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._twins.group_id,
            member_id=client.member_id,
            member_epoch=epoch,
            instance_id=client.instance_id,
        )
        self._beat(client, 1, request)
        client.epoch = -1

    # -- other requests

    def leave_together(self) -> None:
        """Let an administrator remove members."""
        identities = [
            MemberIdentity(member_id=self._random.choice(self.clients).member_id),
            MemberIdentity(
                member_id="", group_instance_id=self._random.choice(["i1", "i2", "i3", "i9"])
            ),
        ]
        members = self._random.sample(identities, self._random.randint(1, 2))
        request = LeaveGroupRequest(group_id=self._twins.group_id, members=members)
        self._twins.ask(request, self._random.choice([3, 4, 5]))

    def commit(self, client: ConsumerClient) -> None:
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=each,
                committed_offset=self._random.randint(0, 100),
                committed_metadata="m",
            )
            for each in self._random.sample(range(3), 2)
        ]
        epochs = [client.epoch] * 4 + [client.epoch - 1, client.epoch + 1, -1]
        request = OffsetCommitRequest(
            group_id=self._twins.group_id,
            generation_id_or_member_epoch=self._random.choice(epochs),
            member_id=self._rarely("", client.member_id),
            topics=[OffsetCommitRequestTopic(name="groups-foo", partitions=partitions)],
        )
        self._twins.ask(request, self._random.choice([8, 9, 9, 9]))

    def fetch(self, client: ConsumerClient) -> None:
        has_member = self._random.random() < 0.6
        group = OffsetFetchRequestGroup(
            group_id=self._twins.group_id,
            member_id=client.member_id if has_member else None,
            member_epoch=client.epoch + self._random.choice([0, 0, 1]) if has_member else -1,
            topics=[OffsetFetchRequestTopic(name="groups-foo", partition_indexes=[0, 1, 2])],
        )
        self._twins.ask(OffsetFetchRequest(groups=[group]), 9)

    def describe(self) -> None:
        request = ConsumerGroupDescribeRequest(
            group_ids=[self._twins.group_id], include_authorized_operations=False
        )
        self._twins.ask(request, self._random.choice([0, 1, 1]))

    def describe_classic(self) -> None:
        request = DescribeGroupsRequest(groups=[self._twins.group_id])
        self._twins.ask(request, self._random.choice([5, 6]))

    def list_groups(self) -> None:
        version = self._random.randint(3, 5)
        states = self._random.choice([[], ["Stable", "empty"], ["reconciling"]])
        types = self._random.choice([[], ["classic"], ["Consumer"]])
        request = ListGroupsRequest(
            states_filter=states if version >= 4 else [],
            types_filter=types if version >= 5 else [],
        )
        self._twins.ask(request, version)

    def delete(self) -> None:
        self._twins.ask(DeleteGroupsRequest(group_names=[self._twins.group_id]), 2)

    # -- parts

    def _beat(
        self, client: ConsumerClient, version: int, request: ConsumerGroupHeartbeatRequest
    ) -> None:
        self._twins.ask(request, version, partial(self._beaten, client))

    def _beaten(self, client: ConsumerClient, response: Response) -> None:
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        if response.error_code:
            if self._random.random() < 0.5:
                client.epoch = -1
            return
        client.member_id = response.member_id or client.member_id
        client.epoch = response.member_epoch
        if response.assignment is not None:
            client.assigned = {
                each.topic_id: {*each.partitions} for each in response.assignment.topic_partitions
            }

    def _owned(self, client: ConsumerClient) -> list[TopicPartitions] | None:
        """Return partitions to report: none, all that are assigned, those before, or any."""
        choice = self._random.choice(["null", "all", "all", "all", "none", "before", "any"])
        if choice == "null":
            return None
        if choice == "any":
            return _listed(
                {
                    each.topic_id: {
                        number for number in range(each.partitions) if self._random.random() < 0.4
                    }
                    for name, each in self._topics.items()
                    if name.startswith("groups-")
                }
            )
        if choice != "before":
            client.owned = client.assigned if choice == "all" else {}
        return _listed(client.owned)

    def _regex(self, client: ConsumerClient, *, bad: bool) -> str | None:
        if not self._has_regexes or self._random.random() < 0.5:
            return None
        return self._rarely(
            self._random.choice(BAD_REGEXES) if bad else "", self._random.choice(REGEXES)
        )

    def _rarely(self, unusual: T, usual: T) -> T:
        return unusual if self._random.random() < 0.03 else usual


def _listed(partitions: Partitions) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id=topic_id, partitions=sorted(numbers))
        for topic_id, numbers in partitions.items()
        if numbers
    ]
