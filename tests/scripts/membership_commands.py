"""Commands of the family `membership`: one member of a group, and what its coordinator answers.

The outcome of a command has a line for each effect, and then the state. Times are those of a clock
that only `advance` moves. A request stays open until `answer` or `fail`.
"""

from typing import Final

from cordwood.client.group.assignors.assignor_table import assignors_of
from cordwood.client.group.classic_membership import ClassicMembership
from cordwood.client.group.consumer_membership import ConsumerMembership
from cordwood.client.group.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from cordwood.client.group.heartbeat_fields import PartitionOfId, by_topic_id
from cordwood.client.group.membership import (
    Effect,
    LoadTopics,
    MembershipEnded,
    MembershipError,
    Rebalance,
    ResolveTopicIds,
    SendRequest,
    sorted_text,
)
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import ERRORS_BY_CODE
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from cordwood.protocol.schema import Request, Response
from cordwood.testing.seeded_random import SeededRandom
from tests.scripts.transcript import ScriptError, error_name

_NAMES: Final = {
    JoinGroupRequest: "JoinGroup",
    SyncGroupRequest: "SyncGroup",
    HeartbeatRequest: "Heartbeat",
    LeaveGroupRequest: "LeaveGroup",
    ConsumerGroupHeartbeatRequest: "ConsumerGroupHeartbeat",
}


class MembershipCommands:
    """A member `m` of group `g`, as user, coordinator and clock see it."""

    def __init__(self) -> None:
        self._now_ms = 0.0
        self._open: list[Request] = []
        self._membership: ClassicMembership | ConsumerMembership = ClassicMembership(
            MembershipConfig(group_id="g"), _backoff()
        )

    def classic(self, *assignors: str, instance: str = "") -> None:
        """Create the member of a classic group."""
        config = MembershipConfig(
            group_id="g", instance_id=instance or None, assignors=assignors_of(assignors)
        )
        self._membership = ClassicMembership(config, _backoff())

    def consumer(self, *, instance: str = "") -> None:
        """Create the member of a group with server-side assignment."""
        config = MembershipConfig(group_id="g", instance_id=instance or None)
        self._membership = ConsumerMembership(config, _backoff(), member_id="m")

    def subscribe(self, *topics: str, pattern: str = "") -> str:
        """Subscribe topics; with a pattern they are its matches."""
        subscription = TopicSubscription(frozenset(topics), pattern or None)
        self._membership.subscribe(subscription, self._now_ms)
        return self._outcome()

    def poll(self) -> str:
        """Poll, and return at once."""
        self._membership.on_poll(self._now_ms)
        self._membership.on_poll_end(self._now_ms)
        return self._outcome()

    def callbacks(self) -> str:
        """End the rebalance that waits for the user's callbacks, in a poll."""
        self._membership.on_poll(self._now_ms)
        self._membership.on_rebalanced(self._now_ms)
        self._membership.on_poll_end(self._now_ms)
        return self._outcome()

    def advance(self, ms: int) -> str:
        """Advance the clock, through each time at which the member wakes."""
        end_ms = self._now_ms + ms
        lines: list[str] = []
        while (wake_ms := self._membership.wake_at_ms) is not None and wake_ms <= end_ms:
            self._now_ms = max(self._now_ms, wake_ms)
            self._membership.on_time(self._now_ms)
            lines += self._effects()
        self._now_ms = end_ms
        return "\n".join([*lines, self._state()])

    def answer(self, *words: str, **fields: str) -> str:
        """Answer the oldest open request; the arguments depend on it."""
        request = self._open.pop(0)
        response = _response(request, words, fields)
        self._membership.on_response(request, response, now_ms=self._now_ms)
        return self._outcome()

    def fail(self, code: int, *, member: str = "") -> str:
        """Answer the oldest open request with an error code."""
        error = ERRORS_BY_CODE[code]("answered")
        self._membership.on_error(self._open.pop(0), error, now_ms=self._now_ms, member_id=member)
        return self._outcome()

    def topics(self, **counts: str) -> str:
        """Give the leader the partition counts, or change those in the metadata."""
        known = {name: int(count) for name, count in counts.items()}
        if getattr(self._membership.state, "value", "") == "assigning":
            self._membership.on_partition_counts(known, self._now_ms)
        else:
            self._membership.on_metadata(known, self._now_ms)
        return self._outcome()

    def names(self, *topics: str) -> str:
        """Give the names of topic ids."""
        self._membership.on_topic_names({_id(each): each for each in topics}, self._now_ms)
        return self._outcome()

    def leave(self) -> str:
        """Close the consumer."""
        self._membership.leave(self._now_ms, is_leaving_group=None)
        return self._outcome()

    # -- internals

    def _outcome(self) -> str:
        """Handle what is due, as the member's task does after each event."""
        self._membership.on_time(self._now_ms)
        return "\n".join([*self._effects(), self._state()])

    def _state(self) -> str:
        membership = self._membership
        waits = ", waits for a poll" if membership.needs_poll else ""
        return f"{membership.state.value}, owns {sorted_text(membership.owned)}{waits}"

    def _effects(self) -> list[str]:
        return [self._described(each) for each in self._membership.take_effects()]

    def _described(self, effect: Effect) -> str:
        match effect:
            case SendRequest(request):
                self._open.append(request)
                return f"-> {_NAMES[type(request)]} {_fields(request)}".rstrip()
            case Rebalance(kind, partitions):
                return f"{kind.value}: {sorted_text(partitions)}"
            case LoadTopics(topics):
                return f"load {' '.join(sorted(topics))}"
            case ResolveTopicIds(topic_ids):
                return f"resolve {len(topic_ids)} topic id"
            case MembershipError(error, is_final):
                return f"{'final ' if is_final else ''}error {error_name(error)}"
            case MembershipEnded():
                return "the group is left"


