"""Fields of heartbeats that have changed."""

from cordwood.client.group.heartbeat_fields import (
    PartitionOfId,
    SentFields,
    by_topic_id,
    heartbeat_of,
    partitions_of_ids,
    unknown_ids,
)
from cordwood.client.group.membership import MemberIdentity
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

CONFIG = MembershipConfig(group_id="g", server_assignor="range")
T = Uuid(b"t" * 16)
OWNED = frozenset({PartitionOfId(T, 0)})


def beat(
    epoch: int, sent: SentFields, *, owned: frozenset[PartitionOfId] | None = OWNED, regex: str = ""
) -> tuple[ConsumerGroupHeartbeatRequest, SentFields]:
    names = frozenset() if regex else frozenset({"t"})
    subscription = TopicSubscription(names, regex or None)
    identity = MemberIdentity("m", epoch)
    return heartbeat_of(CONFIG, identity, subscription=subscription, owned=owned, sent=sent)


def test_joining_member_sends_all_fields_and_owns_nothing() -> None:
    request, _ = beat(0, SentFields(("t",)), owned=frozenset())

    assert (request.subscribed_topic_names, request.topic_partitions) == (["t"], [])
    assert (request.rebalance_timeout_ms, request.server_assignor) == (300_000, "range")


def test_field_is_sent_once() -> None:
    _, sent = beat(1, SentFields())
    request, again = beat(1, sent)

    assert again == sent
    assert (request.subscribed_topic_names, request.topic_partitions) == (None, None)
    assert (request.rebalance_timeout_ms, request.server_assignor) == (-1, None)


def test_owned_partitions_are_not_sent_while_a_reconciliation_runs() -> None:
    request, sent = beat(1, SentFields(), owned=None)

    assert (request.topic_partitions, sent.owned) == (None, None)


def test_empty_regex_ends_a_subscription_by_pattern() -> None:
    first, sent = beat(1, SentFields(), regex="t.*")
    second, later = beat(1, sent)
    third, _ = beat(1, later)

    regexes = [each.subscribed_topic_regex for each in (first, second, third)]
    assert regexes == ["t.*", "", None]
    assert first.subscribed_topic_names == []


def test_partitions_are_grouped_by_topic_id() -> None:
    (topic,) = by_topic_id(OWNED)

    assert (topic.topic_id, topic.partitions) == (T, [0])
    assert partitions_of_ids([topic]) == OWNED


def test_topic_id_without_a_name_is_unknown() -> None:
    assert unknown_ids(OWNED, {}) == {T}
    assert unknown_ids(OWNED, {T: "t"}) == frozenset()
