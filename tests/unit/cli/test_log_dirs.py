"""`cordwood log-dirs` as it is called."""

import json

import pytest
import typer

from cordwood.cli.log_dirs import parse_ids
from tests.unit.cli.commands import Command


def test_directories_are_printed_with_their_size(command: Command) -> None:
    command("topics", "create", "a", "--partitions=2")
    command("produce", "a", stdin=b"x\n")

    row = json.loads(command("log-dirs", "--describe", "--json").out)

    assert (row["broker"], row["log_dir"], row["partitions"]) == (1, "/logs", 2)
    assert row["size_bytes"] > 0
    assert row["error"] is None


def test_sizes_of_a_table_have_units(command: Command) -> None:
    command("topics", "create", "a")
    command("produce", "a", stdin=b"x" * 2000 + b"\n")

    titles, row = command("log-dirs", "describe").out.splitlines()

    assert titles.split() == [
        *("BROKER", "LOG-DIR", "PARTITIONS", "SIZE", "TOTAL", "USABLE", "ERROR")
    ]
    assert row.split()[3:5] == ["2.0", "KiB"]


def test_replicas_of_topics_are_printed_one_a_line(command: Command) -> None:
    command("topics", "create", "a", "--partitions=2")
    command("topics", "create", "b")

    rows = command("log-dirs", "describe", "--topic-list", "a", "--broker-list=1").out.splitlines()

    assert [each.split() for each in rows] == [
        ["BROKER", "LOG-DIR", "TOPIC", "PARTITION", "SIZE", "OFFSET-LAG", "FUTURE"],
        ["1", "/logs", "a", "0", "0", "B", "0", "no"],
        ["1", "/logs", "a", "1", "0", "B", "0", "no"],
    ]


@pytest.mark.parametrize("how", (("--topic-list", "b"), ("--broker-list", "7")))
def test_missing_topic_or_broker_is_an_error(command: Command, how: tuple[str, ...]) -> None:
    assert command("log-dirs", "describe", *how).code == 1


def test_ids_are_separated_by_commas() -> None:
    assert parse_ids("1, 2") == [1, 2]
    with pytest.raises(typer.BadParameter, match="give 1,2"):
        parse_ids("localhost:9092")
