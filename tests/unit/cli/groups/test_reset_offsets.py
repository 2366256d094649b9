"""`cordwood groups reset-offsets` as it is called."""

from pathlib import Path

import pytest

from tests.unit.cli.commands import Command
from tests.unit.cli.groups.group_samples import committed, make_group

RESET = ("groups", "reset-offsets", "--group", "billing")


def test_dry_run_is_the_default(command: Command, bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 2})

    words = ("groups", "reset-offsets", "billing", "--topic", "orders:0", "--to-earliest")
    result = command(*words)

    assert [line.split() for line in result.out.splitlines()] == [
        ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"],
        ["billing", "orders", "0", "0"],
    ]
    assert "add --execute" in result.err
    assert committed(bootstrap) == {("orders", 0): 2}


def test_group_without_committed_offsets_has_nothing_to_execute(
    command: Command, bootstrap: str
) -> None:
    result = command(*RESET, "--all-topics", "--to-earliest")

    assert (result.code, result.out) == (1, "")
    assert "has no committed offsets" in result.err
    assert "--execute" not in result.err


def test_exported_offsets_are_restored_from_the_file(
    command: Command, bootstrap: str, tmp_path: Path
) -> None:
    make_group(bootstrap, {("orders", 0): 2})
    file = tmp_path / "plan.csv"

    file.write_text(command(*RESET, "--all-topics", "--to-current", "--export").out)
    command(*RESET, "--all-topics", "--to-latest", "--execute")
    result = command(*RESET, "--from-file", str(file), "--execute", "--json")

    assert file.read_text() == "orders,0,2\n"
    assert result == (
        0,
        '{"group": "billing", "topic": "orders", "partition": 0, "new_offset": 2}\n',
        "",
    )
    assert committed(bootstrap) == {("orders", 0): 2}


@pytest.mark.parametrize(
    "words",
    (
        ("--topic", "orders"),
        ("--to-earliest",),
        ("--topic", "orders", "--to-earliest", "--to-latest"),
        ("--topic", "orders", "--all-topics", "--to-latest"),
        ("--topic", "orders", "--to-latest", "--dry-run", "--execute"),
        ("--all-groups", "--topic", "orders", "--to-latest"),
        ("--topic", "orders", "--by-duration", "1h"),
    ),
    ids=str,
)
def test_unusable_options_are_rejected(command: Command, words: tuple[str, ...]) -> None:
    assert command(*RESET, *words).code == 2
