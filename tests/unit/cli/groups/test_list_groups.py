"""`cordwood groups list` as it is called."""

import json

import pytest
import typer

from cordwood.cli.groups.list_groups import STATES, listing_row, parse_names, with_values
from cordwood.client.admin.group_types import GroupListing
from tests.unit.cli.commands import Command
from tests.unit.cli.groups.group_samples import make_group


def test_groups_are_listed_with_what_is_asked_for(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})

    assert command("groups", "list").out == "billing\n"
    assert command("groups", "list", "--state").out == "GROUP    STATE\nbilling  Empty\n"
    assert command("groups", "list", "--state", "stable,dead", "--type").out == ""
    assert json.loads(command("groups", "list", "--type", "classic", "--json").out) == {
        "group": "billing",
        "type": "Classic",
    }


def test_unknown_state_is_rejected_with_the_known_ones(command: Command) -> None:
    result = command("groups", "list", "--state", "busy")

    assert result.code == 2
    assert "'busy' is not a state" in result.err


@pytest.mark.parametrize(
    ("given", "completed"),
    (
        (["--state"], ["--state="]),
        (["--state", "--json"], ["--state=", "--json"]),
        (["--state", "stable", "--type"], ["--state", "stable", "--type="]),
        ([], []),
    ),
    ids=str,
)
def test_option_without_a_value_has_an_empty_one(given: list[str], completed: list[str]) -> None:
    assert with_values(given) == completed


def test_names_are_parsed_in_any_case() -> None:
    assert parse_names("stable, EMPTY", known=STATES, what="state") == ["Stable", "Empty"]
    assert parse_names("", known=STATES, what="state") == []
    assert parse_names(None, known=STATES, what="state") == []
    with pytest.raises(typer.BadParameter):
        parse_names("stable,", known=STATES, what="state")


def test_state_that_a_broker_does_not_report_is_unknown() -> None:
    group = GroupListing(group_id="g", protocol_type="consumer", state="", type="")

    assert listing_row(group, has_type=True, has_state=True) == {
        "GROUP": "g",
        "TYPE": "Unknown",
        "STATE": "Unknown",
    }
