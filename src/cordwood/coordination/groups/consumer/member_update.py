"""Steps of a request that creates or changes one member (Kafka: `consumerGroupHeartbeat`).

    record_member   5 the member's metadata, 16 topics of regular expressions
    next_epoch      3 the group epoch, if subscriptions or topics have changed
    next_target     7 and 6 the target assignment, if the group epoch is higher than its epoch
    reconcile       8 the member's present assignment

The records of all steps are one batch.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.consumer.assignors.group_spec import (
    NO_PARTITIONS,
    TopicPartitionSets,
)
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.current_assignment import Reconciliation, reconciled
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ConsumerGroupMember,
    MemberState,
)
from cordwood.coordination.groups.consumer.group.topic_partitions import OwnedByClient
from cordwood.coordination.groups.consumer.target_assignment import (
    MemberChange,
    assign_targets,
    target_records,
)
from cordwood.coordination.groups.consumer.topics.regex_refresh import RegexUpdate, update_regex
from cordwood.coordination.outcome import CoordinatorEvent, EventCount, Outcome
from cordwood.coordination.topic_view import existing_topics


class JoinedMember(NamedTuple):
    """The member of a request, before the request's fields are applied."""

    #: The member that it is, or replaces; None if it is new.
    in_group: ConsumerGroupMember | None
    #: The member under its own id.
    base: ConsumerGroupMember


class SubscriptionChange(NamedTuple):
    """Effect of a request on the subscriptions."""

    #: Partitions of topics that are no longer subscribed have to be given up at once.
    has_changed: bool
    #: The change is effective, so that the group epoch rises.
    raises_epoch: bool


class Target(NamedTuple):
    """The target of one member."""

    epoch: int
    partitions: TopicPartitionSets


@dataclass(slots=True, kw_only=True)
class MemberUpdate:
    """One request of a member; its steps fill the outcome."""

    state: ConsumerGroupShardState
    group: ConsumerGroup
    joined: JoinedMember
    after: ConsumerGroupMember
    outcome: Outcome
    now_ms: int
    _known_change: MemberChange | None = field(default=None, init=False)

    def record_member(self, client: ClientContext) -> SubscriptionChange:
        """Write the member if it has changed, and begin to resolve regular expressions."""
        base, after, group = self.joined.base, self.after, self.group
        if after != base:
            self.outcome.records.append(records.member_metadata(group.group_id, after))
        has_new_names = after.topic_names != base.topic_names
        written = self.outcome.records
        update, is_new = update_regex(group, base, after=after, written=written)
        self.state.regexes.request(
            group,
            (base, after),
            client=client,
            view=self.state.view,
            now_ms=self.now_ms,
            is_new=is_new,
        )
        return SubscriptionChange(
            has_changed=has_new_names or update is not RegexUpdate.NO_CHANGE,
            raises_epoch=has_new_names or update is RegexUpdate.UPDATED_AND_RESOLVED,
        )

    def next_epoch(self, *, raises_epoch: bool) -> int:
        """Return the group epoch after the request, written if it is a new one."""
        group = self.group
        if not raises_epoch and not group.has_stale_topics:
            return group.group_epoch
        metadata_hash = self.state.metadata_hash(self._change.subscriptions)
        epoch = group.group_epoch
        if raises_epoch or metadata_hash != group.metadata_hash:
            epoch += 1
            self.outcome.records.append(
                records.group_epoch(group.group_id, epoch, metadata_hash=metadata_hash)
            )
            self.outcome.events += (EventCount(CoordinatorEvent.CONSUMER_REBALANCE),)
        group.checked_epoch = epoch
        if group.has_subscription_metadata:
            tombstone = records.subscription_metadata_tombstone(group.group_id)
            self.outcome.records.append(tombstone)
        return epoch

    def next_target(self, epoch: int) -> Target:
        """Return the member's target, computed for the whole group if its epoch is outdated."""
        group = self.group
        if group.assignment_epoch >= epoch or not self.state.may_assign(group, self.now_ms):
            return Target(group.assignment_epoch, group.target_of(self.after))
        change = self._change
        preferred = group.preferred_assignor(change.removed, (self.after,))
        assignor = preferred or self.state.settings.consumer_assignors[0]
        view = self.state.view
        targets = assign_targets(group, change, epoch=epoch, view=view, assignor=assignor)
        members = {*group.members, self.after.member_id}
        if change.before is not None and change.before.member_id != self.after.member_id:
            members.discard(change.before.member_id)
        self.outcome.records += target_records(
            group, members, targets=targets, epoch=epoch, now_ms=self.now_ms
        )
        return Target(epoch, targets.get(self.after.member_id, NO_PARTITIONS))

    def reconcile(
        self, target: Target, *, owned: OwnedByClient | None, has_subscription_changed: bool
    ) -> ConsumerGroupMember:
        """Return the member after its next step to the target, written if it is a step."""
        group, member = self.group, self.after
        if not has_subscription_changed and member.is_reconciled_to(target.epoch):
            return member
        names = group.subscriptions.of_member(member)
        topics = existing_topics(names, self.state.view)
        step = Reconciliation(
            target_epoch=target.epoch,
            target=target.partitions,
            owned=owned,
            has_subscription_changed=has_subscription_changed,
            subscribed=frozenset(each.topic_id for each in topics),
            has_subscription=bool(names),
            is_held=group.held.is_held,
        )
        after = reconciled(member, step)
        if after == member:
            return member
        self.outcome.records.append(records.current_assignment(group.group_id, after))
        if after.classic is None:
            self._set_rebalance_timer(after)
        return after

    @property
    def _change(self) -> MemberChange:
        """The change of the group by the request; most requests need none."""
        if self._known_change is None:
            self._known_change = MemberChange.of(
                self.group, before=self.joined.in_group, after=self.after
            )
        return self._known_change

    def _set_rebalance_timer(self, member: ConsumerGroupMember) -> None:
        timers, group_id = self.state.timers, self.group.group_id
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            change = timers.rebalance(
                group_id,
                member.member_id,
                epoch=member.member_epoch,
                at_ms=self.now_ms + member.rebalance_timeout_ms,
            )
        else:
            change = timers.cancel_rebalance(group_id, member.member_id)
        self.outcome.timers.append(change)
