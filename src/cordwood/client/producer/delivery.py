"""Future of one sent record (Java: `Future<RecordMetadata>`).

`await` waits on the producer's loop, `result` on a thread.
"""

import asyncio
import threading
from collections.abc import Callable, Generator
from functools import partial

from cordwood.client.network.runtime import resolve
from cordwood.client.producer.batch_result import BatchResult, DeliveryReport
from cordwood.core.errors import InvalidRequestError, KafkaError, RequestTimedOutError


class Delivery:
    """Future of one sent record."""

    __slots__ = ("_batch_result", "_index", "_timestamp")

    def __init__(self, batch_result: BatchResult, index: int, *, timestamp: int) -> None:
        self._batch_result = batch_result
        self._index = index
        self._timestamp = timestamp

    def __repr__(self) -> str:
        if not self.done():
            return f"Delivery({self._batch_result.partition}, pending)"
        return f"Delivery({self.exception() or self._outcome()})"

    def done(self) -> bool:
        """Return whether the record was delivered or has failed."""
        return self._batch_result.of_record(self._index)[0].is_done

    def result(self, timeout: float | None = None) -> DeliveryReport:
        """Wait for the report on a thread without a running event loop; raise the record's error.

        RequestTimedOutError after `timeout` seconds, the unit of Python's futures. The record stays
        in flight all the same. InvalidRequestError on an event loop, such as in a callback of
        another delivery: the wait would block the loop that completes the record.
        """
        if not self.done():
            if asyncio._get_running_loop() is not None:  # noqa: SLF001 - public, but undocumented
                raise InvalidRequestError(
                    f"{self._batch_result.partition}: `result` would block the event loop;"
                    " await the delivery, or add a callback to it"
                )
            done = threading.Event()
            self._batch_result.add_callback(done.set, self._index)
            if not done.wait(timeout):
                raise RequestTimedOutError(
                    f"{self._batch_result.partition}: no acknowledgement after {timeout} s;"
                    " the record is still in flight"
                )
        return self._outcome()

    def exception(self) -> KafkaError | None:
        """Return the record's error, None if it is pending or delivered."""
        return self._batch_result.of_record(self._index)[0].error

    def add_done_callback(self, call: Callable[["Delivery"], object], /) -> None:
        """Call with this object when it is done, on the thread of the producer's loop.

        An error of the call is logged. Blocking calls of the producer are rejected there.
        """
        self._batch_result.add_callback(lambda: call(self), self._index)

    def __await__(self) -> Generator[object, None, DeliveryReport]:
        """Wait on the producer's own loop."""
        if not self.done():
            done = asyncio.get_running_loop().create_future()
            self._batch_result.add_callback(partial(resolve, done), self._index)
            yield from done
        return self._outcome()

    def _outcome(self) -> DeliveryReport:
        result, index = self._batch_result.of_record(self._index)
        if result.error is not None:
            raise result.error
        return result.report(index, timestamp=self._timestamp)
