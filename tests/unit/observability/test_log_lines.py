"""Tests of the lines of log events."""

import json
import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.observability.log_lines import (
    JSON,
    LINE_BYTES,
    LOGFMT,
    STACK_BYTES,
    event_line,
)

HEAD: Final = {"time": "1970-01-01T00:00:01.500Z", "level": "WARN", "logger": "cordwood.broker"}
#: Every code point, surrogates too: Java's clients can send them.
CODE_POINTS: Final = st.integers(0, 0x10FFFF).map(chr)
TEXTS: Final = st.lists(CODE_POINTS, max_size=2_000).map("".join)
BOTH: Final = pytest.mark.parametrize("style", (LOGFMT, JSON))


@BOTH
def test_line_escapes_every_code_point_but_printable_ascii(style: str) -> None:
    for first in range(0, 0x110000, 50):
        text = "".join(map(chr, range(first, min(first + 50, 0x110000))))
        line = event_line({**HEAD, "client_id": text}, style)

        assert re.fullmatch(r"[ -~]{1,1000}", line), hex(first)


@BOTH
@given(event=TEXTS, client_id=TEXTS, reason=TEXTS)
def test_line_is_short_and_printable_whatever_a_client_sends(
    style: str, event: str, client_id: str, reason: str
) -> None:
    values = {**HEAD, "event": event, "client_id": client_id, "reason": reason}

    line = event_line(values, style)

    assert re.fullmatch(rf"[ -~]{{1,{LINE_BYTES}}}", line)
    assert style == LOGFMT or json.loads(line).keys() == values.keys()


@given(text=TEXTS)
def test_json_of_a_short_value_reads_back_whole(text: str) -> None:
    short = text[:60]

    assert json.loads(event_line({**HEAD, "event": short}, JSON))["event"] == short


def test_long_value_loses_its_middle() -> None:
    line = event_line({**HEAD, "event": "x", "reason": f"begin{'-' * 5_000}end"}, LOGFMT)

    assert len(line) <= LINE_BYTES
    assert re.search(r"event=x reason=begin-+\.\.\.-+end$", line)


def test_stack_has_more_room() -> None:
    line = event_line({**HEAD, "event": "x", "stack": "call" * 1_500}, LOGFMT)

    assert LINE_BYTES < len(line) < STACK_BYTES
    assert len(event_line({**HEAD, "stack": "call" * 9_000}, LOGFMT)) <= STACK_BYTES
