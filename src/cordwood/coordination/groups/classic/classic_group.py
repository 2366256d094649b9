"""Classic group: members, generation and state (Kafka: `ClassicGroup`).

    Empty ──► PreparingRebalance ──► CompletingRebalance ──► Stable
      ▲         │     ▲      ▲              │                  │
      └─────────┘     │      └──────────────┘                  │
                      └────────────────────────────────────────┘

The record of a group is written with the assignments of a generation, when the last member has
gone, and when a static member gets a new id. Everything else is in no record: members of a
generation that has no assignments yet, requests that wait, ids that were given to members which
have not joined with them. After a loss of the coordinator the members join again.

A join waits in PreparingRebalance, a sync in CompletingRebalance. `classic_group_event` answers
requests that wait; the methods here forget them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group_member import (
    ClassicGroupMember,
    MemberProtocol,
    WaitingJoin,
)
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.classic.protocol_vote import select_protocol
from cordwood.coordination.groups.classic.subscribed_topics import (
    CONSUMER_PROTOCOL,
    subscribed_topics,
)
from cordwood.coordination.groups.group import (
    CommitPartitionValidator,
    GroupType,
    OffsetCommitter,
)
from cordwood.coordination.outcome import Ticket
from cordwood.core.errors import (
    CoordinatorNotAvailableError,
    FencedInstanceIdError,
    GroupIdNotFoundError,
    IllegalGenerationError,
    KafkaError,
    NonEmptyGroupError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from cordwood.protocol.messages.internal import GroupMetadataKey, GroupMetadataValue

GROUP_METADATA_TYPE: Final = 2
"""The record type of classic groups."""


@dataclass(slots=True, eq=False)
class ClassicGroup:
    """A classic group; without a protocol type and members it is a simple group."""

    group_id: str
    #: Time of the last change of the state, -1 if the record that was loaded has none.
    state_timestamp_ms: int = -1
    state: ClassicGroupState = ClassicGroupState.EMPTY
    previous_state: ClassicGroupState = ClassicGroupState.DEAD
    generation: int = 0
    protocol_type: str = ""
    #: The protocol of the generation, None while the group is empty.
    protocol_name: str | None = None
    leader_id: str | None = None
    #: In the order of their joins.
    members: dict[str, ClassicGroupMember] = field(default_factory=dict)
    #: Member ids by instance id.
    static_members: dict[str, str] = field(default_factory=dict)
    #: Ids that were returned with MEMBER_ID_REQUIRED, and have not joined.
    pending_joins: set[str] = field(default_factory=set)
    #: Members of the generation that have not sent SyncGroup, under the ids with which it began.
    pending_syncs: set[str] = field(default_factory=set)
    waiting_joins: dict[str, WaitingJoin] = field(default_factory=dict)
    waiting_syncs: dict[str, Ticket] = field(default_factory=dict)
    #: Whether the initial rebalance is to be extended for a member that has joined during it.
    has_new_member: bool = False
    #: During an initial rebalance: the present delay, and the time that it can be extended by.
    initial_delay_ms: int = 0
    initial_remaining_ms: int = 0
    is_initial_rebalance: bool = False
    #: A record that is appended with its effect already here: its replay changes nothing.
    unsaved: GroupMetadataValue | None = None
    #: None if the topics are not known: another protocol type, or unreadable metadata.
    topics: frozenset[str] | None = None
    support: Counter[str] = field(default_factory=Counter)

    @property
    def group_type(self) -> GroupType:
        return GroupType.CLASSIC

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicGroupState.EMPTY

    @property
    def is_simple(self) -> bool:
        """Whether the group only stores offsets: it never had a member."""
        return self.is_empty and not self.protocol_type and not self.pending_joins

    @property
    def uses_consumer_protocol(self) -> bool:
        """Whether the members are consumers, whose subscriptions can be read."""
        return self.protocol_type == CONSUMER_PROTOCOL

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance can begin; one that is going on is extended instead."""
        return ClassicGroupState.PREPARING_REBALANCE.can_follow(self.state)

    @property
    def has_all_joined(self) -> bool:
        """Whether the next generation waits for no other member."""
        return len(self.members) == len(self.waiting_joins) and not self.pending_joins

    @property
    def assignments(self) -> dict[str, bytes]:
        """The assignments of the generation by member id."""
        return {each.member_id: each.assignment for each in self.members.values()}

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of all members."""
        return max((each.rebalance_timeout_ms for each in self.members.values()), default=0)

    def transition(self, state: ClassicGroupState, now_ms: int) -> None:
        """Change the state."""
        assert state.can_follow(self.state), f"{self.group_id}: {self.state} to {state}"
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = now_ms

    def supports(self, protocol_type: str, protocols: Sequence[MemberProtocol]) -> bool:
        """Return whether a member with these protocols fits the others."""
        if self.is_empty:
            return bool(protocol_type) and bool(protocols)
        return protocol_type == self.protocol_type and any(
            self.support[each.name] == len(self.members) for each in protocols
        )

    def select_protocol(self) -> str:
        """Return the protocol that the members vote for."""
        return select_protocol(self.members.values(), self.support)

    def add(self, member: ClassicGroupMember) -> None:
        """Add a member; the first one becomes the leader."""
        assert member.instance_id not in self.static_members, f"{member.instance_id} is a member"
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self.support.update({each.name for each in member.protocols})
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending one; the leader's place goes to another member."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self.support.subtract({each.name for each in member.protocols})
            self.waiting_joins.pop(member_id, None)
            self.waiting_syncs.pop(member_id, None)
            if member.instance_id is not None:
                del self.static_members[member.instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)

    def set_protocols(
        self, member: ClassicGroupMember, protocols: tuple[MemberProtocol, ...]
    ) -> None:
        """Replace the protocols that a member supports."""
        self.support.subtract({each.name for each in member.protocols})
        member.protocols = protocols
        self.support.update({each.name for each in protocols})

    def replace_static(self, old_id: str, new_id: str) -> ClassicGroupMember:
        """Give a static member's place to its restarted client.

        A pending SyncGroup request stays pending under the old id, as in Kafka: the end of its time
        begins a rebalance, in which the restarted client takes part.
        """
        member = self.members[old_id].renamed(new_id)
        assert member.instance_id is not None, f"{old_id} is not static"
        self.members = {
            (new_id if each == old_id else each): (member if each == old_id else other)
            for each, other in self.members.items()
        }
        self.waiting_joins.pop(old_id, None)
        self.waiting_syncs.pop(old_id, None)
        self.static_members[member.instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        return member

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else elect another one; return whether there is one."""
        if self.leader_id is None:
            return False
        if self.leader_id not in self.waiting_joins:
            joined = next((each for each in self.members if each in self.waiting_joins), None)
            if joined is None:
                return False
            self.leader_id = joined
        return True

    def begin_generation(self, now_ms: int) -> None:
        """Begin the next generation, with the members of this moment."""
        self.generation += 1
        self.protocol_name = self.select_protocol()
        self.refresh_topics()
        self.transition(ClassicGroupState.COMPLETING_REBALANCE, now_ms)
        self.pending_syncs.clear()

    def refresh_topics(self) -> None:
        """Read the subscribed topics from the members' metadata."""
        if not self.uses_consumer_protocol:
            self.topics = None
        elif not self.members:
            self.topics = frozenset()
        elif self.protocol_name is None:
            self.topics = None
        else:
            self.topics = subscribed_topics(
                each.metadata(self.protocol_name) for each in self.members.values()
            )

    def validate_member(self, member_id: str, instance_id: str | None) -> None:
        """Check that a request comes from a member; an instance id also fences older clients."""
        if instance_id is not None:
            existing = self.static_members.get(instance_id)
            if existing is not None and existing != member_id:
                raise FencedInstanceIdError(
                    f"Instance {instance_id} has a newer member than {member_id}."
                )
            if existing is None:
                raise UnknownMemberIdError(f"Group {self.group_id} has no instance {instance_id}.")
        if member_id not in self.members:
            raise UnknownMemberIdError(f"Group {self.group_id} has no member {member_id}.")

    def validate_offset_commit(self, committer: OffsetCommitter) -> CommitPartitionValidator | None:
        self._check_alive(CoordinatorNotAvailableError)
        if committer.epoch < 0 and self.is_empty:
            return None
        if committer.epoch >= 0 or committer.member_id or committer.instance_id is not None:
            self.validate_member(committer.member_id, committer.instance_id)
            if committer.epoch != self.generation:
                raise IllegalGenerationError(
                    f"Group {self.group_id} has the generation {self.generation}."
                )
        elif not committer.is_transactional and not self.is_empty:
            raise UnknownMemberIdError(f"Group {self.group_id} has members.")
        is_completing = self.state is ClassicGroupState.COMPLETING_REBALANCE
        if is_completing and not committer.is_transactional:
            raise RebalanceInProgressError(f"Group {self.group_id} has no assignments yet.")
        return None

    def validate_offset_fetch(
        self,
        member_id: str | None,  # noqa: ARG002  only consumer groups check the member
        member_epoch: int,  # noqa: ARG002  only consumer groups check the member
    ) -> None:
        self._check_alive(GroupIdNotFoundError)

    def validate_offset_delete(self) -> None:
        self._check_alive(GroupIdNotFoundError)
        if not self.is_empty and not self.uses_consumer_protocol:
            raise NonEmptyGroupError(f"Group {self.group_id} has members.")

    def validate_delete(self) -> None:
        self._check_alive(GroupIdNotFoundError)
        if not self.is_empty:
            raise NonEmptyGroupError(f"Group {self.group_id} has members.")

    def is_subscribed(self, topic: str) -> bool:
        return self.uses_consumer_protocol if self.topics is None else topic in self.topics

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return when the retention of an offset began.

        A group that has become empty keeps its offsets from that time on, a simple one from the
        commit on, a stable group of consumers also, for topics that no member subscribes.
        """
        if not self.protocol_type:
            return commit_timestamp_ms
        if self.is_empty:
            return commit_timestamp_ms if self.state_timestamp_ms < 0 else self.state_timestamp_ms
        is_stable = self.state is ClassicGroupState.STABLE
        return commit_timestamp_ms if is_stable and self.topics is not None else None

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(GROUP_METADATA_TYPE, GroupMetadataKey(group=self.group_id), None)]

    def _check_alive(self, error: type[KafkaError]) -> None:
        if self.state is ClassicGroupState.DEAD:
            raise error(f"Group {self.group_id} is in dead state.")
