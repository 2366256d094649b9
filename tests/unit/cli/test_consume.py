"""Options of `cordwood consume` take effect."""

import pytest

from tests.unit.cli.commands import Command


def test_group_continues_behind_the_printed_records(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")
    command("produce", "a", stdin=b"x\ny\n")

    how = ("--group", "g", "--from-beginning", "--max-messages=1")

    assert command("consume", "a", *how) == (0, "x\n", "a: 1 record read\n")
    assert command("consume", "a", *how).out == "y\n"


def test_group_begins_at_the_end_where_no_offset_is_committed(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")
    command("produce", "a", stdin=b"x\n")

    assert command("consume", "a", "--group", "g", "--timeout-ms=1000").out == ""


@pytest.mark.parametrize("option", ("--partition=0", "--offset=3", "--timestamp=5"))
def test_group_excludes_options_of_partitions(command: Command, option: str) -> None:
    result = command("consume", "a", "--group", "g", option)

    assert (result.code, result.out) == (2, "")
    assert "cannot be combined" in result.err


def test_isolation_level_of_a_setting_is_kept_without_the_option(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")
    command("produce", "a", stdin=b"x\n")
    words = ("consume", "a", "--from-beginning", "--max-messages=1")
    setting = "--command-property=isolation.level=serializable"

    rejected = command(*words, setting)

    assert rejected.code == 2
    assert "serializable" in rejected.err
    assert command(*words, setting, "--isolation-level=read_committed").out == "x\n"


@pytest.mark.parametrize("level", ("read_committed", "read_uncommitted"))
def test_isolation_level_is_passed_on(command: Command, level: str) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")
    command("produce", "a", stdin=b"x\n")

    how = ("--from-beginning", "--isolation-level", level, "--max-messages=1")

    assert command("consume", "a", *how) == (0, "x\n", "a: 1 record read\n")
