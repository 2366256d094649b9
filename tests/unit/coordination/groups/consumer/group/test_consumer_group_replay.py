"""Records rebuild a group, also where compaction has removed earlier ones."""

import pytest

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_replay import replay
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.protocol.messages.internal import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from tests.unit.coordination.groups.consumer.member_samples import member, partitions

OWNER = member(assigned="1:0@10")


def replayed(*found: CoordinatorRecord, registry: GroupRegistry | None = None) -> GroupRegistry:
    registry = GroupRegistry() if registry is None else registry
    for each in found:
        replay(registry, each)
    return registry


def group(registry: GroupRegistry) -> ConsumerGroup:
    found = registry.get("g")
    assert isinstance(found, ConsumerGroup)
    return found


@pytest.mark.parametrize(
    "record",
    (
        records.group_epoch("g", 3, metadata_hash=5),
        records.target_metadata("g", 3, timestamp_ms=4),
        records.target_member("g", "m", partitions=partitions("1:0")),
        records.member_metadata("g", OWNER),
        records.current_assignment("g", OWNER),
        records.regular_expression("g", "x", resolved=ResolvedRegularExpression(frozenset(), 1, 1)),
    ),
    ids=lambda record: str(record.type),
)
def test_record_of_an_unknown_group_creates_it(record: CoordinatorRecord) -> None:
    assert isinstance(replayed(record).get("g"), ConsumerGroup)


def test_records_set_epochs_targets_and_members() -> None:
    found = group(
        replayed(
            records.member_metadata("g", OWNER),
            records.group_epoch("g", 3, metadata_hash=5),
            records.target_member("g", "m", partitions=partitions("1:0")),
            records.target_metadata("g", 2, timestamp_ms=4),
            records.current_assignment("g", OWNER),
        )
    )

    assert (found.group_epoch, found.metadata_hash) == (3, 5)
    assert (found.assignment_epoch, found.assignment_timestamp_ms) == (2, 4)
    assert found.target == {"m": partitions("1:0")}
    assert found.member("m") == OWNER


def test_tombstones_of_unknown_groups_change_nothing() -> None:
    found = replayed(*records.group_tombstones("g", ["m"], regexes=["x"]))

    assert "g" not in found.by_id


def test_tombstones_of_a_group_remove_it_with_its_members() -> None:
    registry = replayed(
        records.member_metadata("g", OWNER),
        records.current_assignment("g", OWNER),
        records.target_member("g", "m", partitions=partitions("1:0")),
    )

    *of_members, of_group = records.group_tombstones("g", ["m", "unknown"], regexes=["x"])
    replayed(*of_members, registry=registry)
    assert group(registry).is_empty
    assert group(registry).target == {}
    assert group(registry).assignment_epoch == -1

    replayed(of_group, registry=registry)
    assert "g" not in registry.by_id


def test_member_without_assignment_has_the_epoch_of_one_that_has_left() -> None:
    tombstone = records.member_tombstones("g", "m")[0]

    registry = replayed(records.current_assignment("g", OWNER), tombstone)

    left = group(registry).member("m")
    assert (left.member_epoch, left.previous_member_epoch, left.assigned) == (-1, -1, {})


def test_expression_is_resolved_until_its_tombstone() -> None:
    resolved = ResolvedRegularExpression(frozenset({"a"}), 2, 3)

    registry = replayed(records.regular_expression("g", "x", resolved=resolved))
    assert group(registry).subscriptions.resolved == {"x": resolved}

    replayed(records.regular_expression_tombstone("g", "x"), registry=registry)
    assert group(registry).subscriptions.resolved == {}


def test_topics_of_kafka_4_0_are_remembered_until_their_tombstone() -> None:
    key = ConsumerGroupPartitionMetadataKey(group_id="g")
    value = ConsumerGroupPartitionMetadataValue(topics=[])

    registry = replayed(CoordinatorRecord(4, key, value))
    assert group(registry).has_subscription_metadata

    replayed(records.subscription_metadata_tombstone("g"), registry=registry)
    assert not group(registry).has_subscription_metadata


def test_simple_group_becomes_a_consumer_group() -> None:
    registry = GroupRegistry()
    registry.put(ClassicGroup("g"))

    replayed(records.group_epoch("g", 3, metadata_hash=0), registry=registry)

    assert isinstance(registry.get("g"), ConsumerGroup)


def test_classic_group_that_took_the_place_stays() -> None:
    registry = GroupRegistry()
    classic = ClassicGroup("g", state=ClassicGroupState.STABLE, protocol_type="consumer")
    registry.put(classic)

    replayed(
        records.member_metadata("g", OWNER),
        *records.group_tombstones("g", ["m"], regexes=[]),
        registry=registry,
    )

    assert registry.get("g") is classic
