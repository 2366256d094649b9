"""The target of a reset, parsed from the options, of which exactly one is given."""

from collections.abc import Mapping

import typer

from cordwood.cli.consume_run import parse_timestamp
from cordwood.cli.groups.offset_reset import ResetKind, ResetTarget
from cordwood.client.auto_offset_reset import BY_DURATION, duration_ms

#: A value by the option's name; None or False if the option is not given.
Given = Mapping[str, bool | int | str | None]

_FLAGS = ("to-earliest", "to-latest", "to-current", "from-file")
_NUMBERS = ("to-offset", "shift-by")


def parse_target(options: Given, *, now_ms: int) -> ResetTarget:
    """Return the target; BadParameter unless exactly one option is given."""
    given = {name: each for name, each in options.items() if each is not None and each is not False}
    if len(given) != 1:
        raise typer.BadParameter(f"give one of {', '.join(f'--{name}' for name in options)}")
    ((name, value),) = given.items()
    if name in _FLAGS:
        return ResetTarget(ResetKind(name))
    if name in _NUMBERS:
        return ResetTarget(ResetKind(name), int(value))
    if name == "to-datetime":
        return ResetTarget(ResetKind.TIME, parse_timestamp(str(value)))
    return ResetTarget(ResetKind.TIME, max(0, now_ms - parse_duration(str(value))))


def parse_duration(text: str) -> int:
    """Parse a duration of ISO 8601, in milliseconds."""
    found = duration_ms(f"{BY_DURATION}{text}")
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a duration; give P1D, PT1H30M or PT0.5S")
    return found
