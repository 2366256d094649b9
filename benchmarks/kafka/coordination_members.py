"""Members of many groups, each on a connection of its own, that send heartbeats.

    python -m benchmarks.kafka.coordination_members PORT KIND GROUPS SIZE INTERVAL_S TOPIC

KIND is `classic` or `consumer` (KIP-848). It prints a line once all groups are stable. Then each
member sends a heartbeat every INTERVAL_S; their times are spread, or the same with `--at-once`. A
closed standard input ends it, with the number of heartbeats, and of their errors. The members leave
their groups, which other members of either kind can then join.
"""

import argparse
import heapq
import select
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Final

from benchmarks.kafka.coordination_wire import Channel, await_coordinators, decoded, frame_of
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from cordwood.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

#: The last versions without flexible fields; from version 4 on a join needs two rounds.
JOIN: Final = 3
SYNC: Final = 2
HEARTBEAT: Final = 2
CONSUMER: Final = 1
#: The last version in which a member leaves alone.
LEAVE: Final = 2
SESSION_MS: Final = 45_000
REBALANCE_MS: Final = 60_000
#: The epoch of a heartbeat with which a member leaves.
_LEAVE_EPOCH: Final = -1
_STABLE_ROUNDS: Final = 2
_ROUND_S: Final = 0.5
#: The error code's place in a response: after correlation id, header tags, and throttle time.
_CODE_AT: Final = {"classic": 8, "consumer": 9}


@dataclass(slots=True)
class Member:
    """One member, with the frame of its heartbeat once it has joined."""

    group: str
    channel: Channel
    member_id: str = ""
    epoch: int = 0
    leads: bool = False
    owned: list[TopicPartitions] = field(default_factory=list)
    heartbeat: bytes = b""


def members_of(port: int, groups: int, size: int) -> list[Member]:
    """Return members that have not joined yet."""
    names = [f"group-{number:05}" for number in range(groups)]
    return [Member(name, Channel(port)) for name in names for _ in range(size)]


def subscription_of(topic: str) -> bytes:
    """Return the subscription of a classic member: version 0, one topic, no user data."""
    return b"\0\0\0\0\0\1" + len(topic).to_bytes(2) + topic.encode() + b"\xff\xff\xff\xff"


def join_frame(member: Member, topic: str) -> bytes:
    """Return the request of a classic member to join."""
    protocol = JoinGroupRequestProtocol(name="range", metadata=subscription_of(topic))
    request = JoinGroupRequest(
        group_id=member.group,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        member_id=member.member_id,
        protocol_type="consumer",
        protocols=[protocol],
    )
    return frame_of(request, JOIN)


def sync_frame(member: Member, member_ids: Iterable[str]) -> bytes:
    """Return the request of a classic member for its assignment, which its leader brings."""
    assignments = [
        SyncGroupRequestAssignment(member_id=each, assignment=b"\0\0\0\0\0\0\xff\xff\xff\xff")
        for each in member_ids
    ]
    request = SyncGroupRequest(
        group_id=member.group,
        generation_id=member.epoch,
        member_id=member.member_id,
        assignments=assignments,
    )
    return frame_of(request, SYNC)


def receive_join(member: Member) -> list[str]:
    """Read the response of a join; return the ids of all members if this one leads them."""
    joined = decoded(member.channel.receive(), JoinGroupResponse, JOIN)
    ensure(joined.error_code)
    member.member_id, member.epoch = joined.member_id, joined.generation_id
    member.leads = joined.leader == member.member_id
    return [each.member_id for each in joined.members]


def receive_sync(member: Member) -> None:
    """Read the response with the assignment."""
    ensure(decoded(member.channel.receive(), SyncGroupResponse, SYNC).error_code)


def join_classic(members: Sequence[Member], topic: str) -> None:
    """Let all members join, one generation for each group."""
    for member in members:
        member.channel.send(join_frame(member, topic))
    for member in members:
        known = receive_join(member)
        member.channel.send(sync_frame(member, known))
    for member in members:
        receive_sync(member)
        member.heartbeat = heartbeat_frame(member)


def heartbeat_frame(member: Member) -> bytes:
    """Return the heartbeat of a classic member."""
    request = HeartbeatRequest(
        group_id=member.group, generation_id=member.epoch, member_id=member.member_id
    )
    return frame_of(request, HEARTBEAT)


def join_consumer(members: Sequence[Member], topic: str) -> None:
    """Let all members join, and wait until no assignment changes any more."""
    for number, member in enumerate(members):
        member.member_id = f"member-{number:05}"
        request = ConsumerGroupHeartbeatRequest(
            group_id=member.group,
            member_id=member.member_id,
            member_epoch=0,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        )
        member.channel.send(frame_of(request, CONSUMER))
    stable = 0
    while stable < _STABLE_ROUNDS:
        # Not a generator: every response has to be read.
        changed = [_receive_consumer(each) for each in members]
        stable = 0 if any(changed) else stable + 1
        sleep(_ROUND_S)
        for member in members:
            member.channel.send(_consumer_frame(member, owned=member.owned))
    for member in members:
        _receive_consumer(member)
        member.heartbeat = _consumer_frame(member)


