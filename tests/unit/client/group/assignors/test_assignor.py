"""Members and assignors of classic groups."""

from cordwood.client.group.assignors.assignor import SubscribedMember, topics_of


def test_topics_are_those_of_all_members() -> None:
    members = [SubscribedMember("a", frozenset("xy")), SubscribedMember("b", frozenset("yz"))]

    assert topics_of(members) == {"x", "y", "z"}


def test_static_members_come_first_by_instance_id() -> None:
    static = SubscribedMember("z", frozenset(), instance_id="i")

    assert static.order < SubscribedMember("a", frozenset()).order
