"""`cordwood configs` as it is called."""

import json
from pathlib import Path

import pytest

from cordwood.cli.configs import changes_in
from tests.unit.cli.commands import Command

TOPIC = ("--entity-type", "topics", "--entity-name", "a")
BROKERS = ("--entity-type", "brokers")


@pytest.fixture(autouse=True)
def _topic(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--config", "segment.ms=9")


def test_describe_shows_what_was_set(command: Command) -> None:
    assert command("configs", "describe", *TOPIC).out == "topic a\n  segment.ms = 9 (topic)\n"


def test_describe_shows_all_when_asked(command: Command) -> None:
    lines = command("configs", "describe", *TOPIC, "--all").out.splitlines()

    assert "  retention.ms = 604800000 (default)" in lines


def test_describe_shows_everything_of_a_kind(command: Command) -> None:
    assert command("configs", "describe", "--entity-type", "topics").out.startswith("topic a\n")
    assert command("configs", "describe", *BROKERS).out == "broker 1\n"
    loggers = command("configs", "describe", "--entity-type", "broker-loggers").out
    assert loggers.startswith("broker logger 1\n  cordwood = ")


def test_describe_as_json_has_the_documentation(command: Command) -> None:
    (told,) = json.loads(command("configs", "describe", *TOPIC, "--json").out)["resources"]

    assert (told["resource_type"], told["name"]) == ("topic", "a")
    (entry,) = told["entries"]
    assert (entry["value"], entry["source"]) == ("9", "topic")
    assert entry["documentation"]


def test_alter_changes_and_resets(command: Command) -> None:
    changes = ("--add-config", "cleanup.policy=[compact,delete]", "--delete-config", "segment.ms")

    said = command("configs", "alter", *TOPIC, *changes)

    assert said.out == "topic a: cleanup.policy = compact,delete, segment.ms as by default\n"
    shown = command("configs", "describe", *TOPIC).out
    assert shown == "topic a\n  cleanup.policy = compact,delete (topic)\n"


def test_alter_reads_a_file(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text("retention.ms=1000\n")

    command("configs", "alter", *TOPIC, "--add-config-file", str(file))

    assert "  retention.ms = 1000 (topic)" in command("configs", "describe", *TOPIC).out


def test_alter_changes_what_holds_for_all_brokers(command: Command) -> None:
    said = command(
        "configs", "alter", *BROKERS, "--entity-default", "--add-config", "log.retention.ms=1000"
    )

    assert said.out == "all brokers: log.retention.ms = 1000\n"
    line = "  log.retention.ms = 1000 (all brokers)\n"
    assert command("configs", "describe", *BROKERS).out == f"broker 1\n{line}"
    shown = command("configs", "describe", *BROKERS, "--entity-default").out
    assert shown == f"all brokers\n{line}"


def test_alter_refuses_a_bad_value_in_the_brokers_words(command: Command) -> None:
    said = command("configs", "alter", *TOPIC, "--add-config", "retention.ms=x")

    assert said.code == 1
    assert "Invalid value x for configuration retention.ms" in said.err


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
def test_configs_refuses_what_makes_no_sense(command: Command, given: tuple[str, ...]) -> None:
    assert command("configs", *given).code == 2


def test_changes_are_between_commas_outside_of_brackets() -> None:
    assert changes_in("a=[b,c], d=e=f,g=") == {"a": "b,c", "d": "e=f", "g": ""}
