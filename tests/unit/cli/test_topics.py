"""`cordwood topics` as it is called."""

import json
from pathlib import Path

import pytest
import typer

from cordwood.cli.topics import assignments_in, offsets_in
from cordwood.core.errors import SettingError
from tests.unit.cli.commands import Command


def test_topics_are_listed(command: Command) -> None:
    command("topics", "create", "--topic", "b", "--partitions", "1")
    command("topics", "create", "--topic", "a", "--partitions", "1")

    assert command("topics", "list").out == "a\nb\n"
    assert json.loads(command("topics", "list", "--json").out) == {"topics": ["a", "b"]}


def test_no_topics_are_no_lines(command: Command) -> None:
    assert command("topics", "list").out == ""


def test_create_says_what_it_made(command: Command) -> None:
    said = command("topics", "create", "--topic", "a", "--partitions", "2")

    assert said.code == 0
    assert said.out.startswith("a: created, id ")
    assert said.out.endswith(", partitions 2, replication factor 1\n")


def test_create_makes_nothing_when_it_validates(command: Command) -> None:
    said = command("topics", "create", "--topic", "a", "--validate-only")

    assert said.out == "a: can be created, partitions 1, replication factor 1\n"
    assert command("topics", "list").out == ""


def test_create_refuses_a_topic_that_is_there(command: Command) -> None:
    command("topics", "create", "--topic", "a")

    again = command("topics", "create", "--topic", "a")
    assert (again.code, again.out) == (1, "")
    assert "already exists" in again.err
    lenient = command("topics", "create", "--topic", "a", "--if-not-exists")
    assert (lenient.code, lenient.err) == (0, "topic a is there already\n")


@pytest.mark.parametrize(
    "how",
    (
        ("--replica-assignment", "1,1"),
        ("--placement", "textbook", "--partitions", "2", "--replication-factor", "1"),
    ),
)
def test_create_places_replicas_as_it_is_told(command: Command, how: tuple[str, ...]) -> None:
    command("topics", "create", "--topic", "a", *how)

    (topic,) = json.loads(command("topics", "describe", "--json").out)["topics"]
    assert [each["replicas"] for each in topic["partitions"]] == [[1], [1]]


def test_textbook_needs_to_know_how_many(command: Command) -> None:
    said = command("topics", "create", "--topic", "a", "--placement", "textbook")

    assert said.code == 2
    assert "--replication-factor" in said.err


def test_textbook_refuses_more_replicas_than_brokers(command: Command) -> None:
    how = ("--placement=textbook", "--partitions=1", "--replication-factor=2")

    said = command("topics", "create", "--topic", "a", *how)

    assert said.code == 1
    assert "only 1 broker(s) are registered" in said.err


def test_describe_shows_partitions_and_what_was_set(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1", "--config", "segment.ms=9")

    head, partition = command("topics", "describe", "--topic", "a").out.splitlines()

    assert head.endswith("\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: segment.ms=9")
    assert partition == "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1"


@pytest.mark.parametrize(
    "asked", (("describe",), ("alter", "--partitions", "2"), ("delete",)), ids=lambda each: each[0]
)
def test_missing_topic_is_refused_at_once(command: Command, asked: tuple[str, ...]) -> None:
    said = command("topics", *asked, "--topic", "a")

    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("cordwood: the cluster has no topic 'a'")


def test_alter_gives_more_partitions(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")

    assert (
        command("topics", "alter", "--topic", "a", "--partitions=3").out == "a: has 3 partitions\n"
    )
    assert "PartitionCount: 3" in command("topics", "describe").out


def test_delete_deletes_what_is_there(command: Command) -> None:
    command("topics", "create", "--topic", "a")

    said = command("topics", "delete", "--topic", "b", "--topic", "a", "--if-exists")

    assert (said.code, said.out) == (0, "a: deleted\n")
    assert command("topics", "list").out == ""


def test_delete_records_moves_the_start(command: Command, tmp_path: Path) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")
    command("produce", "a", stdin=b"x\ny\nz\n")
    file = tmp_path / "offsets.json"
    file.write_text('{"partitions": [{"topic": "a", "partition": 0, "offset": 2}], "version": 1}')

    said = command("topics", "delete-records", "--offset-json-file", str(file))
    as_json = command("topics", "delete-records", "--offset-json-file", str(file), "--json")

    assert said.out == "a-0: starts at 2\n"
    expected = {"topic": "a", "partition": 0, "log_start": 2}
    assert json.loads(as_json.out) == {"partitions": [expected]}


@pytest.mark.parametrize(
    "text",
    (
        b"",
        b"[]",
        b'{"partitions": [{"topic": "a"}]}',
        b'{"partitions": [], "version": 2}',
        (
            b'{"partitions": [{"topic": "a", "partition": 0, "offset": 1},'
            b' {"topic": "a", "partition": 0, "offset": 2}]}'
        ),
    ),
)
def test_file_of_offsets_that_cannot_be_used_is_named(text: bytes) -> None:
    with pytest.raises(SettingError, match=r"^f\.json "):
        offsets_in("f.json", text)


def test_assignment_is_brokers_by_partition() -> None:
    assert assignments_in("0:1,1:2") == {0: [0, 1], 1: [1, 2]}
    assert assignments_in(None) == {}
    with pytest.raises(typer.BadParameter, match="'0:x' is no list of brokers"):
        assignments_in("0:x")
