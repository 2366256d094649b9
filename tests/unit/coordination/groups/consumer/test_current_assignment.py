"""A member reaches its target as in the table of Kafka's CurrentAssignmentBuilderTest."""

from dataclasses import replace

import pytest

from cordwood.coordination.groups.consumer.current_assignment import reconciled
from cordwood.coordination.groups.consumer.group.consumer_group_member import MemberState
from cordwood.core.errors import FencedMemberEpochError
from tests.unit.coordination.groups.consumer.member_samples import epochs, member, step

UNREVOKED = MemberState.UNREVOKED_PARTITIONS
UNRELEASED = MemberState.UNRELEASED_PARTITIONS


def test_stable_member_moves_to_an_equal_target_of_a_new_epoch() -> None:
    before = member(assigned="1:1-3@10 2:4-6@10")

    after = reconciled(before, step(11, "1:1-3 2:4-6"))

    assert (after.state, after.member_epoch, after.previous_member_epoch) == (
        MemberState.STABLE,
        11,
        10,
    )
    assert after.assigned == before.assigned


def test_stable_member_receives_free_partitions_at_once() -> None:
    before = member(assigned="1:1-3@10 2:4-6@10")

    after = reconciled(before, step(11, "1:1-4 2:4-7"))

    assert (after.state, after.member_epoch) == (MemberState.STABLE, 11)
    assert after.assigned == epochs("1:1-3@10 1:4@11 2:4-6@10 2:7@11")


def test_stable_member_stays_in_its_epoch_to_revoke() -> None:
    before = member(assigned="1:1-3@10 2:4-6@10")

    after = reconciled(before, step(11, "1:2-4 2:5-7"))

    assert (after.state, after.member_epoch) == (UNREVOKED, 10)
    assert after.previous_member_epoch == 10
    assert after.assigned == epochs("1:2,3@10 2:5,6@10")
    assert after.pending_revocation == epochs("1:1@10 2:4@10")


def test_stable_member_goes_on_when_its_client_owns_no_revoked_partition() -> None:
    before = member(assigned="1:1-3@10 2:4-6@10")

    after = reconciled(before, step(11, "1:2-4 2:5-7", owned="1:2,3 2:5,6", held="2:7"))

    assert (after.state, after.member_epoch) == (UNRELEASED, 11)
    assert after.assigned == epochs("1:2,3@10 1:4@11 2:5,6@10")
    assert after.pending_revocation == {}


def test_stable_member_of_the_epoch_stays_as_it_is() -> None:
    before = member(assigned="1:1-3@10")

    assert reconciled(before, step(10, "1:1-3")) is before


@pytest.mark.parametrize("owned", (None, "1:1-3 2:4-6", "1:1"))
def test_unrevoked_member_waits_until_its_client_has_revoked(owned: str | None) -> None:
    before = member(UNREVOKED, assigned="1:2,3@10 2:5,6@10", pending="1:1@10 2:4@10")

    assert reconciled(before, step(11, "1:2,3 2:5,6", owned=owned)) is before


def test_unrevoked_member_revokes_again_for_a_later_target() -> None:
    before = member(UNREVOKED, assigned="1:2,3@10 2:5,6@10", pending="1:1@10 2:4@10")

    after = reconciled(before, step(12, "1:3 2:6", owned="1:2,3 2:5,6"))

    assert (after.state, after.member_epoch) == (UNREVOKED, 10)
    assert after.assigned == epochs("1:3@10 2:6@10")
    assert after.pending_revocation == epochs("1:2@10 2:5@10")


def test_unrevoked_member_receives_its_own_revoked_partition_again() -> None:
    before = member(UNREVOKED, assigned="1:2,3@10 2:5,6@10", pending="1:4@10")

    after = reconciled(before, step(12, "1:2-4 2:5-7", owned="1:2,3 2:5,6", held="1:4"))

    assert (after.state, after.member_epoch) == (MemberState.STABLE, 12)
    assert after.assigned == epochs("1:2,3@10 1:4@12 2:5,6@10 2:7@12")
    assert after.pending_revocation == {}


def test_unreleased_member_waits_for_partitions_of_other_members() -> None:
    before = member(UNRELEASED, 11, assigned="1:2,3@11 2:5,6@11")

    after = reconciled(before, step(11, "1:2-4 2:5-7", held="1:4 2:7"))

    assert after == before


def test_unreleased_member_receives_partitions_one_by_one() -> None:
    before = member(UNRELEASED, 11, assigned="1:2,3@11")

    after = reconciled(before, step(11, "1:2-5", held="1:5"))

    assert after.state is UNRELEASED
    assert after.assigned == epochs("1:2-4@11")


@pytest.mark.parametrize("owned", (None, "1:1"))
def test_member_of_an_unknown_state_is_fenced_while_it_may_own(owned: str | None) -> None:
    before = member(MemberState.UNKNOWN, assigned="1:1@10")

    with pytest.raises(FencedMemberEpochError):
        reconciled(before, step(11, "1:1", owned=owned))


def test_member_of_an_unknown_state_goes_on_without_partitions() -> None:
    before = member(MemberState.UNKNOWN, assigned="1:1@10")

    after = reconciled(before, step(11, "1:2", owned=""))

    assert (after.state, after.member_epoch) == (MemberState.STABLE, 11)
    assert after.assigned == epochs("1:2@11")


def test_changed_subscription_revokes_topics_without_a_new_target() -> None:
    before = member(assigned="1:1@10 2:4@10")

    after = reconciled(before, step(10, "1:1 2:4", subscribed=(1,), has_changed=True))

    assert (after.state, after.member_epoch) == (UNREVOKED, 10)
    assert after.assigned == epochs("1:1@10")
    assert after.pending_revocation == epochs("2:4@10")


def test_changed_subscription_drops_topics_that_the_client_does_not_own() -> None:
    before = member(assigned="1:1@10 2:4@10")

    after = reconciled(before, step(10, "1:1 2:4", owned="1:1", subscribed=(1,), has_changed=True))

    assert after.state is MemberState.STABLE
    assert after.assigned == epochs("1:1@10")
    assert after.pending_revocation == {}


def test_changed_subscription_changes_nothing_when_all_topics_remain() -> None:
    before = member(assigned="1:1@10 2:4@10")

    assert reconciled(before, step(10, "1:1 2:4", has_changed=True)) is before


def test_changed_subscription_without_topics_begins_the_epoch_again() -> None:
    before = replace(member(assigned=""), previous_member_epoch=9)

    after = reconciled(before, step(10, "", subscribed=(), has_changed=True))

    assert after == replace(before, previous_member_epoch=10)


def test_changed_subscription_of_a_missing_topic_changes_nothing() -> None:
    before = replace(member(assigned=""), previous_member_epoch=9)
    change = step(10, "", subscribed=(), has_changed=True)

    after = reconciled(before, replace(change, has_subscription=True))

    assert after is before


def test_unrevoked_member_revokes_also_what_it_has_unsubscribed() -> None:
    before = member(UNREVOKED, assigned="1:1@10 2:4@10", pending="2:5@10")

    after = reconciled(before, step(11, "1:1", subscribed=(1,), has_changed=True))

    assert after.state is UNREVOKED
    assert after.assigned == epochs("1:1@10")
    assert after.pending_revocation == epochs("2:4,5@10")


def test_target_of_an_unsubscribed_topic_is_not_assigned() -> None:
    after = reconciled(member(assigned=""), step(11, "1:1 2:4", subscribed=(1,)))

    assert after.assigned == epochs("1:1@11")
    assert after.state is MemberState.STABLE
