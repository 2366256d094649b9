"""Tests of waiting for results of worker calls on the event loop."""

import asyncio
import gc
import weakref
from concurrent.futures import Future
from contextlib import suppress

import pytest

from cordwood.broker.pending_results import next_turn, wait_for, wait_until_done
from tests.unit.broker.broker_samples import meanwhile, run


def test_wait_returns_the_result() -> None:
    pending: Future[int] = Future()

    over, result = run(meanwhile(wait_for(pending), lambda: pending.set_result(7)))

    assert over == [False]
    assert result == 7


def test_completed_result_needs_no_wait() -> None:
    pending: Future[int] = Future()
    pending.set_exception(OSError("gone"))

    with pytest.raises(OSError, match="gone"):
        run(wait_for(pending))


def test_failed_result_is_freed_without_the_garbage_collector() -> None:
    made: list[weakref.ref[asyncio.Future[int]]] = []

    def failed() -> asyncio.Future[int]:
        pending = asyncio.get_running_loop().create_future()
        pending.set_exception(OSError("gone"))
        made.append(weakref.ref(pending))
        return pending

    async def scene() -> None:
        with suppress(OSError):
            await wait_for(failed())

    gc.disable()
    try:
        run(scene())
        assert made[0]() is None
    finally:
        gc.enable()


def test_error_is_not_raised_by_a_wait_for_the_end() -> None:
    pending: Future[int] = Future()

    over, _ = run(
        meanwhile(wait_until_done(pending), lambda: pending.set_exception(OSError("gone")))
    )

    assert over == [False]


def test_other_callbacks_run_before_the_next_turn() -> None:
    seen = list[str]()

    async def scene() -> None:
        asyncio.get_running_loop().call_soon(seen.append, "other")
        await next_turn()
        seen.append("next")

    run(scene())

    assert seen == ["other", "next"]
