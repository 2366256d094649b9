"""Log events, one a line, over the standard library's logging.

An event has a constant text; variable facts are fields:
`logger.info("listener open", extra=fields(port=9092))`. Levels have Kafka's names, and are set on
the loggers of the logging module. `log_lines` has the two formats.
"""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.observability.log_lines import FieldValue, event_line

ROOT: Final = "cordwood"

_TRACE: Final = 5
LEVELS: Final = MappingProxyType(
    {
        "TRACE": _TRACE,
        "DEBUG": logging.DEBUG,
        "INFO": logging.INFO,
        "WARN": logging.WARNING,
        "ERROR": logging.ERROR,
        "FATAL": logging.CRITICAL,
    }
)
_NAMES: Final = MappingProxyType({number: name for name, number in LEVELS.items()})
_FIELDS: Final = "cordwood_fields"


def fields(**values: FieldValue) -> dict[str, Mapping[str, FieldValue]]:
    """Return the fields of an event, for the argument `extra`."""
    return {_FIELDS: values}


class EventFormatter(logging.Formatter):
    """Formats an event as one line."""

    def __init__(self, style: str) -> None:
        super().__init__()
        self._line_style = style

    def format(self, record: logging.LogRecord) -> str:
        return event_line(self._values(record), self._line_style)

    def _values(self, record: logging.LogRecord) -> dict[str, FieldValue]:
        moment = datetime.fromtimestamp(record.created, UTC)
        values: dict[str, FieldValue] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": _NAMES.get(record.levelno, record.levelname),
            "logger": record.name,
            "event": record.getMessage(),
        }
        given: Mapping[str, FieldValue] = getattr(record, _FIELDS, {})
        values |= given
        if record.exc_info:
            values["error"] = self.formatException(record.exc_info)
        return values


def levels() -> dict[str, str]:
    """Return the effective level of each logger of this package, by name."""
    names = [ROOT, *(name for name in logging.Logger.manager.loggerDict if is_ours(name))]
    found = {name: logging.getLogger(name).getEffectiveLevel() for name in sorted({*names})}
    return {name: _NAMES.get(level, str(level)) for name, level in found.items()}


def set_level(name: str, level: str | None) -> None:
    """Set a logger's level; with None it inherits its parent's level."""
    if level is not None and level not in LEVELS:
        raise SettingError(
            f"{level} is not a log level", key=name, remedy=f"give one of {', '.join(LEVELS)}"
        )
    logging.getLogger(name).setLevel(logging.NOTSET if level is None else LEVELS[level])


def is_ours(name: str) -> bool:
    """Return whether a logger belongs to this package."""
    return name == ROOT or name.startswith(f"{ROOT}.")
