"""Plain values are converted as typer converts them, and without pydantic."""

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
from cordwood.cli.program import FAMILIES, application

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
    """Return the types and the value that a conversion returns, or the words of its error."""
    try:
        result = conversion.coerce(value, param=param, ctx=context)
    except typer.BadParameter as error:
        return "error", error.format_message()
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
    ("arguments", "imported"),
    (
        (["log", "verify", "--json", "no-log"], "False"),
        (["bench", "produce", "--num-records", "x", "t"], "True"),
    ),
)
def test_only_a_value_that_needs_it_imports_pydantic(arguments: list[str], imported: str) -> None:
    program = PROGRAM.format(arguments=arguments)
    done = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=False
    )

    assert done.stdout.splitlines()[-1] == imported
