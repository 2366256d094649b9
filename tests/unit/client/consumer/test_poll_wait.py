"""One call waits for records at a time, and close ends its wait."""

import asyncio

import pytest

from cordwood.client.consumer.poll_wait import PollWait
from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.client.network.runtime import LoopTurn, system_runtime
from cordwood.core.errors import InvalidRequestError
from tests.unit.client.fake_broker import run


def _nothing() -> str | None:
    return None


def made() -> tuple[PollWait, WakeupSignal]:
    runtime = system_runtime()
    arrived = WakeupSignal(runtime)
    return PollWait(runtime, arrived), arrived


def test_wait_ends_with_what_is_found_after_an_arrival() -> None:
    async def scene() -> None:
        wait, arrived = made()
        found: list[str] = []

        def arrive() -> None:
            found.append("record")
            arrived.set()

        asyncio.get_running_loop().call_soon(arrive)
        assert await wait.first_found(lambda: found[0] if found else None, None) == "record"
        assert await wait.first_found(_nothing, wait.until_ms(0)) is None

    run(scene())


def test_second_waiter_is_rejected_by_name() -> None:
    """K-B9: it would take the wakeup of the first one."""

    async def scene() -> None:
        wait, _ = made()
        first = asyncio.get_running_loop().create_task(wait.first_found(_nothing, None))
        await LoopTurn()
        with pytest.raises(InvalidRequestError, match="another call waits for records"):
            await wait.first_found(_nothing, None)
        wait.close()
        with pytest.raises(InvalidRequestError, match="the consumer is closed"):
            await first

    run(scene())
