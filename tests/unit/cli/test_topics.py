"""`cordwood topics` as it is called."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from cordwood.cli.topics import in_trouble, parse_assignments, parse_offsets
from cordwood.client.admin.admin_types import PartitionDescription, TopicDescription
from cordwood.core.errors import SettingError
from tests.unit.cli.commands import Command


def test_topics_are_listed(command: Command) -> None:
    command("topics", "create", "--topic", "b", "--partitions", "1")
    command("topics", "create", "--topic", "a", "--partitions", "1")

    assert command("topics", "list").out == "a\nb\n"
    assert json.loads(command("topics", "list", "--json").out) == {"topics": ["a", "b"]}


def test_empty_cluster_has_no_output(command: Command) -> None:
    assert command("topics", "list").out == ""


def test_create_prints_the_new_topic(command: Command) -> None:
    result = command("topics", "create", "--topic", "a", "--partitions", "2")

    assert result.code == 0
    assert result.out.startswith("a: created, id ")
    assert result.out.endswith(", partitions 2, replication factor 1\n")


def test_validate_only_creates_no_topic(command: Command) -> None:
    result = command("topics", "create", "--topic", "a", "--validate-only")

    assert result.out == "a: can be created, partitions 1, replication factor 1\n"
    assert command("topics", "list").out == ""


def test_create_rejects_an_existing_topic(command: Command) -> None:
    command("topics", "create", "--topic", "a")

    again = command("topics", "create", "--topic", "a")
    assert (again.code, again.out) == (1, "")
    assert "already exists" in again.err
    lenient = command("topics", "create", "--topic", "a", "--if-not-exists")
    assert (lenient.code, lenient.err) == (0, "topic a already exists\n")


@pytest.mark.parametrize(
    "how",
    (
        ("--replica-assignment", "1,1"),
        ("--placement", "textbook", "--partitions", "2", "--replication-factor", "1"),
    ),
)
def test_create_places_replicas(command: Command, how: tuple[str, ...]) -> None:
    command("topics", "create", "--topic", "a", *how)

    (topic,) = json.loads(command("topics", "describe", "--json").out)["topics"]
    assert [each["replicas"] for each in topic["partitions"]] == [[1], [1]]


def test_textbook_placement_requires_numbers(command: Command) -> None:
    result = command("topics", "create", "--topic", "a", "--placement", "textbook")

    assert result.code == 2
    assert "--replication-factor" in result.err


def test_textbook_placement_rejects_more_replicas_than_brokers(command: Command) -> None:
    how = ("--placement=textbook", "--partitions=1", "--replication-factor=2")

    result = command("topics", "create", "--topic", "a", *how)

    assert result.code == 1
    assert "only 1 broker(s) are registered" in result.err


def test_describe_prints_partitions_and_changed_settings(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1", "--config", "segment.ms=9")

    head, partition = command("topics", "describe", "--topic", "a").out.splitlines()

    assert head.endswith("\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: segment.ms=9")
    assert partition == "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1"


@pytest.mark.parametrize(
    "verb", (("describe",), ("alter", "--partitions", "2"), ("delete",)), ids=lambda each: each[0]
)
def test_missing_topic_is_rejected_without_a_retry(command: Command, verb: tuple[str, ...]) -> None:
    result = command("topics", *verb, "--topic", "a")

    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("cordwood: topic 'a' does not exist")


def test_alter_adds_partitions(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")

    assert (
        command("topics", "alter", "--topic", "a", "--partitions=3").out == "a: has 3 partitions\n"
    )
    assert "PartitionCount: 3" in command("topics", "describe").out


def test_delete_deletes_existing_topics(command: Command) -> None:
    command("topics", "create", "--topic", "a")

    result = command("topics", "delete", "--topic", "b", "--topic", "a", "--if-exists")

    assert (result.code, result.out) == (0, "a: deleted\n")
    assert command("topics", "list").out == ""


def test_delete_records_advances_the_log_start(command: Command, tmp_path: Path) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")
    command("produce", "a", stdin=b"x\ny\nz\n")
    file = tmp_path / "offsets.json"
    file.write_text('{"partitions": [{"topic": "a", "partition": 0, "offset": 2}], "version": 1}')

    result = command("topics", "delete-records", "--offset-json-file", str(file))
    as_json = command("topics", "delete-records", "--offset-json-file", str(file), "--json")

    assert result.out == "a-0: starts at 2\n"
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
def test_unusable_file_of_offsets_is_named(text: bytes) -> None:
    with pytest.raises(SettingError, match=r"^f\.json: "):
        parse_offsets("f.json", text)


def test_assignment_is_brokers_by_partition() -> None:
    assert parse_assignments("0:1,1:2") == {0: [0, 1], 1: [1, 2]}
    assert parse_assignments(None) == {}
    with pytest.raises(typer.BadParameter, match="'0:x' is not a list of broker ids"):
        parse_assignments("0:x")


def test_topic_is_an_argument_or_an_option(command: Command) -> None:
    assert command("topics", "create", "a", "--partitions=1").code == 0
    assert command("topics", "alter", "a", "--partitions=2").out == "a: has 2 partitions\n"
    assert command("topics", "describe", "a").out.startswith("Topic: a\t")
    assert command("topics", "delete", "a").out == "a: deleted\n"
    assert "give one topic" in command("topics", "create", "a", "--topic", "b").err
    assert "no topic is given" in command("topics", "delete").err


def test_topics_are_selected_by_expression(command: Command) -> None:
    for name in ("orders", "returns", "other"):
        command("topics", "create", name)

    assert command("topics", "list", "o.*").out == "orders\nother\n"
    assert command("topics", "describe", "--topic", "or.+").out.startswith("Topic: orders\t")
    assert command("topics", "delete", "o[r].*").out == "orders: deleted\n"
    assert command("topics", "list").out == "other\nreturns\n"


def test_describe_prints_only_partitions_in_trouble(command: Command) -> None:
    command("topics", "create", "a", "--config", "segment.ms=9")
    command("topics", "create", "b")

    assert command("topics", "describe", "--under-replicated-partitions").out == ""
    assert command("topics", "describe", "--unavailable-partitions").out == ""
    (head,) = command("topics", "describe", "--topics-with-overrides").out.splitlines()
    assert head.startswith("Topic: a\t")


def test_partitions_in_trouble_are_out_of_sync_or_without_a_leader() -> None:
    healthy = PartitionDescription(
        partition=0, leader=1, leader_epoch=0, replicas=(1, 2), in_sync=(1, 2), offline=()
    )
    partitions = (
        healthy,
        replace(healthy, partition=1, in_sync=(1,)),
        replace(healthy, partition=2, leader=-1, in_sync=()),
    )
    topic = TopicDescription(name="a", topic_id="", is_internal=False, partitions=partitions)

    def numbers(*, only_unavailable: bool) -> list[int]:
        (found,) = in_trouble([(topic, {})], only_unavailable=only_unavailable, moves={})
        return [each.partition for each in found[0].partitions]

    assert numbers(only_unavailable=False) == [1, 2]
    assert numbers(only_unavailable=True) == [2]


def test_describe_leaves_out_missing_topics_on_request(command: Command) -> None:
    result = command("topics", "describe", "a", "--if-exists")

    assert (result.code, result.out, result.err) == (0, "", "")
