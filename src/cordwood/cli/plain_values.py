"""Values of the command line that need no check of typer, converted without it.

typer converts every value with pydantic, also the defaults. The first value of a command imports
it, and each option compiles a schema: a third of the time of a short command. So strings, flags,
whole numbers and names of choices are converted here, with messages in our words. All other types
are left to typer.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from types import GenericAlias
from typing import Protocol

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.models import ParameterInfo

Command = TyperCommand | TyperGroup
Parameter = TyperArgument | TyperOption


class ValueConversion(Protocol):
    """A conversion of one parameter's values, as typer calls it."""

    def coerce(self, value: object, *, param: Parameter, ctx: typer.Context) -> object:
        """Return the value that the command receives."""


def convert_plain_values(command: Command, parent: typer.Context | None = None) -> None:
    """Have the parameters of a command, and of its subcommands, convert plain values here."""
    context = typer.Context(command, parent=parent, **command.context_settings)
    if isinstance(command, TyperGroup):
        for each in command.commands.values():
            assert isinstance(each, Command), "typer builds its own commands"
            convert_plain_values(each, context)
    for param in command.get_params(context):  # with the option --help, which it then keeps
        # A typer whose parameters lack the attribute converts without pydantic.
        if isinstance(param, Parameter) and hasattr(param, "_runtime_param"):
            vars(param)["_runtime_param"] = PlainConversion(param)


def typers_conversion(param: Parameter) -> ValueConversion:
    """Return typer's own conversion, which imports pydantic."""
    from typer._coercion import build_runtime_param  # noqa: PLC0415  # it imports pydantic

    conversion: ValueConversion = build_runtime_param(param.type_descriptor)
    return conversion


@dataclass(slots=True)
class PlainConversion:
    """The conversion of one parameter."""

    _param: Parameter

    def coerce(self, value: object, *, param: Parameter, ctx: typer.Context) -> object:
        """Return the value that the command receives; see `ValueConversion`."""
        try:
            return self._convert(value, param=param, ctx=ctx)
        except typer.BadParameter as error:
            error.param, error.ctx = param, ctx
            raise

    def _convert(self, value: object, *, param: Parameter, ctx: typer.Context) -> object:
        is_list = param.nargs == -1 or (isinstance(param, TyperOption) and param.multiple)
        if value is None:
            return () if is_list else None
        annotation = self._param.type_descriptor.annotation
        is_list_type = isinstance(annotation, GenericAlias) and annotation.__origin__ is list
        if is_list and is_list_type and isinstance(value, list | tuple):
            converted = [self._plain(each, annotation.__args__[0]) for each in value]
            if None not in converted:
                return converted
        elif not is_list and (plain := self._plain(value, annotation)) is not None:
            return plain
        return typers_conversion(self._param).coerce(value, param=param, ctx=ctx)

    def _plain(self, value: object, annotation: object) -> object | None:
        """Return a converted value; None for one that typer has to convert."""
        info = self._param.type_descriptor.parameter_info
        if info.parser is not None or not isinstance(annotation, type):
            return None
        if annotation in (str, bool):
            return value if type(value) is annotation else None
        if annotation is int:
            number = _number(value)
            if number is not None:
                _ensure_between(number, info)
            return number
        if issubclass(annotation, Enum):
            return _choice(value, annotation)
        return None


def _number(value: object) -> int | None:
    """Return a whole number, or the one that a text names; None for another type."""
    if type(value) is int:
        return value
    if not isinstance(value, str):
        return None
    try:
        return int(value)
    except ValueError:
        raise typer.BadParameter(f"{value!r} is not a whole number") from None


def _ensure_between(number: int, info: ParameterInfo) -> None:
    if info.min is not None and number < info.min:
        raise typer.BadParameter(f"{number} is too small; the minimum is {info.min}")
    if info.max is not None and number > info.max:
        raise typer.BadParameter(f"{number} is too large; the maximum is {info.max}")


def _choice(value: object, choices: type[Enum]) -> Enum:
    """Return the choice with this name."""
    for each in choices:
        if value == each or str(value) == str(each.value):
            return each
    names = [str(each.value) for each in choices]
    near = get_close_matches(str(value), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise typer.BadParameter(f"{value!r} is not one of {', '.join(names)}{hint}")
