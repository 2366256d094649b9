"""Values of a membership."""

from cordwood.client.group.membership import MemberIdentity, sorted_text
from cordwood.client.topic_partitions import partitions_of


def test_identity_without_a_membership_has_generation_minus_one() -> None:
    assert MemberIdentity() == ("", -1)


def test_partitions_are_written_in_order() -> None:
    assert sorted_text(partitions_of([("b", 0), ("a", 10), ("a", 2)])) == "a-2, a-10, b-0"
    assert sorted_text(()) == "none"
