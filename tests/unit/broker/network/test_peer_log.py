"""Tests of the limited log of events that clients cause."""

import logging
from typing import Final

import pytest

from cordwood.broker.network.peer_log import MAX_ADDRESSES, OTHERS, PeerLog
from cordwood.observability.log_lines import LOGFMT
from cordwood.observability.logs import EventFormatter
from cordwood.testing.virtual_clock import VirtualClock

LOGGER: Final = logging.getLogger("cordwood.test.peers")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the events and fields of all lines."""
    formatter = EventFormatter(LOGFMT)
    return [formatter.format(each).partition("event=")[2] for each in caplog.records]


def refuse(log: PeerLog, host: str, times: int = 1) -> None:
    for _ in range(times):
        log.write(logging.WARNING, "refused", host=host, values={"peer": host})


def test_address_gets_one_line_a_second(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    log = PeerLog(LOGGER, clock)

    refuse(log, "10.0.0.1", 300)
    refuse(log, "10.0.0.2")
    clock.advance(seconds=1)
    refuse(log, "10.0.0.1")

    assert lines(caplog) == [
        "refused peer=10.0.0.1",
        "refused peer=10.0.0.2",
        "refused peer=10.0.0.1 left_out=299",
    ]


def test_other_event_of_an_address_has_a_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    log = PeerLog(LOGGER, VirtualClock())

    refuse(log, "10.0.0.1", 2)
    log.write(logging.ERROR, "failed", host="10.0.0.1", values={})

    assert lines(caplog) == ["refused peer=10.0.0.1", "failed"]


def test_lines_of_an_address_that_is_silent_now_are_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    log = PeerLog(LOGGER, clock)

    refuse(log, "10.0.0.1", 5)
    log.sweep()
    clock.advance(seconds=1)
    log.sweep()
    log.sweep()

    assert lines(caplog) == [
        "refused peer=10.0.0.1",
        '"lines left out" about=refused peer=10.0.0.1 left_out=4',
    ]


def test_many_addresses_share_a_line(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    log = PeerLog(LOGGER, clock)

    for number in range(MAX_ADDRESSES + 50):
        refuse(log, f"fd00::{number:x}")
    written = len(caplog.records)
    clock.advance(seconds=1)
    log.sweep()

    assert written == MAX_ADDRESSES + 1
    assert lines(caplog)[-1] == f'"lines left out" about=refused peer={OTHERS} left_out=49'
