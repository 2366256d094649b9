"""Help names the values of options, and shows no type of Python and no cut sentence."""

import io
import re
import sys

import pytest
import typer.main

from cordwood.cli import program
from cordwood.cli.plain_values import Command
from cordwood.cli.program import FAMILIES, application
from cordwood.cli.usage.value_names import name_values
from tests.unit.cli.test_plain_values import parameters_of

ODD = re.compile(r"<\w|range|list\[|[a-z]\.\.\.$|x>=", re.MULTILINE)


def helps(command: Command, parent: typer.Context | None = None) -> str:
    """Return the help of a command and of its subcommands."""
    context = typer.Context(command, parent=parent, info_name=command.name, max_content_width=80)
    inner = getattr(command, "commands", {}).values()
    return "\n".join((command.get_help(context), *(helps(each, context) for each in inner)))


def named(family: str) -> Command:
    command = typer.main.get_command(application([family]))
    assert isinstance(command, Command)
    name_values(command)
    return command


@pytest.mark.parametrize("family", sorted({*FAMILIES} - {"serve"}))
def test_help_shows_no_type_and_no_cut_sentence(family: str) -> None:
    text = helps(named(family)).replace("[ARGS]...", "")

    assert ODD.findall(re.sub(r"(?m)^Usage: .*|^  [A-Z]+\.\.\.$", "", text)) == []


def test_values_are_named_by_their_option() -> None:
    text = helps(named("topics"))

    assert "--topic TOPIC " in text
    assert "--partitions N " in text
    assert "--placement cluster|textbook " in text


def test_range_with_two_ends_is_shown_in_words() -> None:
    assert "[1 to 100]" in helps(named("cluster"))


def test_argument_stands_without_braces() -> None:
    assert "cordwood consume [OPTIONS] TOPIC\n" in helps(named("consume"))


def test_error_names_the_option_and_not_its_value() -> None:
    for param, _ in parameters_of(named("topics")):
        if param.param_type_name == "option":
            assert param.get_error_hint().startswith("'-")


def test_terminal_shows_defaults_and_no_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "is_terminal", lambda _: True)
    console = io.StringIO()
    monkeypatch.setattr(sys, "stdout", console)

    with pytest.raises(SystemExit):
        program.run(["consume", "--help"])

    text = " ".join(re.sub(r"\x1b\[[0-9;]*m|\s*[\u2502\n]", " ", console.getvalue()).split())
    assert "[default: all]" in text
    assert "<bool>" not in text
