"""Names that a command takes as arguments, or by an option as in Kafka's tools."""

from collections.abc import Iterable

import typer


def given_names(arguments: Iterable[str] | None, options: Iterable[str] | None) -> list[str]:
    """Return the names of the arguments and of the option, each once."""
    return list(dict.fromkeys((*(arguments or ()), *(options or ()))))


def given_name(
    argument: str | None, option: str | None, *, noun: str, metavar: str, flag: str
) -> str:
    """Return the name that is given as the argument or by the option `flag`."""
    if argument is not None and option is not None and argument != option:
        raise typer.BadParameter(f"both {argument!r} and {flag} {option!r}; give one {noun}")
    name = option if argument is None else argument
    if name is None:
        raise typer.BadParameter(f"no {noun} is given; name it: {metavar}, or {flag} {metavar}")
    return name