def _receive_consumer(member: Member) -> bool:
    """Read a response; return whether it changes the member."""
    found = decoded(member.channel.receive(), ConsumerGroupHeartbeatResponse, CONSUMER)
    ensure(found.error_code)
    changed = found.member_epoch != member.epoch or found.assignment is not None
    member.epoch = found.member_epoch
    if found.assignment is not None:
        member.owned = [
            TopicPartitions(topic_id=Uuid(bytes(each.topic_id)), partitions=each.partitions)
            for each in found.assignment.topic_partitions
        ]
    return changed


def leave_classic(members: Sequence[Member]) -> None:
    """Let all members leave."""
    for member in members:
        request = LeaveGroupRequest(group_id=member.group, member_id=member.member_id)
        member.channel.send(frame_of(request, LEAVE))
    for member in members:
        ensure(decoded(member.channel.receive(), LeaveGroupResponse, LEAVE).error_code)


def leave_consumer(members: Sequence[Member]) -> None:
    """Let all members leave."""
    for member in members:
        member.epoch = _LEAVE_EPOCH
        member.channel.send(_consumer_frame(member))
    for member in members:
        _receive_consumer(member)


def _consumer_frame(member: Member, owned: list[TopicPartitions] | None = None) -> bytes:
    request = ConsumerGroupHeartbeatRequest(
        group_id=member.group,
        member_id=member.member_id,
        member_epoch=member.epoch,
        topic_partitions=owned,
    )
    return frame_of(request, CONSUMER)


def ensure(code: int) -> None:
    """Raise unless a response has no error."""
    if code:
        raise RuntimeError(f"error code {code}")


class Heartbeats:
    """Heartbeats of all members until the standard input is closed."""

    def __init__(self, members: Sequence[Member], kind: str, interval_s: float) -> None:
        self.sent = 0
        self.received = 0
        self.errors = 0
        self._code_at = _CODE_AT[kind]
        self._interval_s = interval_s
        self._by_descriptor = {each.channel.socket.fileno(): each for each in members}
        self._poll = select.epoll()
        for descriptor in (*self._by_descriptor, sys.stdin.fileno()):
            self._poll.register(descriptor, select.EPOLLIN)

    def run(self, *, is_at_once: bool) -> None:
        start_s, count = monotonic(), len(self._by_descriptor)
        step_s = 0 if is_at_once else self._interval_s / count
        due = [(start_s + number * step_s, each) for number, each in enumerate(self._by_descriptor)]
        while self._receive(max(0.0, due[0][0] - monotonic())):
            now_s = monotonic()
            while due[0][0] <= now_s:
                at_s, descriptor = due[0]
                member = self._by_descriptor[descriptor]
                member.channel.send(member.heartbeat)
                self.sent += 1
                heapq.heapreplace(due, (at_s + self._interval_s, descriptor))

    def receive_rest(self) -> None:
        """Read the responses that have not arrived yet, so that members can send other requests."""
        self._poll.unregister(sys.stdin.fileno())
        while self.received < self.sent:
            self._receive(1)

    def _receive(self, within_s: float) -> bool:
        """Read the responses that arrive; return False once the standard input is closed."""
        for descriptor, _ in self._poll.poll(within_s):
            member = self._by_descriptor.get(descriptor)
            if member is None:
                return False
            frame = member.channel.receive()
            self.received += 1
            self.errors += frame[self._code_at : self._code_at + 2] != b"\0\0"
        return True


def _asked() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="benchmarks.kafka.coordination_members")
    asked.add_argument("port", type=int)
    asked.add_argument("kind", choices=[*_CODE_AT])
    asked.add_argument("groups", type=int)
    asked.add_argument("size", type=int)
    asked.add_argument("interval_s", type=float)
    asked.add_argument("topic")
    asked.add_argument("--at-once", action="store_true")
    return asked.parse_args()


def main() -> None:
    """Join, and send heartbeats until the standard input is closed."""
    asked = _asked()
    members = members_of(asked.port, asked.groups, asked.size)
    await_coordinators(members[0].channel, [*dict.fromkeys(each.group for each in members)])
    join = join_classic if asked.kind == "classic" else join_consumer
    join(members, asked.topic)
    print("joined", flush=True)
    heartbeats = Heartbeats(members, asked.kind, asked.interval_s)
    heartbeats.run(is_at_once=asked.at_once)
    heartbeats.receive_rest()
    leave = leave_classic if asked.kind == "classic" else leave_consumer
    leave(members)
    print(heartbeats.sent, heartbeats.errors, flush=True)


if __name__ == "__main__":
    main()
