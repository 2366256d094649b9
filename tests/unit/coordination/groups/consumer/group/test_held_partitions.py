"""Partitions are held in the highest epoch of the members that have them."""

from cordwood.coordination.groups.consumer.group.held_partitions import HeldPartitions
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id
from tests.unit.coordination.groups.consumer.member_samples import member


def test_partition_is_held_while_it_is_assigned_or_given_up() -> None:
    held = HeldPartitions()
    owner = member(assigned="1:0@10", pending="1:1@10")

    held.add(owner)
    assert held.is_held(topic_id(1), 0)
    assert held.is_held(topic_id(1), 1)
    assert not held.is_held(topic_id(1), 2)

    held.discard(owner)
    assert not held.is_held(topic_id(1), 0)


def test_older_record_of_another_member_changes_nothing() -> None:
    held = HeldPartitions()
    owner, earlier = member(epoch=10, assigned="1:0@10"), member(epoch=9, assigned="1:0@9")

    held.add(owner)
    held.add(earlier)
    held.discard(earlier)

    assert held.is_held(topic_id(1), 0)