def _response(request: Request, words: tuple[str, ...], fields: dict[str, str]) -> Response:
    if isinstance(request, JoinGroupRequest):
        return _joined(request, fields)
    if isinstance(request, SyncGroupRequest):
        return SyncGroupResponse(error_code=0, assignment=encode_assignment(_partitions(words)))
    if isinstance(request, ConsumerGroupHeartbeatRequest):
        return _heartbeat(words, fields)
    if isinstance(request, HeartbeatRequest):
        return HeartbeatResponse(error_code=0)
    return LeaveGroupResponse(error_code=0)


def _backoff() -> ExponentialBackoff:
    return ExponentialBackoff(100, 1_000, random=SeededRandom(1))


def _id(topic: str) -> Uuid:
    return Uuid(topic.encode().ljust(16, b"."))


def _partitions(words: tuple[str, ...]) -> list[TopicPartition]:
    pairs = [each.rsplit("-", 1) for each in words if each != "none"]
    return partitions_of((topic, int(number)) for topic, number in pairs)


def _joined(request: JoinGroupRequest, fields: dict[str, str]) -> JoinGroupResponse:
    """Return a JoinGroup response; `members=a:t-0+t-1,b` makes `m` the leader of more members."""
    metadata = {"m": bytes(request.protocols[0].metadata)}
    for each in filter(None, fields.get("members", "").split(",")):
        member_id, _, owned = each.partition(":")
        held = _partitions(tuple(filter(None, owned.split("+"))))
        topics = decode_subscription(metadata["m"], member_id="m").topics
        generation = int(fields["generation"]) - 1
        metadata[member_id] = encode_subscription(topics, held, generation=generation)
    is_leader = fields.get("leader", "m") == "m"
    return JoinGroupResponse(
        error_code=0,
        generation_id=int(fields["generation"]),
        protocol_name=request.protocols[0].name,
        leader="m" if is_leader else "other",
        member_id="m",
        members=[
            JoinGroupResponseMember(member_id=member_id, metadata=each)
            for member_id, each in metadata.items()
        ]
        if is_leader
        else [],
    )


def _heartbeat(words: tuple[str, ...], fields: dict[str, str]) -> ConsumerGroupHeartbeatResponse:
    """Return a heartbeat's response; without words it has no assignment."""
    target = [PartitionOfId(_id(topic), number) for topic, number in _partitions(words)]
    return ConsumerGroupHeartbeatResponse(
        error_code=0,
        member_id="m",
        member_epoch=int(fields["epoch"]),
        heartbeat_interval_ms=5_000,
        assignment=Assignment(topic_partitions=by_topic_id(target)) if words else None,
    )


def _fields(request: Request) -> str:
    """Return the fields of a request that a script shows."""
    match request:
        case JoinGroupRequest():
            sent = decode_subscription(bytes(request.protocols[0].metadata), member_id="")
            owned = f" owned={sorted_text(sent.owned)}" if sent.owned else ""
            topics = "+".join(sorted(sent.topics))
            return f"member={request.member_id or 'none'} topics={topics}{owned}"
        case SyncGroupRequest():
            return " ".join(
                f"{each.member_id}=[{sorted_text(decode_assignment(bytes(each.assignment)))}]"
                for each in request.assignments
            )
        case HeartbeatRequest():
            return f"generation={request.generation_id}"
        case ConsumerGroupHeartbeatRequest():
            return _heartbeat_fields(request)
        case LeaveGroupRequest():
            return request.members[0].reason or ""
        case _:
            raise ScriptError(f"unexpected {type(request).__name__}")


def _heartbeat_fields(request: ConsumerGroupHeartbeatRequest) -> str:
    fields = {
        "names": request.subscribed_topic_names,
        "regex": request.subscribed_topic_regex,
        "timeout": None if request.rebalance_timeout_ms < 0 else request.rebalance_timeout_ms,
        "owned": _owned(request.topic_partitions),
    }
    shown = [f"{name}={value}" for name, value in fields.items() if value is not None]
    return " ".join([f"epoch={request.member_epoch}", *shown])


def _owned(topics: list[TopicPartitions] | None) -> str | None:
    if topics is None:
        return None
    pairs = [
        (bytes(each.topic_id).rstrip(b".").decode(), number)
        for each in topics
        for number in each.partitions
    ]
    return f"[{sorted_text(partitions_of(pairs))}]"
