"""`cordwood groups describe` as it is called."""

import json

import pytest

from tests.unit.cli.commands import Command
from tests.unit.cli.groups.group_samples import make_group


def test_offsets_are_described_with_the_columns_of_kafka(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})

    result = command("groups", "describe", "--group", "billing")

    titles, row = result.out.splitlines()
    assert titles.split() == [
        *("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"),
        *("LAG-SECONDS", "CONSUMER-ID", "HOST", "CLIENT-ID"),
    ]
    assert row.split()[:6] == ["billing", "orders", "0", "1", "4", "3"]
    assert result.err == "group 'billing': has no active members\n"


def test_groups_are_arguments_too(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1}, group="a")
    make_group(bootstrap, {("orders", 0): 1}, group="b")

    found = command("groups", "describe", "b", "a", "--group", "a", "--state", "--json").out

    assert [json.loads(each)["group"] for each in found.splitlines()] == ["a", "b"]


def test_state_is_described_as_json(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})

    found = json.loads(command("groups", "describe", "--all-groups", "--state", "--json").out)

    assert (found["state"], found["members"], found["assignment_strategy"]) == ("Empty", 0, None)
    assert found["coordinator"] == f"{bootstrap} (1)"


def test_members_of_an_empty_group_are_none(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})

    assert command("groups", "describe", "--group", "billing", "--members").out == ""


@pytest.mark.parametrize(
    ("words", "code"),
    (
        (("--group", "nowhere"), 1),
        ((), 2),
        (("--group", "g", "--all-groups"), 2),
        (("--group", "g", "--members", "--state"), 2),
    ),
    ids=str,
)
def test_unusable_selection_is_an_error(
    command: Command, words: tuple[str, ...], code: int
) -> None:
    assert command("groups", "describe", *words).code == code


def test_missing_groups_are_reported_after_the_others(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})

    result = command("groups", "describe", "absent", "billing", "--json")

    assert [json.loads(each)["group"] for each in result.out.splitlines()] == ["billing"]
    assert result.err.splitlines()[-1].startswith("cordwood: ")
    assert "absent" in result.err
    assert result.code == 1
