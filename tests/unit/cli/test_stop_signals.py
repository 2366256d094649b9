"""Tests of the signals that stop a broker."""

import asyncio
import signal

import pytest

from cordwood.cli.stop_signals import STOPPING, StopSignals
from cordwood.core.errors import StartInterruptedError


@pytest.mark.parametrize("number", STOPPING)
def test_signal_is_noted_until_the_start_asks_for_it(number: signal.Signals) -> None:
    with StopSignals() as signals:
        signals.check()
        signal.raise_signal(number)

        with pytest.raises(StartInterruptedError):
            signals.check()


def test_signal_reaches_a_loop_that_begins_to_run_later() -> None:
    async def scene() -> bool:
        stopped = asyncio.Event()
        signals.pass_to(asyncio.get_running_loop(), stopped)
        return stopped.is_set()

    with StopSignals() as signals:
        quiet = asyncio.run(scene())
        signals.catch()
        signal.raise_signal(signal.SIGHUP)

        assert (quiet, asyncio.run(scene())) == (False, True)


def test_handlers_are_restored() -> None:
    before = [signal.getsignal(each) for each in STOPPING]

    with StopSignals():
        assert [signal.getsignal(each) for each in STOPPING] != before

    assert [signal.getsignal(each) for each in STOPPING] == before


def test_ignored_sighup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as signals:
            signal.raise_signal(signal.SIGHUP)
            signals.check()
    finally:
        signal.signal(signal.SIGHUP, before)
