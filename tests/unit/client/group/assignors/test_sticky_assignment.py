"""The assignor `cooperative-sticky`: balance, few moves, and withheld partitions."""

import pytest

from cordwood.client.group.assignors.sticky_assignment import assign_cooperatively, assign_sticky
from tests.unit.client.group.assignors.vectors import members, owned, text_of

EQUAL = (
    ("12", {"1": 3, "2": 3}, {"a": "", "b": ""}, {"a": "1:0,2 2:1", "b": "1:1 2:0,2"}),
    (
        "1",
        {"1": 6},
        {"a": "1:0,1,2", "b": "1:3,4,5", "c": ""},
        {"a": "1:0,1", "b": "1:3,4", "c": "1:2,5"},
    ),
    ("1", {"1": 4}, {"a": "1:0,1", "b": "1:2,3", "c": ""}, {"a": "1:0,1", "b": "1:2", "c": "1:3"}),
    ("1", {"1": 5}, {"a": "1:0,2", "b": "1:1"}, {"a": "1:0,2,4", "b": "1:1,3"}),
    ("1", {"1": 2}, {"a": "", "b": "", "c": ""}, {"a": "1:0", "b": "1:1", "c": ""}),
    ("1", {"1": 3}, {"a": "1:0,1 2:0", "b": "1:2 2:1"}, {"a": "1:0,1", "b": "1:2"}),
)


@pytest.mark.parametrize(("topics", "counts", "before", "wanted"), EQUAL)
def test_members_with_equal_subscriptions_keep_up_to_their_quota(
    topics: str, counts: dict[str, int], before: dict[str, str], wanted: dict[str, str]
) -> None:
    group = members(dict.fromkeys(before, topics), before)

    assert text_of(assign_sticky(group, counts)) == wanted


def test_unequal_subscriptions_are_balanced_and_stay() -> None:
    topics = {"a": "12", "b": "1"}

    first = assign_sticky(members(topics), {"1": 4, "2": 4})
    again = members(topics, text_of(first))

    assert sorted(len(each) for each in first.values()) == [4, 4]
    assert text_of(assign_sticky(again, {"1": 4, "2": 4})) == text_of(first)


def test_overloaded_member_gives_partitions_away() -> None:
    group = members({"a": "12", "b": "1"}, {"a": "1:0,1,2,3 2:0,1"})

    assert text_of(assign_sticky(group, {"1": 4, "2": 2})) == {"a": "1:0 2:0,1", "b": "1:1,2,3"}


def test_claim_of_an_older_generation_is_ignored() -> None:
    (stale,) = members({"a": "1"}, {"a": "1:0"}, generation=1)
    (newer,) = members({"b": "1"}, {"b": "1:0"}, generation=2)

    assert text_of(assign_sticky([stale, newer], {"1": 2})) == {"a": "1:1", "b": "1:0"}


def test_two_claims_of_one_generation_are_both_dropped() -> None:
    group = members({"a": "1", "b": "1"}, {"a": "1:1", "b": "1:1"})

    assert text_of(assign_sticky(group, {"1": 2})) == {"a": "1:0", "b": "1:1"}


def test_partition_is_withheld_until_its_owner_has_revoked_it() -> None:
    before = members({"a": "1", "b": "1"}, {"a": "1:0,1,2,3"})
    revoked = members({"a": "1", "b": "1"}, {"a": "1:0,1"})

    assert text_of(assign_cooperatively(before, {"1": 4})) == {"a": "1:0,1", "b": ""}
    assert text_of(assign_cooperatively(revoked, {"1": 4})) == {"a": "1:0,1", "b": "1:2,3"}


def test_every_partition_has_one_owner_and_loads_differ_by_at_most_one() -> None:
    group = members(dict.fromkeys("abcdefg", "123"), {"a": "1:0,1,2,3 2:0,1", "c": "3:4"})

    assigned = assign_sticky(group, {"1": 9, "2": 4, "3": 6})

    found = sorted(each for mine in assigned.values() for each in mine)
    assert found == sorted(owned("1:0,1,2,3,4,5,6,7,8 2:0,1,2,3 3:0,1,2,3,4,5"))
    assert {len(mine) for mine in assigned.values()} == {2, 3}
