"""Tests of requests that wait until a transaction completes."""

import asyncio
from collections.abc import Callable

from cordwood.coordination.runtime.completion_waits import CompletionWaits
from tests.unit.broker.broker_samples import run, turns
from tests.unit.coordination.runtime.runtime_samples import RuntimeHarness

Act = Callable[[CompletionWaits, RuntimeHarness], object]


async def has_ended(act: Act) -> tuple[bool, int]:
    """Return whether a wait of 20 ms for the id `t` has ended, and how many wait then."""
    harness = RuntimeHarness()
    completions = CompletionWaits(harness.ports)
    waiting = asyncio.ensure_future(completions.wait("t", 20))
    await turns(2)
    act(completions, harness)
    await turns(2)
    ended, left = waiting.done(), len(completions)
    waiting.cancel()
    await turns(2)
    assert len(completions) == 0
    return ended, left


def test_wait_ends_when_the_transaction_completes() -> None:
    assert run(has_ended(lambda completions, _: completions.wake("t"))) == (True, 0)


def test_wait_ends_after_its_time() -> None:
    assert run(has_ended(lambda _, harness: harness.network_clock.advance(ms=20))) == (True, 0)


def test_wait_goes_on_when_another_transaction_completes() -> None:
    assert run(has_ended(lambda completions, _: completions.wake("u"))) == (False, 1)
