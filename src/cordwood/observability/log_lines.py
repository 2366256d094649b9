r"""Lines of log events, in logfmt or JSON (Kafka: the pattern layout of log4j2).

    logfmt   time=… level=INFO logger=cordwood.broker event="listener open" port=9092
    json     {"time": …, "level": "INFO", "logger": "cordwood.broker", "event": …, "port": 9092}

A line is printable ASCII. Everything else is escaped, since clients choose a part of the text, and
terminals execute control characters. A line has at most LINE_BYTES, or STACK_BYTES with a stack:
long values lose their middle.
"""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

FieldValue: TypeAlias = str | int | float | bool | None
LOGFMT: Final = "logfmt"
JSON: Final = "json"

LINE_BYTES: Final = 1_000
STACK_BYTES: Final = 8_000
#: The fields of a stack.
STACKS: Final = frozenset({"error", "stack"})

#: A value that stands in a logfmt line as it is.
_PLAIN: Final = re.compile(r"[!#-<>-\[\]-~]+")
_LEFT_OUT: Final = "..."
#: Fields that are constants of the code, and always whole.
_WHOLE: Final = frozenset({"time", "level"})


def event_line(values: Mapping[str, FieldValue], style: str) -> str:
    """Return the fields of an event as one line, shortened as far as needed."""
    write = _WRITERS[style]
    limit = length = LINE_BYTES if STACKS.isdisjoint(values) else STACK_BYTES
    line = write(_shortened(values, length))
    while len(line) > limit and length:
        length //= 2
        line = write(_shortened(values, length))
    return line


def _shortened(values: Mapping[str, FieldValue], length: int) -> dict[str, FieldValue]:
    """Return the fields with values of at most `length` characters, before they are escaped."""
    return {
        key: value if key in _WHOLE or not isinstance(value, str) else _cut(value, length)
        for key, value in values.items()
    }


def _cut(text: str, length: int) -> str:
    half = length // 2
    return text if len(text) <= length else text[:half] + _LEFT_OUT + text[len(text) - half :]


def _json_line(values: Mapping[str, FieldValue]) -> str:
    return _escaped(values)


def _logfmt_line(values: Mapping[str, FieldValue]) -> str:
    return " ".join(f"{key}={_logfmt_value(value)}" for key, value in values.items())


def _logfmt_value(value: FieldValue) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else ""
    text = str(value)
    return text if _PLAIN.fullmatch(text) else _escaped(text)


def _escaped(value: str | Mapping[str, FieldValue]) -> str:
    """Return a value as JSON in printable ASCII; JSON itself does not escape DEL."""
    return json.dumps(value).replace("\x7f", "\\u007f")


_WRITERS: Final[Mapping[str, Callable[[Mapping[str, FieldValue]], str]]] = MappingProxyType(
    {LOGFMT: _logfmt_line, JSON: _json_line}
)
