"""Tests of log events as lines."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from cordwood.core.errors import SettingError
from cordwood.observability.log_lines import JSON, LOGFMT
from cordwood.observability.logs import (
    EventFormatter,
    fields,
    is_ours,
    levels,
    set_level,
)

NAME = "cordwood.test.logs"


@pytest.fixture(autouse=True)
def _levels() -> Iterator[None]:
    yield
    for name in ("cordwood", NAME):
        logging.getLogger(name).setLevel(logging.NOTSET)


def event(**values: str | float | None) -> logging.LogRecord:
    record = logging.LogRecord(NAME, logging.INFO, "", 0, "listener open", (), None)
    record.created = 1.5
    record.__dict__.update(fields(**values))
    return record


def test_logfmt_has_time_level_logger_event_and_fields() -> None:
    line = EventFormatter(LOGFMT).format(event(port=9092, name="a b", none=None, yes=True))

    assert line == (
        "time=1970-01-01T00:00:01.500Z level=INFO logger=cordwood.test.logs"
        ' event="listener open" port=9092 name="a b" none= yes=true'
    )


def test_logfmt_keeps_an_event_on_one_line() -> None:
    line = EventFormatter(LOGFMT).format(event(text='a "b"\nc=d'))

    assert line.endswith(r'text="a \"b\"\nc=d"')


def test_json_has_the_same() -> None:
    line = EventFormatter(JSON).format(event(port=9092, name="größe"))

    assert line.isascii()
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:01.500Z",
        "level": "INFO",
        "logger": NAME,
        "event": "listener open",
        "port": 9092,
        "name": "größe",
    }


def test_error_is_logged_with_its_traceback() -> None:
    record = event()
    try:
        raise ValueError("wrong")  # noqa: TRY301 - the trace is what is tested
    except ValueError:
        record.exc_info = sys.exc_info()

    assert "ValueError: wrong" in json.loads(EventFormatter(JSON).format(record))["error"]


def test_level_of_a_logger_is_inherited_unless_set() -> None:
    logging.getLogger(NAME)

    set_level("cordwood", "ERROR")
    inherited = levels()[NAME]
    set_level(NAME, "TRACE")

    assert (inherited, levels()[NAME]) == ("ERROR", "TRACE")
    set_level(NAME, None)
    assert levels()[NAME] == "ERROR"


def test_unknown_level_is_rejected() -> None:
    with pytest.raises(SettingError, match="LOUD is not a log level; give one of TRACE, DEBUG"):
        set_level(NAME, "LOUD")


def test_foreign_loggers_are_not_ours() -> None:
    assert is_ours("cordwood.broker")
    assert not is_ours("cordwoodish")
