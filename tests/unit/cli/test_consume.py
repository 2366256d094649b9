"""Options of `cordwood consume` take effect."""

import pytest

from tests.unit.cli.commands import Command


def test_group_is_rejected_with_a_remedy(command: Command) -> None:
    result = command("consume", "a", "--group", "g")

    assert (result.code, result.out) == (2, "")
    assert "consumer groups are not supported yet" in result.err


@pytest.mark.parametrize("level", ("read_committed", "read_uncommitted"))
def test_isolation_level_is_passed_on(command: Command, level: str) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")
    command("produce", "a", stdin=b"x\n")

    how = ("--from-beginning", "--isolation-level", level, "--max-messages=1")

    assert command("consume", "a", *how) == (0, "x\n", "a: 1 records read\n")
