"""Tests of the watchdog for calls that block the event loop."""

import asyncio
import hashlib
import threading

import pytest

from cordwood.broker.process.loop_watchdog import LoopWatchdog, log_slow_call
from cordwood.core.system import SystemClock
from cordwood.observability.logs import LOGFMT, EventFormatter
from tests.unit.broker.server_samples import Run, turn


def hold_up() -> None:
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 300_000)


def test_blocking_call_is_reported(run: Run) -> None:
    seen: list[tuple[float, str]] = []

    async def scene() -> None:
        watch = LoopWatchdog(SystemClock(), 2, report=lambda *what: seen.append(what))
        watch.start()
        while not any("hold_up" in place for _, place in seen):
            hold_up()
            await turn()
        watch.stop()

    run(scene())
    assert seen[-1][0] > 2


def test_watchdog_is_silent_while_the_loop_is_free(run: Run) -> None:
    seen: list[str] = []

    async def scene() -> None:
        watch = LoopWatchdog(SystemClock(), 10_000, report=lambda _, place: seen.append(place))
        watch.start()
        for _ in range(5):
            await turn()
        watch.stop()

    run(scene())
    assert seen == []


class SlowlyClearedEvent(threading.Event):
    """An event that is set again while `clear` runs."""

    is_about_to = threading.Event()

    def clear(self) -> None:
        self.is_about_to.set()
        self.wait()
        super().clear()


def test_stop_ends_a_watch_before_its_next_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop runs no callbacks any more, since `stop` blocks it."""
    monkeypatch.setattr(threading, "Event", SlowlyClearedEvent)
    watch = LoopWatchdog(SystemClock(), 100_000, report=lambda *_: None)

    async def scene() -> None:
        watch.start()
        SlowlyClearedEvent.is_about_to.wait()
        watch.stop()

    asyncio.run(scene())


def test_watch_ends_with_a_loop_that_has_ended() -> None:
    watch = LoopWatchdog(SystemClock(), 1, report=lambda *_: None)

    async def scene() -> None:
        watch.start()

    asyncio.run(scene())

    watch.stop()


def test_slow_call_is_logged_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    log_slow_call(12.34, "call (file.py:1)")

    line = EventFormatter(LOGFMT).format(caplog.records[0])
    assert 'took_ms=12.3 place="call (file.py:1)"' in line
