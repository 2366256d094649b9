"""The options of `cordwood consume` are heard."""

import pytest

from tests.unit.cli.commands import Command


def test_group_is_refused_with_what_to_do(command: Command) -> None:
    said = command("consume", "a", "--group", "g")

    assert (said.code, said.out) == (2, "")
    assert "no consumer groups yet" in said.err


@pytest.mark.parametrize("level", ("read_committed", "read_uncommitted"))
def test_isolation_level_is_passed_on(command: Command, level: str) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")
    command("produce", "a", stdin=b"x\n")

    how = ("--from-beginning", "--isolation-level", level, "--max-messages=1")

    assert command("consume", "a", *how) == (0, "x\n", "a: 1 records read\n")
