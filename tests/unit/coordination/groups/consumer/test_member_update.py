"""The steps of a request fill one batch of records."""

from dataclasses import replace

from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ConsumerGroupMember,
    MemberState,
)
from cordwood.coordination.groups.consumer.member_update import (
    JoinedMember,
    MemberUpdate,
    SubscriptionChange,
    Target,
)
from cordwood.coordination.outcome import CoordinatorEvent, EventCount, Outcome
from tests.unit.coordination.groups.consumer.consumer_harness import ConsumerHarness, client
from tests.unit.coordination.groups.consumer.member_samples import member, partitions
from tests.unit.coordination.groups.consumer.request_samples import shard_state

MEMBER = ConsumerGroupMember(member_id="m", member_epoch=1, topic_names=("a",))


def update(
    before: ConsumerGroupMember = MEMBER, after: ConsumerGroupMember = MEMBER
) -> MemberUpdate:
    harness, group = ConsumerHarness(), ConsumerGroup("g")
    harness.topic("a", 2)
    group.update_member(before)
    return MemberUpdate(
        state=shard_state(harness),
        group=group,
        joined=JoinedMember(before, before),
        after=after,
        outcome=Outcome(),
        now_ms=1_000_000,
    )


def types(found: MemberUpdate) -> list[int]:
    return [each.type for each in found.outcome.records]


def test_unchanged_member_is_not_written() -> None:
    found = update()

    assert found.record_member(client()) == SubscriptionChange(
        has_changed=False, raises_epoch=False
    )
    assert types(found) == []


def test_changed_names_raise_the_epoch() -> None:
    found = update(after=replace(MEMBER, topic_names=()))

    assert found.record_member(client()) == SubscriptionChange(has_changed=True, raises_epoch=True)
    assert types(found) == [5]


def test_unresolved_expression_raises_no_epoch() -> None:
    found = update(after=replace(MEMBER, topic_regex="b.*"))

    assert found.record_member(client()) == SubscriptionChange(has_changed=True, raises_epoch=False)
    assert [each.regexes for each in found.state.regexes.take_due()] == [("b.*",)]


def test_epoch_rises_when_the_topics_have_another_hash() -> None:
    found = update()

    assert found.next_epoch(raises_epoch=False) == 2
    assert found.group.checked_epoch == 2
    assert types(found) == [3]
    assert found.outcome.events == (EventCount(CoordinatorEvent.CONSUMER_REBALANCE),)


def test_epoch_stays_while_the_topics_are_not_stale() -> None:
    found = update()
    found.group.checked_epoch = 1

    assert found.next_epoch(raises_epoch=False) == 1
    assert types(found) == []
    assert found.outcome.events == ()


def test_epoch_stays_when_stale_topics_have_the_same_hash() -> None:
    found = update()
    found.group.metadata_hash = found.state.metadata_hash(found.group.subscriptions)

    assert found.next_epoch(raises_epoch=False) == 1
    assert types(found) == []


def test_target_of_an_older_epoch_is_computed_again() -> None:
    found = update()

    assert found.next_target(2) == Target(2, partitions("1:0,1"))
    assert types(found) == [7, 6]


def test_target_of_the_epoch_is_kept() -> None:
    found = update()
    found.group.assignment_epoch = 2
    found.group.target["m"] = partitions("1:0")

    assert found.next_target(2) == Target(2, partitions("1:0"))
    assert types(found) == []


def test_target_is_kept_during_the_assignment_interval() -> None:
    found = update()
    found.group.assignment_timestamp_ms = found.now_ms - 999
    assert found.next_target(2) == Target(1, {})

    found.group.assignment_timestamp_ms -= 1
    assert found.next_target(2).epoch == 2


def test_member_without_subscriptions_has_an_empty_target() -> None:
    found = update(after=replace(MEMBER, topic_names=()))

    assert found.next_target(2) == Target(2, {})


def test_reconciled_member_is_written_and_its_timer_follows_its_state() -> None:
    found = update()

    member = found.reconcile(
        Target(2, partitions("1:0,1")), owned=None, has_subscription_changed=False
    )

    assert member.member_epoch == 2
    assert types(found) == [8]
    assert [each.at_ms for each in found.outcome.timers] == [None]


def test_member_that_stays_is_not_written() -> None:
    found = update()

    member = found.reconcile(Target(1, {}), owned=None, has_subscription_changed=False)

    assert member is MEMBER
    assert types(found) == []


def test_replaced_member_has_no_target_of_its_own() -> None:
    static = replace(MEMBER, instance_id="i")
    found = update(static, replace(static, member_id="n"))

    found.next_target(2)

    assert [getattr(each.key, "member_id", None) for each in found.outcome.records] == ["n", None]


def test_member_that_waits_as_before_is_not_written() -> None:
    waiting = replace(
        MEMBER, state=MemberState.UNRELEASED_PARTITIONS, previous_member_epoch=MEMBER.member_epoch
    )
    found = update(waiting, waiting)
    found.group.update_member(replace(member(assigned="1:0@1"), member_id="other"))

    after = found.reconcile(
        Target(1, partitions("1:0")), owned=None, has_subscription_changed=False
    )

    assert after is waiting
    assert types(found) == []
