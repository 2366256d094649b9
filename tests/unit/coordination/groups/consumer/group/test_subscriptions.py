"""Subscriptions are counted by name and by regular expression."""

from collections import Counter

from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.consumer.group.subscriptions import (
    ResolvedRegularExpression,
    Subscriptions,
)

KNOWN = frozenset({"a", "b", "b1", "c"})


def subscriber(*names: str, regex: str = "") -> ConsumerGroupMember:
    return ConsumerGroupMember(member_id="m", topic_names=names, topic_regex=regex)


def matching(*topics: str) -> ResolvedRegularExpression:
    return ResolvedRegularExpression(frozenset(topics), 1, 1)


def subscriptions(*members: ConsumerGroupMember) -> Subscriptions:
    made = Subscriptions()
    for each in members:
        made.change((), (each,))
    return made


def test_topic_is_subscribed_until_its_last_subscriber_leaves() -> None:
    found = subscriptions(subscriber("a", "b"), subscriber("a"))

    found.change((subscriber("a"),), ())
    assert found.is_subscribed("a")

    found.change((subscriber("a", "b"),), ())
    assert found.topic_names(KNOWN) == set()


def test_regular_expression_subscribes_the_topics_that_it_matches() -> None:
    found = subscriptions(subscriber("a", regex="b.*"))
    assert not found.is_subscribed("b1")

    found.resolved["b.*"] = matching("b1")

    assert found.is_subscribed("b1")
    assert found.topic_names(KNOWN) == {"a", "b1"}
    assert found.of_member(subscriber("a", regex="b.*")) == {"a", "b1"}
    assert found.of_member(subscriber(regex="c")) == frozenset()


def test_change_leaves_the_subscriptions_as_they_are() -> None:
    member = subscriber("a", regex="b.*")
    found = subscriptions(member)
    found.resolved["b.*"] = matching("b1")

    after = found.after((member,), (subscriber("c"),))

    assert after.topic_names(KNOWN) == {"c"}
    assert found.topic_names(KNOWN) == {"a", "b1"}


def test_regular_expression_of_another_member_keeps_its_topics() -> None:
    member = subscriber(regex="b.*")
    found = subscriptions(member, member)
    found.resolved["b.*"] = matching("b1")

    assert found.after((member,)).topic_names(KNOWN) == {"b1"}


def test_unknown_member_is_discarded_without_effect() -> None:
    found = subscriptions(subscriber("a"))

    found.change((subscriber("z", regex="y"),), ())

    assert found.topic_names(KNOWN) == {"a"}


def test_group_is_homogeneous_when_all_members_name_the_same_topics() -> None:
    assert subscriptions().is_homogeneous(0)
    assert subscriptions(subscriber("a"), subscriber("a")).is_homogeneous(2)
    assert not subscriptions(subscriber("a", "b"), subscriber("a")).is_homogeneous(2)


def test_group_is_homogeneous_when_all_members_have_one_expression() -> None:
    both = subscriptions(subscriber(regex="b.*"), subscriber(regex="b.*"))
    both.resolved["b.*"] = matching("b1", "b2")

    assert both.is_homogeneous(2)
    assert not subscriptions(subscriber(regex="b.*")).is_homogeneous(2)
    assert not subscriptions(subscriber("a", regex="b.*")).is_homogeneous(1)


def test_topic_of_two_expressions_makes_the_group_heterogeneous() -> None:
    found = subscriptions(subscriber(regex="b.*"))
    found.resolved |= {"b.*": matching("b1"), "old": matching("b1")}

    assert not found.is_homogeneous(1)


def test_unchanged_names_are_not_counted_again() -> None:
    """A heartbeat of a member with 49,000 names counted them six times."""
    member = subscriber("a", "b", regex="c")
    found = subscriptions(member)
    found.names = Counter({"a": 7})

    found.change((member,), (subscriber("a", "b", regex="d"),))

    assert found.names == {"a": 7}
    assert found.regexes == {"d": 1}


def test_topics_that_do_not_exist_cost_nothing() -> None:
    found = subscriptions(subscriber("a", *(f"unknown-{number}" for number in range(1_000))))

    class Known(frozenset[str]):
        """Some topics, which each count a look at them."""

        looks = 0

        def __contains__(self, name: object) -> bool:
            Known.looks += 1
            return super().__contains__(name)

    assert found.topic_names(Known({"a", "b"})) == {"a"}
    assert Known.looks == 0
