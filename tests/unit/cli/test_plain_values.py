"""Plain values are converted as typer converts them, without pydantic and its messages."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer
from typer.core import TyperGroup, TyperOption

from cordwood.cli.plain_values import (
    Command,
    Parameter,
    PlainConversion,
    ValueConversion,
    typers_conversion,
)
from cordwood.cli.program import FAMILIES, application, run

VALUES = (
    "", "a", "A", "sample", "text", "raw", "0", "7", "-1", "+1", " 1", "1_0", "9" * 20, "\u00b2",
    "1.5", "1e3", "true", "no", "x=y", "\u00e9", 0, 7, -1, 1.5, True, False, None, b"b",
)  # fmt: skip


def parameters_of(
    command: Command, parent: typer.Context | None = None
) -> Iterator[tuple[Parameter, typer.Context]]:
    """Yield all parameters of a command and of its subcommands, with their contexts."""
    context = typer.Context(command, parent=parent, **command.context_settings)
    if isinstance(command, TyperGroup):
        for each in command.commands.values():
            assert isinstance(each, Command)
            yield from parameters_of(each, context)
    for param in command.get_params(context):
        assert isinstance(param, Parameter)
        yield param, context


def converted(
    conversion: ValueConversion, value: object, param: Parameter, *, context: typer.Context
) -> tuple[str, object]:
    """Return the types and the value that a conversion returns, or that it has rejected it."""
    try:
        result = conversion.coerce(value, param=param, ctx=context)
    except typer.BadParameter:
        return "error", None
    elements = [type(each) for each in result] if isinstance(result, list) else []
    return f"{type(result)} {elements}", result


@pytest.mark.parametrize("family", sorted({*FAMILIES} - {"serve"}))
def test_values_are_converted_as_by_typer(family: str) -> None:
    command = typer.main.get_command(application([family]))
    assert isinstance(command, Command)
    plain = 0

    for param, context in parameters_of(command):
        is_list = param.nargs == -1 or (isinstance(param, TyperOption) and param.multiple)
        typers, own = typers_conversion(param), PlainConversion(param)
        for sample in (*VALUES, param.default, *(param.type_descriptor.choices or ())):
            value = (sample, "b") if is_list and sample is not None else sample
            expected = converted(typers, value, param, context=context)

            assert converted(own, value, param, context=context) == expected
            plain += expected[0] != "error"

    assert plain > len(VALUES)


PROGRAM = """
import sys
from cordwood.cli.program import run
try:
    run({arguments})
finally:
    print("pydantic" in sys.modules)
"""


@pytest.mark.parametrize(
    "arguments",
    (["log", "verify", "--json", "no-log"], ["bench", "produce", "--topic=t", "--num-records=x"]),
)
def test_no_plain_value_imports_pydantic(arguments: list[str]) -> None:
    program = PROGRAM.format(arguments=arguments)
    done = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=False
    )

    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("arguments", "message"),
    (
        (["topics", "create", "--partitions", "x"], "'x' is not a whole number"),
        (["topics", "create", "--partitions=-2"], "-2 is too small; the minimum is -1"),
        (["cluster", "up", "--brokers=101"], "101 is too large; the maximum is 100"),
        (["configs", "describe", "--entity-type=topic"], "did you mean 'topics'?"),
        (["produce", "t", "--acks=2"], "'2' is not one of 0, 1, all"),
    ),
)
def test_wrong_value_is_rejected_with_the_option_and_the_rule(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        run(arguments)

    text = capsys.readouterr().err
    assert exited.value.code == 2
    assert message in text
    assert "Invalid value for '--" in text
