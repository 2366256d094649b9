"""`cordwood configs` as it is called."""

import json
from pathlib import Path

import pytest

from cordwood.cli.configs import parse_changes
from tests.unit.cli.commands import Command

TOPIC = ("--entity-type", "topics", "--entity-name", "a")
BROKERS = ("--entity-type", "brokers")


@pytest.fixture(autouse=True)
def _topic(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--config", "segment.ms=9")


def test_describe_prints_changed_settings(command: Command) -> None:
    assert command("configs", "describe", *TOPIC).out == "topic a\n  segment.ms = 9 (topic)\n"


def test_describe_prints_all_settings_with_all(command: Command) -> None:
    lines = command("configs", "describe", *TOPIC, "--all").out.splitlines()

    assert "  retention.ms = 604800000 (default)" in lines


def test_describe_prints_every_entity_of_a_type(command: Command) -> None:
    assert command("configs", "describe", "--entity-type", "topics").out.startswith("topic a\n")
    assert command("configs", "describe", *BROKERS).out == "broker 1\n"
    loggers = command("configs", "describe", "--entity-type", "broker-loggers").out
    assert loggers.startswith("broker logger 1\n  cordwood = ")


def test_json_contains_the_documentation(command: Command) -> None:
    (parsed,) = json.loads(command("configs", "describe", *TOPIC, "--json").out)["resources"]

    assert (parsed["resource_type"], parsed["name"]) == ("topic", "a")
    (entry,) = parsed["entries"]
    assert (entry["value"], entry["source"]) == ("9", "topic")
    assert entry["documentation"]


def test_alter_changes_and_resets(command: Command) -> None:
    changes = ("--add-config", "cleanup.policy=[compact,delete]", "--delete-config", "segment.ms")

    result = command("configs", "alter", *TOPIC, *changes)

    assert result.out == "topic a: cleanup.policy = compact,delete, segment.ms reset to default\n"
    shown = command("configs", "describe", *TOPIC).out
    assert shown == "topic a\n  cleanup.policy = compact,delete (topic)\n"


def test_alter_reads_a_file(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text("retention.ms=1000\n")

    command("configs", "alter", *TOPIC, "--add-config-file", str(file))

    assert "  retention.ms = 1000 (topic)" in command("configs", "describe", *TOPIC).out


def test_alter_changes_defaults_of_all_brokers(command: Command) -> None:
    result = command(
        "configs", "alter", *BROKERS, "--entity-default", "--add-config", "log.retention.ms=1000"
    )

    assert result.out == "all brokers: log.retention.ms = 1000\n"
    line = "  log.retention.ms = 1000 (all brokers)\n"
    assert command("configs", "describe", *BROKERS).out == f"broker 1\n{line}"
    shown = command("configs", "describe", *BROKERS, "--entity-default").out
    assert shown == f"all brokers\n  min.insync.replicas = 1 (all brokers)\n{line}"


def test_bad_value_is_rejected_with_the_brokers_message(command: Command) -> None:
    result = command("configs", "alter", *TOPIC, "--add-config", "retention.ms=x")

    assert result.code == 1
    assert "Invalid value x for configuration retention.ms" in result.err


@pytest.mark.parametrize(
    "given",
    (
        ("alter", *TOPIC),
        ("alter", *BROKERS, "--add-config", "a=b"),
        ("describe", *TOPIC, "--entity-default"),
        ("describe", "--entity-type", "topics", "--entity-default"),
        ("describe", "--entity-type", "users"),
    ),
    ids=" ".join,
)
def test_contradicting_options_are_rejected(command: Command, given: tuple[str, ...]) -> None:
    assert command("configs", *given).code == 2


def test_commas_in_brackets_do_not_split() -> None:
    assert parse_changes("a=[b,c], d=e=f,g=") == {"a": "b,c", "d": "e=f", "g": ""}


def test_settings_of_a_group_are_altered_and_described(command: Command) -> None:
    group = ("--entity-type", "groups", "--entity-name", "billing")
    timeout = "consumer.session.timeout.ms"

    altered = command("configs", "alter", *group, "--add-config", f"{timeout}=50000")

    assert altered.out == f"group billing: {timeout} = 50000\n"
    shown = f"group billing\n  {timeout} = 50000 (group)\n"
    assert command("configs", "describe", *group).out == shown
    assert command("configs", "describe", "--entity-type", "groups").out == shown
    assert len(command("configs", "describe", *group, "--all").out.splitlines()) == 18


def test_setting_of_a_group_beyond_the_bounds_is_an_error(command: Command) -> None:
    group = ("--entity-type", "groups", "--entity-name", "billing")

    result = command("configs", "alter", *group, "--add-config", "consumer.session.timeout.ms=1")

    assert result.code == 1
    assert "must be greater than or equal to group.consumer.min.session.timeout.ms" in result.err
