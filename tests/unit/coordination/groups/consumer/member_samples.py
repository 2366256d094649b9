"""Members and their partitions as text: `1:1-3@10 2:4@11`, or without epochs `1:1-3`."""

from cordwood.coordination.groups.consumer.assignors.group_spec import TopicPartitionSets
from cordwood.coordination.groups.consumer.current_assignment import Reconciliation
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ConsumerGroupMember,
    MemberState,
)
from cordwood.coordination.groups.consumer.group.topic_partitions import TopicPartitionEpochs
from cordwood.core.uuids import Uuid
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import parsed, topic_id


def partitions(text: str) -> TopicPartitionSets:
    return parsed(f"x {text}")["x"]


def epochs(text: str) -> TopicPartitionEpochs:
    """Return partitions with the epochs of their assignment."""
    found = dict[Uuid, dict[int, int]]()
    for each in text.split():
        part, _, epoch = each.partition("@")
        for topic, numbers in partitions(part).items():
            found.setdefault(topic, {}).update(dict.fromkeys(numbers, int(epoch)))
    return found


def member(
    state: MemberState = MemberState.STABLE, epoch: int = 10, *, assigned: str, pending: str = ""
) -> ConsumerGroupMember:
    return ConsumerGroupMember(
        member_id="m",
        member_epoch=epoch,
        previous_member_epoch=epoch,
        state=state,
        assigned=epochs(assigned),
        pending_revocation=epochs(pending),
    )


def step(
    epoch: int,
    target: str,
    *,
    owned: str | None = None,
    held: str = "",
    subscribed: tuple[int, ...] = (1, 2),
    has_changed: bool = False,
) -> Reconciliation:
    """Return a step towards a target; `held` are the partitions of all members."""
    taken = partitions(held)
    return Reconciliation(
        target_epoch=epoch,
        target=partitions(target),
        owned=None if owned is None else partitions(owned),
        has_subscription_changed=has_changed,
        subscribed=frozenset(map(topic_id, subscribed)),
        has_subscription=bool(subscribed),
        is_held=lambda topic, partition: partition in taken.get(topic, ()),
    )
