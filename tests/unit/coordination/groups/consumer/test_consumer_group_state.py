"""The state of a shard knows its groups, and makes member ids."""

import pytest

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.subscriptions import Subscriptions
from cordwood.core.errors import GroupIdNotFoundError
from tests.unit.coordination.groups.consumer.consumer_harness import ConsumerHarness
from tests.unit.coordination.groups.consumer.request_samples import shard_state


def test_group_of_this_kind_is_found() -> None:
    harness = ConsumerHarness()
    harness.registry.put(group := ConsumerGroup("g"))
    harness.registry.put(ClassicGroup("c"))
    state = shard_state(harness)

    assert state.group("g") is group
    with pytest.raises(GroupIdNotFoundError, match="Group c is not a consumer group"):
        state.group("c")
    with pytest.raises(GroupIdNotFoundError, match="Group x not found"):
        state.group("x")


def test_member_ids_differ() -> None:
    state = shard_state(ConsumerHarness())

    made = {state.new_member_id() for _ in range(3)}

    assert {len(each) for each in made} == {22}
    assert len(made) == 3


def test_hash_is_that_of_the_subscribed_topics() -> None:
    harness = ConsumerHarness()
    harness.topic("a", 1)
    state = shard_state(harness)
    subscriptions = Subscriptions()
    assert state.metadata_hash(subscriptions) == 0

    subscriptions.names["a"] += 1

    assert state.metadata_hash(subscriptions) != 0
    assert state.settings is harness.settings
