"""Names of values in help and usage: `--topic TOPIC`, `--partitions N`, not the types of Python.

typer shows the type of a value (`<list[str]>`, `<bool>` of a flag), and cuts the help of a command
in a list at the end of the line. Both are replaced here, for all commands. On a terminal rich reads
`[default: all]` as a style and drops it, so brackets are escaped.
"""

from types import GenericAlias
from typing import Final

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from cordwood.cli.plain_values import Command, Parameter

_NUMBER: Final = "N"


def name_values(command: Command, parent: typer.Context | None = None) -> None:
    """Name the values of a command and of its subcommands, and keep their help whole."""
    context = typer.Context(command, parent=parent, **command.context_settings)
    if isinstance(command, TyperGroup):
        for each in command.commands.values():
            assert isinstance(each, Command), "typer builds its own commands"
            name_values(each, context)
    shown = escape if command.rich_markup_mode == "rich" else str
    command.help, command.epilog = shown(command.help or ""), shown(command.epilog or "")
    command.short_help = " ".join(command.help.partition("\n\n")[0].split())
    for param in command.get_params(context):  # with the option --help, which it then keeps
        if isinstance(param, TyperArgument):
            _name_argument(param)
        elif isinstance(param, TyperOption):
            _name_option(param)
        if isinstance(param, Parameter):
            param.help = shown(param.help or "")


def escape(text: str) -> str:
    """Return a text that rich shows as it is."""
    return text.replace("[", r"\[")


def value_name(param: Parameter) -> str:
    """Return the name of a value: its choices, N for a number, or the last word of the option."""
    choices = param.type_descriptor.choices
    if choices is not None:
        return "|".join(str(getattr(each, "value", each)) for each in choices)
    annotation = param.type_descriptor.annotation
    if isinstance(annotation, GenericAlias):
        annotation = annotation.__args__[0]
    if annotation in (int, float):
        return _NUMBER
    word = max(param.opts, key=len) if isinstance(param, TyperOption) else (param.name or "")
    return word.replace("_", "-").rpartition("-")[2].upper()


def _name_argument(param: TyperArgument) -> None:
    """Name an argument; its type is not shown, and braces only stand around an optional one."""
    name = (param.metavar or value_name(param)).removesuffix("...")
    more = "..." if param.nargs != 1 else ""
    usage = f"{name}{more}" if param.required else f"[{name}]{more}"
    param.metavar = name + more
    # Methods of this one parameter, since typer builds the parameters itself.
    vars(param)["get_usage_pieces"] = lambda _context: [usage]
    vars(param)["display_type_rich"] = _no_type


def _name_option(param: TyperOption) -> None:
    """Name the value of an option; a flag has none."""
    if param.is_flag:
        vars(param)["display_type_rich"] = _no_type
        return
    param.metavar = param.metavar or value_name(param)
    # A range with both ends in words: typer would show `1<=x<=100`, and each minimum.
    if param.max is not None:
        param.help = f"{param.help}  [{param.min} to {param.max}]"
    param.min = param.max = None  # only for the help: values are compared with the declaration


def _no_type(ctx: typer.Context) -> str:  # noqa: ARG001  # how typer calls it
    return ""
