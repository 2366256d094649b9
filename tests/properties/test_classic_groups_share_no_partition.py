"""Members of a classic group share no partition in a generation, after any requests and failures.

Five clients join, sync, leave, restart and are silent, in any order; two of them have the same
instance id. Appends are rejected, and coordinators die. After each step:

- a partition of a generation was assigned to one member, or to its successor;
- requests wait only in the states that answer them, and none is answered twice;
- each wait has a timer that ends it, and each member a session;
- the fields of a group agree with its members;
- a group that is loaded from the log has the generation and the assignments of the last record.

At the end, with silent clients, time alone answers every request and empties the group.
"""

from collections import Counter
from dataclasses import replace
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Answer, Outcome, Ticket
from cordwood.core.errors import KafkaError, NotCoordinatorError
from cordwood.protocol.messages.internal import GroupMetadataValue
from cordwood.protocol.messages.join_group import JoinGroupResponse
from cordwood.protocol.messages.leave_group import MemberIdentity
from cordwood.protocol.messages.sync_group import SyncGroupResponse
from tests.unit.coordination.groups.classic.classic_samples import (
    GROUP,
    ClassicHarness,
    Client,
    leave,
)

PARTITIONS: Final = 4
#: Name, version, instance id and session timeout of each client.
CLIENTS: Final = (
    ("a", 9, None, 10_000),
    ("b", 3, None, 30_000),
    ("c", 5, None, 10_000),
    ("i", 9, "i", 10_000),
    ("j", 8, "i", 30_000),
)
#: The end of a member id, after the name of its client or instance.
UUID_LENGTH: Final = 37
names = st.sampled_from([each[0] for each in CLIENTS])
STATES: Final = ClassicGroupState


class CheckedHarness(ClassicHarness):
    """A harness in which no ticket is answered twice."""

    def run(self, outcome: Outcome) -> None:
        tickets = [each.ticket for each in outcome.answers]
        assert len(tickets) == len(set(tickets)), f"an outcome answers twice: {tickets}"
        again = self.answers.keys() & set(tickets)
        assert not again, f"{again} have an answer already"
        super().run(outcome)


