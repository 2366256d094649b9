"""Groups are named, or all groups of consumers."""

import pytest
import typer

import cordwood
from cordwood.cli.groups.group_selection import (
    consumer_groups,
    given_group,
    given_groups,
    selected_groups,
)
from cordwood.client.admin.group_types import GroupListing
from tests.unit.cli.groups.group_samples import make_group


@pytest.mark.parametrize(("groups", "is_all"), ((["a"], True), ([], False), (None, False)))
def test_selection_is_rejected_unless_made_once(
    groups: list[str] | None,
    is_all: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    assert given_groups(["b", "a"], ["a"], is_all=False) == ["b", "a"]
    assert given_groups(None, None, is_all=True) == []

    with pytest.raises(typer.BadParameter, match="--all-groups"):
        given_groups(groups, None, is_all=is_all)


@pytest.mark.parametrize(("argument", "option"), (("a", None), (None, "a"), ("a", "a")))
def test_one_group_is_the_argument_or_the_option(argument: str | None, option: str | None) -> None:
    assert given_group(argument, option) == "a"


@pytest.mark.parametrize(
    ("argument", "option", "problem"),
    ((None, None, "no group is given"), ("a", "b", "give one group")),
)
def test_two_groups_or_none_are_rejected_for_one(
    argument: str | None, option: str | None, problem: str
) -> None:
    with pytest.raises(typer.BadParameter, match=problem):
        given_group(argument, option)


def test_group_of_another_protocol_is_left_out() -> None:
    groups = [
        GroupListing(group_id=each, protocol_type=each, state="", type="")
        for each in ("", "connect", "consumer", "share")
    ]

    assert [each.group_id for each in consumer_groups(groups)] == ["", "consumer"]


def test_all_groups_are_those_of_the_cluster(bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1}, group="b")
    make_group(bootstrap, {("orders", 0): 1}, group="a")

    with cordwood.Admin(bootstrap) as admin:
        assert selected_groups(admin, None) == ["a", "b"]
        assert selected_groups(admin, ["y", "x", "y"]) == ["x", "y"]
