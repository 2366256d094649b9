"""Call of a client with its retries and its limit (Java: `KafkaAdminClient.Call`, `Timer`).

The limit ends every wait of the call: an attempt that waits for a broker, a backoff, a refresh of
the metadata. A call therefore ends in time, also when a broker does not answer.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.errors import KafkaError, RequestTimedOutError

T = TypeVar("T")

Attempt: TypeAlias = Callable[[], Awaitable[T]]


class ApiCall:
    """One call; `refresh` renews the metadata before each retry."""

    def __init__(
        self,
        runtime: ClientRuntime,
        backoff: ExponentialBackoff,
        refresh: Callable[[], Awaitable[object]],
    ) -> None:
        self._runtime = runtime
        self._backoff = backoff
        self._refresh = refresh
        self._last_error: KafkaError | None = None

    async def run(
        self,
        attempt: Attempt[T],
        *,
        limit_ms: float,
        subject: str,
        awaited: Callable[[], str],
    ) -> T:
        """Return the attempt's result; retry it while its error is retriable and time remains.

        `subject` and `awaited`, the brokers that have not answered, are for the error of a call
        whose attempts have raised none.
        """

        def timed_out() -> KafkaError:
            return self._last_error or RequestTimedOutError(
                f"{subject}: no result within {limit_ms:.0f} ms{awaited()}; check the brokers, or"
                " raise the timeout of the call"
            )

        deadline_ms = self._runtime.now_ms() + limit_ms
        try:
            return await self._runtime.run_with_timeout(
                limit_ms, self._retry(attempt, deadline_ms), timeout_error=timed_out
            )
        except KafkaError as error:
            if error.retriable:
                error.add_note(f"tried for {limit_ms:.0f} ms, {self._backoff.failures} times")
            raise

    async def _retry(self, attempt: Attempt[T], deadline_ms: float) -> T:
        while True:
            try:
                return await attempt()
            except KafkaError as error:
                pause_ms = self._backoff.next_ms()
                is_late = self._runtime.now_ms() + pause_ms > deadline_ms
                if is_late or not error.retriable:
                    raise
                self._last_error = error
            await self._runtime.sleep_ms(pause_ms)
            await self._refresh()
