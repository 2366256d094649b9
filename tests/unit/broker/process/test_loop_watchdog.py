"""Tests of the watchdog for callbacks that block the event loop."""

import asyncio
import hashlib
import threading
from contextlib import closing
from functools import partial

import pytest

from cordwood.broker.process.loop_watchdog import (
    IDLE,
    LoopWatchdog,
    StallDetector,
    log_slow_call,
    shown_stack,
)
from cordwood.broker.process.thread_stacks import Call, ThreadStacks
from cordwood.core.system import LoopScheduler, SystemClock
from cordwood.observability.log_lines import LOGFMT
from cordwood.observability.logs import EventFormatter
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.server_samples import Run, turn

LIMIT_MS = 20


class WatchedLoop:
    """A loop in virtual time, whose callbacks take as long as a test wants."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.seen: list[tuple[float, str]] = []
        self.detector = StallDetector(
            self.clock, self.clock, LIMIT_MS, report=lambda *what: self.seen.append(what)
        )
        self.detector.start()

    def run(self, took_ms: float, *, after_ms: float = 0, looks: tuple[float, ...] = ()) -> None:
        """Run a callback; `looks` are the times of the thread's looks, since its start."""

        def callback() -> None:
            began = self.clock.monotonic_ms()
            for at in (*looks, took_ms):
                self.clock.advance_to(began + at)
                if at in looks:
                    self.detector.look(partial(str, f"stack after {at} ms"))

        self.clock.call_at(self.clock.monotonic_ms() + after_ms, callback)
        self.clock.advance(ms=after_ms + took_ms + LIMIT_MS)


@pytest.mark.parametrize("after_ms", [tenth / 10 for tenth in range(40)])
def test_callback_of_the_limit_is_reported_whenever_it_begins(after_ms: float) -> None:
    loop = WatchedLoop()

    loop.run(LIMIT_MS, after_ms=after_ms, looks=(19,))

    assert [stack for _, stack in loop.seen] == ["stack after 19 ms"]


@pytest.mark.parametrize("after_ms", (0, 0.5, 1, 1.9))
def test_short_callback_is_not_reported(after_ms: float) -> None:
    loop = WatchedLoop()

    for _ in range(100):
        loop.run(17.9, after_ms=after_ms, looks=(17,))

    assert loop.seen == []


def test_each_long_callback_is_reported_with_its_own_stack() -> None:
    loop = WatchedLoop()

    loop.run(100, looks=(5, 15, 90))
    loop.run(30, looks=(29,))
    loop.run(40)

    stacks = [stack.partition(":")[0] for _, stack in loop.seen]
    assert stacks == ["stack after 15 ms", "stack after 29 ms", "unknown"]
    assert [round(took) // 10 * 10 for took, _ in loop.seen] == [90, 20, 30]


def test_detector_is_silent_after_its_stop() -> None:
    loop = WatchedLoop()

    loop.detector.stop()
    loop.run(100)

    assert loop.seen == []


def hold_up() -> None:
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 300_000)


def test_blocking_call_is_reported_with_its_name(run: Run) -> None:
    seen: list[tuple[float, str]] = []

    async def scene() -> None:
        clock = SystemClock()
        scheduler = LoopScheduler(asyncio.get_running_loop(), clock)
        watch = LoopWatchdog(clock, scheduler, 5, report=lambda *what: seen.append(what))
        watch.start()
        while not any("hold_up" in place for _, place in seen):
            hold_up()
            await turn()
        watch.stop()

    run(scene())
    assert seen[-1][0] >= 4


def test_thread_of_the_watchdog_ends_after_its_stop() -> None:
    async def scene() -> list[threading.Thread]:
        clock = SystemClock()
        scheduler = LoopScheduler(asyncio.get_running_loop(), clock)
        watch = LoopWatchdog(clock, scheduler, 100_000, report=lambda *_: None)
        watch.start()
        watching = [each for each in threading.enumerate() if each.name == "loop-watch"]
        watch.stop()
        return watching

    (watching,) = asyncio.run(scene())

    watching.join()
    assert not watching.is_alive()


def test_slow_call_is_logged_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    log_slow_call(12.34, "call (file.py:1)")

    line = EventFormatter(LOGFMT).format(caplog.records[0])
    assert 'took_ms=12.3 stack="call (file.py:1)"' in line


def test_shown_stack_has_the_innermost_calls() -> None:
    calls = [Call(f"call_{number}", "file.py", "7") for number in range(20)]

    shown = shown_stack(calls)

    assert shown.startswith("call_8 (file.py:7) > call_9 ")
    assert shown.endswith(" > call_19 (file.py:7)")


def test_late_turn_of_an_idle_loop_names_no_callback(run: Run) -> None:
    """A process without a processor is late too; its stack is that of the wait for events."""
    found: list[str] = []

    async def scene() -> None:
        loop_thread, seen = threading.get_ident(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def look() -> None:
            with closing(ThreadStacks()) as stacks:
                while not found or found[-1] != IDLE:
                    found.append(shown_stack(stacks.read()[loop_thread]))
            loop.call_soon_threadsafe(seen.set)

        thread = threading.Thread(target=look)
        thread.start()
        await seen.wait()
        thread.join()

    run(scene())

    assert found[-1] == IDLE
