"""A group shard that has the member ids of a running Kafka, and its order of members."""

from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.protocol_vote import hash_map_order
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.core.errors import KafkaError
from cordwood.core.java_hash import java_hash
from cordwood.core.uuids import parse_uuid
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from cordwood.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from cordwood.protocol.schema import Response
from cordwood.testing.seeded_random import SeededRandom
from tests.interop.kafka_harness.group_requests import CALLS, Asked
from tests.interop.kafka_harness.ordered_kafka import (
    MAX_SIZE,
    SHORTEST_HEARTBEAT_MS,
    SHORTEST_SESSION_MS,
    OrderedKafka,
)
from tests.unit.coordination.shard_harness import LoggedRecord, ShardHarness

SETTINGS: Final = GroupSettings(
    min_session_timeout_ms=SHORTEST_SESSION_MS,
    consumer_min_session_timeout_ms=SHORTEST_SESSION_MS,
    consumer_min_heartbeat_interval_ms=SHORTEST_HEARTBEAT_MS,
    initial_rebalance_delay_ms=0,
    max_size=MAX_SIZE,
    consumer_max_size=MAX_SIZE,
    consumer_assignment_interval_ms=0,
)

#: Timers that are due in this time are waited for, the others not.
_SOON_MS: Final = 5_000
_CLIENT: Final = "cordwood-interop"
_MILLIS: Final = 1_700_000_000_000
_UUID_CHARACTERS: Final = 36
_FIBONACCI: Final = -7046029254386353131
_LONG: Final = (1 << 64) - 1

M = TypeVar("M")


class NextIds(SeededRandom):
    """Random source of the ids that Kafka has made."""

    def __init__(self) -> None:
        super().__init__(0)
        self._next = deque[bytes]()

    def add(self, member_id: str) -> None:
        """Let the next id be that of Kafka."""
        uuid = member_id[-_UUID_CHARACTERS:]
        is_classic = len(uuid) == _UUID_CHARACTERS
        token = bytes.fromhex(uuid.replace("-", "")) if is_classic else parse_uuid(member_id)
        self._next.append(token)

    def clear(self) -> None:
        """Forget the ids that were not needed."""
        self._next.clear()

    def token(self, size: int) -> bytes:
        return self._next.popleft() if self._next else super().token(size)


class OrderedShard(ShardHarness):
    """A shard with one group, whose clock stands still."""

    def __init__(self, kafka: OrderedKafka, group_id: str) -> None:
        super().__init__(kafka.topics, SETTINGS)
        self.ids = self._random = NextIds()
        self._group_id = group_id
        self._inserted = list[str]()
        self.now_ms = _MILLIS
        self.reload()

    @property
    def classic_group(self) -> ClassicGroup | None:
        """The group, if it is a classic one with members."""
        group = self.shard.groups.by_id.get(self._group_id)
        return group if isinstance(group, ClassicGroup) and not group.is_empty else None

    @property
    def is_empty_classic(self) -> bool:
        """Whether the group is a classic one without members."""
        group = self.shard.groups.by_id.get(self._group_id)
        return isinstance(group, ClassicGroup) and group.is_empty

    @property
    def consumer_group(self) -> ConsumerGroup | None:
        """The group, if it is a consumer group, also without members."""
        group = self.shard.groups.by_id.get(self._group_id)
        return group if isinstance(group, ConsumerGroup) else None

    @property
    def member_ids(self) -> list[str]:
        """The ids of all members, and those that were given to clients which have not joined."""
        group = self.shard.groups.by_id.get(self._group_id)
        members = [*group.members] if isinstance(group, (ClassicGroup, ConsumerGroup)) else []
        return members + (sorted(group.pending_joins) if isinstance(group, ClassicGroup) else [])

    def ask(self, asked: Asked) -> None:
        """Process a request, which passes through its bytes."""
        version = asked.version
        self._order_members()
        sent = decode(type(asked.request), joined(encode(asked.request, version)), version)
        call = getattr(self.shard, CALLS[type(asked.request)][1])
        client = self.context(version, _CLIENT)
        self.run(call(sent, client, ticket=asked.ticket, now_ms=self.now_ms))
        self.advance(0)
        self.ids.clear()

    @property
    def record_count(self) -> int:
        """The number of records of the group, without markers."""
        return sum(isinstance(each, LoggedRecord) for each in self.log)

    @property
    def soon_ms(self) -> int | None:
        """The time to the next timer that is due soon, None without one."""
        left_ms = min(self.timers.values(), default=self.now_ms + _SOON_MS) - self.now_ms
        return left_ms if left_ms < _SOON_MS else None

    def pass_time(self, passed_ms: int) -> None:
        """Let time pass, with the timers that are due."""
        self._order_members()
        self.advance(passed_ms)

    def describe(self) -> DescribeGroupsResponse:
        """Return the description of the group as one of the classic protocol."""
        request = DescribeGroupsRequest(groups=[self._group_id])
        ticket = self.ticket()
        self.run(
            self.shard.describe_groups(
                request, self.context(4, _CLIENT), ticket=ticket, now_ms=self.now_ms
            )
        )
        given = self.answers.pop(ticket)
        assert isinstance(given, DescribeGroupsResponse), repr(given)
        return decode(DescribeGroupsResponse, joined(encode(given, 4)), 4)

    def resolve_regexes(self) -> bool:
        """Resolve the regular expressions that are due; return whether there are any."""
        due = self.shard.take_due_resolutions()
        for each in due:
            resolved = each.resolve(self.now_ms)
            self.run(self.shard.on_regexes_resolved(each.group_id, resolved, now_ms=self.now_ms))
        return bool(due)

    def answer_of(self, asked: Asked) -> Response:
        """Return an answer, which passes through its bytes."""
        given = self.answers[asked.ticket]
        if isinstance(given, KafkaError):
            assert asked.answer is ConsumerGroupHeartbeatResponse, repr(given)
            given = ConsumerGroupHeartbeatResponse(
                error_code=given.code,
                error_message=str(given) or None,
                member_epoch=0,
                heartbeat_interval_ms=0,
            )
        return decode(asked.answer, joined(encode(given, asked.version)), asked.version)

    def _order_members(self) -> None:
        """Put the members of the group into the order that Kafka has them in."""
        group = self.shard.groups.by_id.get(self._group_id)
        if isinstance(group, ClassicGroup):
            self._order(group.members, hash_map_order)
        elif isinstance(group, ConsumerGroup):
            self._order(group._members, timeline_order)  # noqa: SLF001  the order has no meaning

    def _order(self, members: dict[str, M], order: Callable[[list[str]], list[str]]) -> None:
        self._inserted = [each for each in self._inserted if each in members]
        self._inserted += [each for each in members if each not in self._inserted]
        ordered = [(each, members[each]) for each in order(self._inserted)]
        members.clear()
        members.update(ordered)


def timeline_order(names: list[str]) -> list[str]:
    """Return the order in which Kafka iterates over a `TimelineHashMap` that got these keys."""
    slots = 2
    while len(names) * 4 > slots * 3:
        slots *= 2
    shift = 64 - (slots.bit_length() - 1)
    return sorted(names, key=lambda name: (java_hash(name) * _FIBONACCI & _LONG) >> shift)
