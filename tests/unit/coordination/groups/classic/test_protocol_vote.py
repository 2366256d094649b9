"""The members vote on the protocol of a generation."""

from collections import Counter

import pytest

from cordwood.coordination.groups.classic.protocol_vote import hash_map_order, select_protocol
from tests.unit.coordination.groups.classic.test_classic_group_member import member_of


def selected(*preferences: str) -> str:
    members = [member_of(*each.split(",")) for each in preferences]
    support = Counter(name for each in preferences for name in each.split(","))
    return select_protocol(members, support)


@pytest.mark.parametrize(
    ("preferences", "protocol"),
    (
        (("range,roundrobin",), "range"),
        (("range,roundrobin", "range,roundrobin", "roundrobin,range"), "range"),
        (("roundrobin,range", "range,roundrobin", "roundrobin,range"), "roundrobin"),
        (("sticky,range", "sticky,range", "range"), "range"),
        (("a,b,c", "b,c", "c,b"), "b"),
    ),
)
def test_protocol_of_all_members_with_the_most_votes_is_selected(
    preferences: tuple[str, ...], protocol: str
) -> None:
    assert selected(*preferences) == protocol


@pytest.mark.parametrize(
    ("names", "ordered"),
    (
        (("roundrobin", "range"), ["range", "roundrobin"]),
        (("b", "a", "c"), ["a", "b", "c"]),
        # The hashes 2112 of both have the same bucket, so the first one stays first.
        (("BB", "Aa"), ["BB", "Aa"]),
        (("Aa", "BB"), ["Aa", "BB"]),
    ),
)
def test_names_have_the_order_of_a_java_hash_map(
    names: tuple[str, ...], ordered: list[str]
) -> None:
    assert hash_map_order(names) == ordered


def test_table_of_the_hash_map_grows_beyond_twelve_names() -> None:
    few, many = ("M", "q"), (*"ABCDEFGHIJKLM", "q")

    assert hash_map_order(few) == ["q", "M"]
    assert hash_map_order(many) == list(many)


def test_part_of_the_names_keeps_the_order_that_all_have() -> None:
    names = (*"ABCDEFGHIJKLM", "q")

    assert hash_map_order(("M", "q"), among=len(names)) == ["M", "q"]


def test_equal_votes_go_to_the_first_protocol_of_the_hash_map() -> None:
    assert (
        selected("range,roundrobin", "roundrobin,range")
        == hash_map_order(("range", "roundrobin"))[0]
    )
