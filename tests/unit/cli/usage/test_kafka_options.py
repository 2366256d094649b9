"""Kafka's spelling of a command line is translated, or answered with ours."""

from collections.abc import Iterator

import pytest
import typer.main
from typer.core import TyperGroup, TyperOption

from cordwood.cli.exit_codes import CommandLineError
from cordwood.cli.program import FAMILIES, application
from cordwood.cli.usage import kafka_options
from cordwood.cli.usage.kafka_options import VERBS, translate


@pytest.mark.parametrize(
    ("typed", "translated"),
    (
        ("topics --list", "topics list"),
        ("topics --bootstrap-server h:1 --create --topic a", "topics create -- h:1 --topic a"),
        ("topics --topic a --describe", "topics describe --topic a"),
        ("groups --group g --reset-offsets", "groups reset-offsets --group g"),
        ("--bootstrap-server h:1 topics list", "topics list -- h:1"),
        ("topics --command-config=f list --topic a", "topics list --command-config=f --topic a"),
        ("-b h:1 consume a", "consume a -b h:1"),
        ("consume --topic a --from-beginning", "consume a --from-beginning"),
        ("consume --topic=a", "consume a"),
        ("produce a --producer-property x=1", "produce a --command-property x=1"),
        ("produce a --producer-property=x=1", "produce a --command-property=x=1"),
        ("consume a --consumer.config f", "consume a --command-config f"),
        ("produce a --broker-list h:1", "produce a -- h:1"),
        ("produce a --property key.separator=: --property=parse.key=true",
         "produce a --key-separator=:"),
        ("consume a --formatter-property null.literal=x", "consume a --null-marker=x"),
        ("consume a --property print.offset=false", "consume a"),
        ("bench produce --topic a", "bench produce --topic a"),
        ("cluster up --zookeeper h:1", "cluster up --zookeeper h:1"),
        ("topics --help", "topics --help"),
        ("--version", "--version"),
        ("", ""),
    ),
)  # fmt: skip
def test_spelling_of_kafka_is_translated(typed: str, translated: str) -> None:
    expected = translated.replace("-- h:1", "--bootstrap-server h:1")

    assert translate(typed.split()) == expected.split()


def test_key_is_separated_by_a_tab_unless_a_separator_is_given() -> None:
    words = translate(["produce", "a", "--property", "parse.key=true"])

    assert words == ["produce", "a", "--key-separator=\t"]


def test_words_after_two_dashes_are_left_alone() -> None:
    assert translate(["consume", "--", "--topic"]) == ["consume", "--", "--topic"]


@pytest.mark.parametrize(
    ("typed", "answer"),
    (
        ("produce a --batch-size 9", "--batch-size is called --command-property batch.size=N here"),
        ("consume a --property print.offset=true", "--property print.offset=true is called --json"),
        ("consume a --property colour=red", "known are key.separator, null.literal, print.key"),
        ("consume --whitelist a", "run one for each"),
        ("topics list --zookeeper h:1", "was removed from Kafka too; give --bootstrap-server"),
        ("topics alter --topic a --config x=1", "cordwood configs alter --entity-type topics"),
        ("log salvage --all logs --out new", "a log directory stands for all of its partitions"),
        ("compact logs --all", "a log directory stands for all of its partitions"),
        ("--install-completion", "cordwood completion bash"),
    ),
)  # fmt: skip
def test_option_that_is_missing_is_answered_with_ours(typed: str, answer: str) -> None:
    with pytest.raises(CommandLineError, match=answer):
        translate(typed.split())


@pytest.mark.parametrize("typed", ("log verify logs", "groups describe --all-groups", "", "-h"))
def test_other_options_are_left_alone(typed: str) -> None:
    assert translate(typed.split()) == typed.split()


def options_of(command: object) -> Iterator[str]:
    """Yield the options of a command and of its subcommands."""
    if isinstance(command, TyperGroup):
        for each in command.commands.values():
            yield from options_of(each)
    for param in getattr(command, "params", ()):
        if isinstance(param, TyperOption):
            yield from param.opts


def test_tables_lead_to_options_that_exist_from_names_that_do_not() -> None:
    known = {
        family: {*options_of(typer.main.get_command(application([family])))}
        for family in ("topics", "produce", "consume", "bench", "offsets", "configs", "groups")
    }
    accepted = {
        **{(family, old): new for (family, old), new in kafka_options.SAME_IN.items()},
        **{("produce", old): new for old, new in kafka_options.SAME.items()},
        **{(family, "--property"): new for (family, _), new in kafka_options.PROPERTIES.items()},
    }

    assert all(new in known[family] for (family, _), new in accepted.items())
    assert not any(old in known[family] for family, old in accepted)


def test_answered_option_exists_in_no_command() -> None:
    known = {
        option
        for family in kafka_options.OF_KAFKA
        for option in options_of(typer.main.get_command(application([family])))
    }

    assert {each for each in kafka_options.ANSWERS if " " not in each} & known == {"--zookeeper"}


@pytest.mark.parametrize("family", VERBS)
def test_each_verb_is_a_command(family: str) -> None:
    root = typer.main.get_command(application([family]))
    assert isinstance(root, TyperGroup)
    group = root.commands[family]

    assert family in FAMILIES
    assert isinstance(group, TyperGroup)
    assert {*VERBS[family]} <= {*group.commands}
