"""Groups are named, or all groups of consumers."""

import pytest
import typer

import cordwood
from cordwood.cli.groups.group_selection import (
    consumer_groups,
    ensure_selection,
    selected_groups,
)
from cordwood.client.admin.group_types import GroupListing
from tests.unit.cli.groups.group_samples import make_group


@pytest.mark.parametrize(("groups", "is_all"), ((["a"], True), ([], False), (None, False)))
def test_selection_is_rejected_unless_made_once(
    groups: list[str] | None,
    is_all: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    ensure_selection(["a"], is_all=False)
    ensure_selection(None, is_all=True)

    with pytest.raises(typer.BadParameter):
        ensure_selection(groups, is_all=is_all)


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
