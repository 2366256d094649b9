"""Classic groups with a log, timers and clients: what the runtime does, in a few lines."""

from dataclasses import dataclass, field

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    decode_record,
    encode_record,
)
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_groups import ClassicGroups
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Answer, EventCount, Outcome, Ticket, TimerKey
from cordwood.core.errors import KafkaError
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    GroupMetadataKey,
    GroupMetadataValue,
)
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from cordwood.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

GROUP = "g"
HOST = "/127.0.0.1"


class CountedRandom:
    """Random port whose tokens are numbers, so that each id of a test is known."""

    def __init__(self) -> None:
        self.count = 0

    def below(self, limit: int) -> int:
        return self.count % limit

    def fraction(self) -> float:
        return 0.0

    def token(self, size: int) -> bytes:
        self.count += 1
        return self.count.to_bytes(size, "big")


class ClassicHarness:
    """The classic groups of a shard, its log and its clock."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.random = CountedRandom()
        self.now_ms = 1_000_000
        self.records = list[CoordinatorRecord]()
        self.timers = dict[TimerKey, int]()
        self.answers = dict[Ticket, Answer]()
        self.rejections = list[KafkaError]()
        self.events = list[EventCount]()
        self._tickets = 0
        self.registry = GroupRegistry()
        self.groups = ClassicGroups(self.registry, self.settings, random=self.random)

    @property
    def group(self) -> ClassicGroup:
        """The group of the test."""
        group = self.registry.get(GROUP)
        assert isinstance(group, ClassicGroup)
        return group

    @property
    def last_value(self) -> GroupMetadataValue:
        """The value of the newest record."""
        value = self.records[-1].value
        assert isinstance(value, GroupMetadataValue)
        return value

    def ticket(self) -> Ticket:
        self._tickets += 1
        return Ticket(self._tickets)

    def run(self, outcome: Outcome) -> None:
        """Append, replay and answer as the runtime does."""
        if outcome.records and self.rejections:
            self._fail(outcome, self.rejections.pop())
            return
        for record in outcome.records:
            self.records.append(record)
            self.replay(record)
        for change in outcome.timers:
            self.timers.pop(change.key, None)
            if change.at_ms is not None:
                self.timers[change.key] = change.at_ms
        for answer in outcome.answers:
            self.answers[answer.ticket] = answer
        self.events += outcome.events

    def reject(self, error: KafkaError) -> None:
        """Reject the next append."""
        self.rejections.append(error)

    def _fail(self, outcome: Outcome, error: KafkaError) -> None:
        """Give the error, without the timers of the outcome."""
        follow = Outcome()
        if outcome.on_failure is not None:
            follow = outcome.on_failure(error, self.now_ms)
        given = {each.ticket for each in follow.answers}
        self.run(
            Outcome(
                answers=[
                    Answer(each.ticket, error)
                    for each in outcome.answers
                    if each.ticket not in given
                ]
            )
        )
        self.run(follow)

    def replay(self, record: CoordinatorRecord) -> None:
        key, value = record.key, record.value
        assert isinstance(key, GroupMetadataKey)
        assert value is None or isinstance(value, GroupMetadataValue)
        self.groups.replay(key.group, value)

    def advance(self, delay_ms: int) -> None:
        """Let time pass, with the timers that are due."""
        end_ms = self.now_ms + delay_ms
        while due := [(at, key) for key, at in self.timers.items() if at <= end_ms]:
            self.now_ms, key = min(due, key=lambda each: each[0])
            del self.timers[key]
            self.run(self.groups.on_timer(key, self.now_ms))
        self.now_ms = end_ms

    def reload(self) -> None:
        """Load the groups from the bytes of the log, as another broker does."""
        self.registry = GroupRegistry()
        self.groups = ClassicGroups(self.registry, self.settings, random=self.random)
        self.timers = {}
        for record in self.records:
            key, value = encode_record(record)
            stored = decode_record(GROUP_RECORDS, key, value=value)
            assert stored is not None
            self.replay(stored)
        self.run(self.groups.finish_load(self.now_ms))

    def response(self, ticket: Ticket) -> object:
        """Return the answer of a ticket, None while it waits."""
        answer = self.answers.get(ticket)
        return None if answer is None else answer.response

    def timer_in(self, *key: str) -> int | None:
        """Return the time until a timer, None if it is not set."""
        at_ms = self.timers.get(key)
        return None if at_ms is None else at_ms - self.now_ms


@dataclass(slots=True, kw_only=True)
class Client:
    """A consumer with its own requests; `join` and `sync` return a ticket, which may wait."""

    harness: ClassicHarness
    name: str
    version: int = 9
    instance_id: str | None = None
    session_timeout_ms: int = 10_000
    rebalance_timeout_ms: int = 60_000
    protocol_type: str = "consumer"
    protocols: dict[str, bytes] = field(default_factory=lambda: {"range": b"\0\0\0\0\0\0"})
    member_id: str = ""
    generation: int = -1
    leader_id: str = ""

    def join(self, group_id: str = GROUP) -> Ticket:
        """Send JoinGroup, and again with the id of the error MEMBER_ID_REQUIRED."""
        ticket = self.send_join(group_id)
        response = self.harness.response(ticket)
        if isinstance(response, JoinGroupResponse) and response.error_code == 79:
            self.member_id = response.member_id
            return self.send_join(group_id)
        return ticket

    def send_join(self, group_id: str = GROUP) -> Ticket:
        """Send JoinGroup once."""
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=self.protocol_type,
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=metadata)
                for name, metadata in self.protocols.items()
            ],
        )
        ticket, harness = self.harness.ticket(), self.harness
        context = ClientContext(self.version, self.name, HOST)
        harness.run(
            harness.groups.join_group(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        return ticket

    def joined(self, ticket: Ticket) -> JoinGroupResponse:
        """Return the response of a join that has ended, and remember it as a client does."""
        response = self.harness.response(ticket)
        assert isinstance(response, JoinGroupResponse), f"{self.name} has {response}"
        if not response.error_code:
            self.member_id = response.member_id
            self.generation = response.generation_id
            self.leader_id = response.leader
        return response

    def sync(self, assignments: dict[str, bytes] | None = None) -> Ticket:
        """Send SyncGroup."""
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (assignments or {}).items()
            ],
        )
        ticket, harness = self.harness.ticket(), self.harness
        context = ClientContext(3, self.name, HOST)
        harness.run(
            harness.groups.sync_group(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        return ticket

    def synced(self, ticket: Ticket) -> SyncGroupResponse:
        """Return the response of a sync that has ended."""
        response = self.harness.response(ticket)
        assert isinstance(response, SyncGroupResponse), f"{self.name} has {response}"
        return response

    def heartbeat(self) -> int:
        """Send Heartbeat, and return the error code."""
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        ticket, harness = self.harness.ticket(), self.harness
        context = ClientContext(4, self.name, HOST)
        harness.run(
            harness.groups.heartbeat(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        response = harness.response(ticket)
        assert isinstance(response, HeartbeatResponse)
        return response.error_code

    def leave(self) -> LeaveGroupResponse:
        """Send LeaveGroup for this member alone."""
        return leave(self.harness, MemberIdentity(member_id=self.member_id))


def leave(harness: ClassicHarness, *members: MemberIdentity) -> LeaveGroupResponse:
    """Send LeaveGroup for several members, and return the response."""
    request = LeaveGroupRequest(group_id=GROUP, members=list(members))
    ticket = harness.ticket()
    context = ClientContext(5, "admin", HOST)
    harness.run(harness.groups.leave_group(request, context, ticket=ticket, now_ms=harness.now_ms))
    response = harness.response(ticket)
    if isinstance(response, KafkaError):
        raise response
    assert isinstance(response, LeaveGroupResponse)
    return response


def subscription(*topics: str) -> bytes:
    """Return the metadata of a consumer, in version 0."""
    names = b"".join(len(each).to_bytes(2, "big") + each.encode() for each in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


def completing(harness: ClassicHarness, *clients: Client) -> None:
    """Let clients join one generation, which then waits for the assignments."""
    tickets = [client.join() for client in clients]
    # Joins during the first delay extend it once.
    harness.advance(harness.settings.initial_rebalance_delay_ms * min(len(clients), 2))
    for client, ticket in zip(clients, tickets, strict=True):
        assert client.joined(ticket).error_code == 0


def stable(harness: ClassicHarness, *clients: Client) -> None:
    """Let clients join one generation and get assignments, which are their names."""
    completing(harness, *clients)
    leader = next(each for each in clients if each.member_id == harness.group.leader_id)
    for client in clients:
        if client is not leader:
            client.sync()
    leader.sync({each.member_id: each.name.encode() for each in clients})
