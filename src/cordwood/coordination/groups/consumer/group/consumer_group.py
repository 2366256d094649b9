"""Consumer group, as its records rebuild it (Kafka: `ConsumerGroup`, `ModernGroup`).

group epoch         rises when members or their topics change
assignment epoch    the group epoch that the target assignment was computed for
member epoch        the assignment epoch that a member has reached

Empty        no members          Reconciling  a member has not reached the assignment epoch
Assigning    group epoch >       Stable       all members have
             assignment epoch
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.protocol_vote import hash_map_order
from cordwood.coordination.groups.consumer.assignors.group_spec import (
    NO_PARTITIONS,
    TopicPartitionSets,
)
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.consumer.group.held_partitions import HeldPartitions
from cordwood.coordination.groups.consumer.group.offset_validation import (
    validate_committer,
    validate_fetcher,
)
from cordwood.coordination.groups.consumer.group.subscriptions import (
    ResolvedRegularExpression,
    Subscriptions,
)
from cordwood.coordination.groups.group import (
    CommitPartitionValidator,
    GroupType,
    OffsetCommitter,
)
from cordwood.core.errors import NonEmptyGroupError, UnknownMemberIdError

PROTOCOL_TYPE: Final = "consumer"


class ConsumerGroupState(StrEnum):
    """States of a group, with their names in responses."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ConsumerGroup:
    """One group. Methods that change it are called by the replay of records alone."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        #: A new group has the epochs 1 and 1 without a record: no member has topics yet.
        self.group_epoch = 1
        self.metadata_hash = 0
        self.assignment_epoch = 1
        self.assignment_timestamp_ms = 0
        self.target = dict[str, TopicPartitionSets]()
        self.subscriptions = Subscriptions()
        self.held = HeldPartitions()
        #: Whether the log has a record of Kafka 4.0 with the group's topics, which is deleted.
        self.has_subscription_metadata = False
        #: The group epoch that the last comparison with the metadata hash has led to. No record
        #: has it: a loaded group compares its topics at the next heartbeat.
        self.checked_epoch: int | None = None
        self._members = dict[str, ConsumerGroupMember]()
        #: Names that members subscribe, with the number of these members, which share them.
        self._names = dict[tuple[str, ...], tuple[tuple[str, ...], int]]()
        self._static_member_ids = dict[str, str]()
        self._assignors = Counter[str]()
        self._classic_protocols = Counter[str]()
        self._classic_members = 0

    @property
    def group_type(self) -> GroupType:
        return GroupType.CONSUMER

    @property
    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    @property
    def state(self) -> ConsumerGroupState:
        """The state of the group."""
        if not self._members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(each.is_reconciled_to(self.assignment_epoch) for each in self._members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return not self._members

    @property
    def members(self) -> Mapping[str, ConsumerGroupMember]:
        """The members by id."""
        return MappingProxyType(self._members)

    @property
    def classic_members(self) -> int:
        """The number of members of the classic protocol."""
        return self._classic_members

    @property
    def has_stale_topics(self) -> bool:
        """Whether subscribed topics may have changed since the metadata hash was computed."""
        return self.checked_epoch is None or self.group_epoch < self.checked_epoch

    # ---------------------------------------------------------------------------- lookups
    def member(self, member_id: str) -> ConsumerGroupMember:
        """Return a member; raise UNKNOWN_MEMBER_ID if the group has none of this id."""
        found = self._members.get(member_id)
        if found is None:
            raise UnknownMemberIdError(
                f"Member {member_id} is not a member of group {self.group_id}."
            )
        return found

    def static_member(self, instance_id: str | None) -> ConsumerGroupMember | None:
        """Return the member of an instance id, under any member id."""
        member_id = self._static_member_ids.get(instance_id or "")
        return None if member_id is None else self._members.get(member_id)

    def target_of(self, member: ConsumerGroupMember) -> TopicPartitionSets:
        """Return a member's target; a static member has that of its instance id."""
        if member.instance_id is None:
            return self.target.get(member.member_id, NO_PARTITIONS)
        previous = self._static_member_ids.get(member.instance_id)
        return NO_PARTITIONS if previous is None else self.target.get(previous, NO_PARTITIONS)

    def preferred_assignor(
        self, removed: Iterable[ConsumerGroupMember] = (), added: Iterable[ConsumerGroupMember] = ()
    ) -> str | None:
        """Return the assignor with most votes after a change, None without votes.

        Among those with the same number Kafka takes the first one of its hash map, in which a name
        that has had no vote before the last one comes first.
        """
        votes = self._assignors.copy()
        votes.subtract(each.server_assignor for each in removed if each.server_assignor)
        known = +votes
        votes.update(each.server_assignor for each in added if each.server_assignor)
        order = sorted(hash_map_order(+votes), key=known.__contains__)
        return max(order, key=votes.__getitem__, default=None)

    def supports_classic_protocols(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Return whether all classic members support one of a member's protocols."""
        if protocol_type != PROTOCOL_TYPE:
            return False
        if self.is_empty:
            return any(True for _ in names)
        return any(self._classic_protocols[each] == self._classic_members for each in names)

    def is_classic_without(self, leaving: Iterable[ConsumerGroupMember]) -> bool:
        """Return whether all members but those that leave use the classic protocol."""
        gone = list(leaving)
        classic = self._classic_members - sum(each.classic is not None for each in gone)
        return classic == len(self._members) - len(gone)

    def waits_for_others(self, member: ConsumerGroupMember) -> bool:
        """Return whether other members hold partitions of a member's target."""
        return any(
            partition not in member.assigned.get(topic_id, ())
            and self.held.is_held(topic_id, partition)
            for topic_id, partitions in self.target.get(member.member_id, NO_PARTITIONS).items()
            for partition in partitions
        )

    # ---------------------------------------------------------------------------- offsets
    def validate_offset_commit(self, committer: OffsetCommitter) -> CommitPartitionValidator | None:
        if committer.epoch < 0 and self.is_empty:
            return None
        return validate_committer(
            committer, self._members.get(committer.member_id), group_id=self.group_id
        )

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is not None or member_epoch >= 0:
            validate_fetcher(self.member(member_id or ""), member_epoch)

    def validate_offset_delete(self) -> None:
        """Do nothing: subscribed topics are checked one by one."""

    def validate_delete(self) -> None:
        if not self.is_empty:
            raise NonEmptyGroupError(f"The group {self.group_id} is not empty.")

    def is_subscribed(self, topic: str) -> bool:
        return self.subscriptions.is_subscribed(topic)

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.group_tombstones(
            self.group_id, sorted(self._members), regexes=sorted(self.subscriptions.resolved)
        )

    # ---------------------------------------------------------------------------- replay
    def update_member(self, member: ConsumerGroupMember) -> None:
        """Add a member, or replace it by its next value."""
        before = self._members.get(member.member_id)
        if before is None or before.topic_names is not member.topic_names:
            shared = self._shared_names(member.topic_names)
            if shared is not member.topic_names:
                member = replace(member, topic_names=shared)
            self._release_names(before)
        self._forget(before)
        self._members[member.member_id] = member
        self.subscriptions.change(() if before is None else (before,), (member,))
        self.held.add(member)
        if member.server_assignor is not None:
            self._assignors[member.server_assignor] += 1
        if member.instance_id is not None:
            self._static_member_ids[member.instance_id] = member.member_id
        if member.classic is not None:
            self._classic_members += 1
            self._classic_protocols.update(name for name, _ in member.classic.protocols)

    def remove_member(self, member_id: str) -> None:
        """Remove a member."""
        member = self._members.pop(member_id, None)
        if member is None:
            return
        self._forget(member)
        self._release_names(member)
        self.subscriptions.change((member,), ())
        if member.instance_id is None:
            return
        if self._static_member_ids.get(member.instance_id) == member_id:
            del self._static_member_ids[member.instance_id]

    def _shared_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the equal names of other members: 1,000 members may have 10,000 names each."""
        shared, members = self._names.get(names, (names, 0))
        self._names[shared] = shared, members + 1
        return shared

    def _release_names(self, member: ConsumerGroupMember | None) -> None:
        if member is None:
            return
        shared, members = self._names[member.topic_names]
        if members > 1:
            self._names[shared] = shared, members - 1
        else:
            del self._names[shared]

    def _forget(self, member: ConsumerGroupMember | None) -> None:
        """Take a member out of all sums but the subscriptions."""
        if member is None:
            return
        self.held.discard(member)
        if member.server_assignor is not None:
            self._assignors[member.server_assignor] -= 1
        if member.classic is not None:
            self._classic_members -= 1
            self._classic_protocols.subtract(name for name, _ in member.classic.protocols)

    def resolve_regex(self, regex: str, resolved: ResolvedRegularExpression) -> None:
        """Set the topics that a regular expression matches."""
        self.subscriptions.resolved[regex] = resolved

    def unresolve_regex(self, regex: str) -> None:
        """Remove the topics of a regular expression."""
        self.subscriptions.resolved.pop(regex, None)
