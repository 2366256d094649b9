"""Wait of a consumer's caller for fetched records (Java: `KafkaConsumer.acquire`, `FetchBuffer`).

One call waits at a time: a second one would take the wakeup of the first, which then waits past its
timeout. The second call is rejected, as in Java. `close` ends the wait.
"""

from collections.abc import Callable
from typing import TypeVar

from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.errors import InvalidRequestError

T = TypeVar("T")


class PollWait:
    """Wait for the arrivals of one consumer's fetcher."""

    def __init__(self, runtime: ClientRuntime, arrived: WakeupSignal) -> None:
        self._runtime = runtime
        self._arrived = arrived
        self._is_waiting = False

    def until_ms(self, timeout_ms: float | None) -> float | None:
        """Return the time at which a timeout ends."""
        return None if timeout_ms is None else self._runtime.now_ms() + timeout_ms

    async def first_found(self, find: Callable[[], T | None], until_ms: float | None) -> T | None:
        """Return what `find` returns, as soon as it is not None; None when the time is reached."""
        if self._is_waiting:
            raise InvalidRequestError(
                "another call waits for records of this consumer; a consumer serves one thread or"
                " task at a time"
            )
        self._is_waiting = True
        try:
            while (found := find()) is None:
                if until_ms is not None and self._runtime.now_ms() >= until_ms:
                    return None
                await self._arrived.wait(until_ms)
            return found
        finally:
            self._is_waiting = False

    def close(self) -> None:
        """End the wait with an error."""
        self._arrived.close(InvalidRequestError("the consumer is closed"))
