"""Fields of ConsumerGroupHeartbeat, sent only if they have changed (Java: `HeartbeatState`).

A joining member sends all fields. Afterwards a field is null, or -1, if the coordinator has it
already. An error may mean that the coordinator has not taken the fields: the next heartbeat then
has all of them again.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from cordwood.client.group.membership import MemberIdentity
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)


class PartitionOfId(NamedTuple):
    """A partition by the id of its topic (Java: `TopicIdPartition`)."""

    topic_id: Uuid
    number: int


class SentFields(NamedTuple):
    """Fields that the coordinator has; None: not sent since the join or the last error."""

    names: tuple[str, ...] | None = None
    regex: str | None = None
    rebalance_timeout_ms: int | None = None
    owned: frozenset[PartitionOfId] | None = None


def heartbeat_of(
    config: MembershipConfig,
    identity: MemberIdentity,
    *,
    subscription: TopicSubscription,
    owned: frozenset[PartitionOfId] | None,
    sent: SentFields,
) -> tuple[ConsumerGroupHeartbeatRequest, SentFields]:
    """Return a heartbeat, and the fields that the coordinator has afterwards.

    `owned` is None while a reconciliation runs: the partitions are then not repeated.
    """
    is_joining = identity.epoch == 0
    if is_joining:
        sent = SentFields()
    names = tuple(sorted(subscription.names)) if subscription.pattern is None else ()
    # "" ends a subscription by pattern; a member that never had one sends null.
    regex = subscription.pattern or ("" if sent.regex else None)
    timeout_ms = config.max_poll_interval_ms
    has_new_owned = owned is not None and owned != sent.owned
    request = ConsumerGroupHeartbeatRequest(
        group_id=config.group_id,
        member_id=identity.member_id,
        member_epoch=identity.epoch,
        instance_id=config.instance_id,
        rebalance_timeout_ms=-1 if timeout_ms == sent.rebalance_timeout_ms else timeout_ms,
        subscribed_topic_names=None if names == sent.names else list(names),
        subscribed_topic_regex=None if regex == sent.regex else regex,
        server_assignor=config.server_assignor if sent.rebalance_timeout_ms is None else None,
        topic_partitions=by_topic_id(owned or ()) if has_new_owned or is_joining else None,
    )
    kept = owned if has_new_owned else sent.owned
    return request, SentFields(
        names, regex or None, timeout_ms, frozenset() if is_joining else kept
    )


def by_topic_id(partitions: Iterable[PartitionOfId]) -> list[TopicPartitions]:
    """Return partitions in the form of a heartbeat."""
    found: dict[Uuid, list[int]] = {}
    for each in sorted(partitions):
        found.setdefault(each.topic_id, []).append(each.number)
    return [
        TopicPartitions(topic_id=topic_id, partitions=numbers)
        for topic_id, numbers in found.items()
    ]


def partitions_of_ids(topics: Iterable[TopicPartitions]) -> frozenset[PartitionOfId]:
    """Return the partitions of a heartbeat's response."""
    return frozenset(
        PartitionOfId(each.topic_id, number) for each in topics for number in each.partitions
    )


def unknown_ids(
    partitions: Collection[PartitionOfId], names: Mapping[Uuid, str]
) -> frozenset[Uuid]:
    """Return the topic ids that have no name."""
    return frozenset(each.topic_id for each in partitions) - names.keys()