class ClassicGroupMachine(RuleBasedStateMachine):
    """The clients of one group, and what they were answered."""

    def __init__(self) -> None:
        super().__init__()
        self.harness = CheckedHarness(GroupSettings(max_size=4))
        self.clients = {
            name: Client(
                harness=self.harness,
                name=name,
                version=version,
                instance_id=instance_id,
                session_timeout_ms=session_timeout_ms,
                protocols={"range": b"", "sticky": b""},
            )
            for name, version, instance_id, session_timeout_ms in CLIENTS
        }
        #: Tickets that wait, with the client and its member id.
        self.waiting = dict[Ticket, tuple[str, str]]()
        self.members_to_assign = dict[str, list[str]]()
        self.owners = dict[tuple[int, str], str]()

    # -- requests

    @rule(name=names)
    def join(self, name: str) -> None:
        self._send(name, self.clients[name].send_join())

    @rule(name=names, protocol=st.sampled_from(("range", "sticky", "zz")))
    def join_with_one_protocol(self, name: str, protocol: str) -> None:
        client = replace(self.clients[name], protocols={protocol: b"x"})
        self._send(name, client.send_join())

    @rule(name=names)
    def sync(self, name: str) -> None:
        client = self.clients[name]
        members = self.members_to_assign.get(name, [])
        shares = dict.fromkeys(members, b"")
        for partition in range(PARTITIONS if members else 0):
            member = members[partition % len(members)]
            shares[member] += str(partition).encode()
        self._send(name, client.sync(shares))

    @rule(some=st.sets(names, min_size=2), delay_ms=st.sampled_from((0, 6_000)))
    def join_together(self, some: set[str], delay_ms: int) -> None:
        for name in sorted(some):
            self.join(name)
            if all(waiting != name for waiting, _ in self.waiting.values()):
                self.join(name)  # with the id that it has got
        self.wait(delay_ms)

    @rule(some=st.sets(names, min_size=2))
    def sync_together(self, some: set[str]) -> None:
        for name in sorted(some):
            self.sync(name)

    @rule(name=names)
    def heartbeat(self, name: str) -> None:
        assert self.clients[name].heartbeat() in {0, 22, 25, 27, 82}

    @rule(name=names)
    def leave(self, name: str) -> None:
        client = self.clients[name]
        identity = MemberIdentity(member_id=client.member_id, group_instance_id=client.instance_id)
        try:
            leave(self.harness, identity)
        except KafkaError as error:
            assert error.code == 16  # noqa: PT017  an append that was rejected
        self._receive()

    @rule(name=names)
    def restart(self, name: str) -> None:
        self.clients[name] = replace(self.clients[name], member_id="", generation=-1)
        self.members_to_assign.pop(name, None)

    # -- the broker

    @rule(delay_ms=st.sampled_from((1, 2_000, 3_000, 9_999, 60_000)))
    def wait(self, delay_ms: int) -> None:
        self.harness.advance(delay_ms)
        self._receive()

    @rule()
    def reject_next_append(self) -> None:
        if not self.harness.rejections:
            self.harness.reject(NotCoordinatorError())

    @precondition(lambda self: self.harness.records)
    @rule()
    def load_elsewhere(self) -> None:
        """Let the coordinator die: requests that wait are lost."""
        self.waiting.clear()
        self.harness.reload()

    @rule()
    def resign(self) -> None:
        """Answer all requests that wait, and load the group again."""
        self.harness.run(self.harness.groups.close(NotCoordinatorError()))
        self._receive()
        assert not self.waiting
        self.harness.reload()

    # -- what the clients do with responses

    def _send(self, name: str, ticket: Ticket) -> None:
        self.waiting[ticket] = (name, self.clients[name].member_id)
        self._receive()

    def _receive(self) -> None:
        for ticket in tuple(self.waiting):
            answer = self.harness.answers.get(ticket)
            if answer is not None:
                name, member_id = self.waiting.pop(ticket)
                self._take(name, member_id, answer)

    def _take(self, name: str, member_id: str, answer: Answer) -> None:
        client, response = self.clients[name], answer.response
        if isinstance(response, JoinGroupResponse) and response.error_code in {0, 79}:
            client.member_id = response.member_id
            client.generation = response.generation_id
            self.members_to_assign[name] = [each.member_id for each in response.members]
        elif isinstance(response, SyncGroupResponse) and not response.error_code:
            self._check_owner(member_id, bytes(response.assignment).decode())
        elif isinstance(response, JoinGroupResponse) and response.error_code == 25:
            client.member_id = ""

    def _check_owner(self, member_id: str, partitions: str) -> None:
        group = self.harness.group
        member = group.members.get(member_id)
        lineage = member_id if member is None else member.instance_id or member_id
        for partition in partitions:
            owner = self.owners.setdefault((group.generation, partition), lineage)
            assert owner == lineage, f"{owner} and {lineage} own {partition}"

    # -- after each step

    @property
    def group(self) -> ClassicGroup | None:
        group = self.harness.registry.by_id.get(GROUP)
        return group if isinstance(group, ClassicGroup) else None

    @invariant()
    def requests_wait_in_their_states(self) -> None:
        group = self.group
        if group is None:
            assert not self.waiting
            return
        assert not group.waiting_joins or group.state is STATES.PREPARING_REBALANCE
        assert not group.waiting_syncs or group.state is STATES.COMPLETING_REBALANCE
        tickets = {each.ticket for each in group.waiting_joins.values()}
        tickets |= set(group.waiting_syncs.values())
        assert tickets == set(self.waiting)

    @invariant()
    def timers_end_every_wait(self) -> None:
        group = self.group
        if group is None:
            assert not self.harness.timers
            return
        timers = self.harness.timers
        is_preparing = group.state is STATES.PREPARING_REBALANCE
        assert (("classic-join", GROUP) in timers) is is_preparing
        if group.pending_syncs:
            assert ("classic-sync", GROUP) in timers
        for member_id in {*group.members, *group.pending_joins}:
            is_waiting = member_id in {**group.waiting_joins, **group.waiting_syncs}
            assert is_waiting or ("classic-session", GROUP, member_id) in timers

    @invariant()
    def fields_agree_with_the_members(self) -> None:
        group = self.group
        if group is None:
            return
        members = group.members
        support = Counter(each.name for m in members.values() for each in m.protocols)
        assert +group.support == support
        static = {each.instance_id: each.member_id for each in members.values() if each.is_static}
        assert group.static_members == static
        assert not group.pending_joins & members.keys()
        # A SyncGroup stays pending under the former id of a static member, as in Kafka.
        former = group.pending_syncs - members.keys()
        assert {each[:-UUID_LENGTH] for each in former} <= static.keys()
        assert group.is_empty <= (not members)
        assert (group.leader_id in members) if members else group.leader_id is None
        if group.state in {STATES.STABLE, STATES.COMPLETING_REBALANCE}:
            assert members
            assert all(each.supports(group.protocol_name or "") for each in members.values())

    @invariant()
    def loaded_group_is_that_of_the_last_record(self) -> None:
        if not self.harness.records:
            return
        other = CheckedHarness(self.harness.settings)
        other.records = list[CoordinatorRecord](self.harness.records)
        other.reload()
        value, loaded = other.last_value, other.group
        assert isinstance(value, GroupMetadataValue)
        assert loaded.generation == value.generation
        assert loaded.assignments == {
            each.member_id: bytes(each.assignment) for each in value.members
        }
        live = self.group
        if live is not None and live.state is STATES.STABLE:
            assert live.assignments == loaded.assignments
            assert live.leader_id == loaded.leader_id

    def teardown(self) -> None:
        """Let all clients be silent: time alone ends every wait."""
        self.harness.rejections.clear()
        self.harness.advance(900_000)
        self._receive()
        assert not self.waiting
        assert self.group is None or self.group.is_empty
        assert not self.harness.timers


TestClassicGroups = ClassicGroupMachine.TestCase


class ReturningMemberMachine(ClassicGroupMachine):
    """The same clients, which begin in a Stable group whose static member has yet to sync."""

    @initialize(returns=st.booleans())
    def form_the_group(self, returns: bool) -> None:  # noqa: FBT001  hypothesis gives it by name
        self.join_together({"a", "i"}, 6_000)
        self.sync("a")
        if returns:
            self.restart("i")
            self.join("i")


TestReturningMembers = ReturningMemberMachine.TestCase


def test_sync_of_a_member_that_returns_is_pending_under_its_former_id_until_a_rebalance() -> None:
    machine = ReturningMemberMachine()
    machine.form_the_group(returns=False)
    former = machine.clients["i"].member_id
    machine.restart("i")
    machine.join("i")

    group = machine.harness.group
    assert (group.state_name, group.pending_syncs) == ("Stable", {former})
    machine.fields_agree_with_the_members()

    for _ in range(7):
        machine.wait(9_999)
        machine.heartbeat("a")
        machine.heartbeat("i")
    assert (group.state_name, group.pending_syncs) == ("PreparingRebalance", set())
    assert machine.clients["i"].member_id in group.members
