"""The watch tells who held the loop up, and is silent while nobody does."""

import asyncio
import hashlib
import threading

import pytest

from cordwood.broker.loop_watch import LoopWatch, log_slow_call
from cordwood.core.system import SystemClock
from cordwood.observability.logs import LOGFMT, EventFormatter
from tests.unit.broker.server_samples import Run, turn


def hold_up() -> None:
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 300_000)


def test_who_holds_the_loop_up_is_named(run: Run) -> None:
    seen: list[tuple[float, str]] = []

    async def scene() -> None:
        watch = LoopWatch(SystemClock(), 2, report=lambda *what: seen.append(what))
        watch.start()
        while not any("hold_up" in place for _, place in seen):
            hold_up()
            await turn()
        watch.stop()

    run(scene())
    assert seen[-1][0] > 2


def test_nothing_is_told_while_the_loop_is_free(run: Run) -> None:
    seen: list[str] = []

    async def scene() -> None:
        watch = LoopWatch(SystemClock(), 10_000, report=lambda _, place: seen.append(place))
        watch.start()
        for _ in range(5):
            await turn()
        watch.stop()

    run(scene())
    assert seen == []


class ForgottenLate(threading.Event):
    """Whoever clears it is so slow that it has been set meanwhile."""

    is_about_to = threading.Event()

    def clear(self) -> None:
        self.is_about_to.set()
        self.wait()
        super().clear()


def test_stop_ends_a_watch_that_is_about_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody answers any more: `stop` itself holds the loop up."""
    monkeypatch.setattr(threading, "Event", ForgottenLate)
    watch = LoopWatch(SystemClock(), 100_000, report=lambda *_: None)

    async def scene() -> None:
        watch.start()
        ForgottenLate.is_about_to.wait()
        watch.stop()

    asyncio.run(scene())


def test_watch_ends_with_a_loop_that_has_ended() -> None:
    watch = LoopWatch(SystemClock(), 1, report=lambda *_: None)

    async def scene() -> None:
        watch.start()

    asyncio.run(scene())

    watch.stop()


def test_slow_call_is_logged_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    log_slow_call(12.34, "call (file.py:1)")

    line = EventFormatter(LOGFMT).format(caplog.records[0])
    assert 'took_ms=12.3 place="call (file.py:1)"' in line
