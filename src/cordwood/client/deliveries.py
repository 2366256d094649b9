"""One record on its way, waited for on the producer's loop (`await`) or a thread (`result`)."""

import asyncio
import threading
from collections.abc import Callable, Generator
from functools import partial

from cordwood.client.fate import DeliveryReport, Fate
from cordwood.client.surroundings import ring
from cordwood.core.errors import KafkaError, RequestTimedOutError


class Delivery:
    """One record on its way."""

    __slots__ = ("_fate", "_index", "_timestamp")

    def __init__(self, fate: Fate, index: int, *, timestamp: int) -> None:
        self._fate = fate
        self._index = index
        self._timestamp = timestamp

    def __repr__(self) -> str:
        if not self._fate.is_known:
            return f"Delivery({self._fate.partition}, under way)"
        return f"Delivery({self._fate.error or self._report()})"

    def done(self) -> bool:
        """Say whether it is known what became of the record."""
        return self._fate.is_known

    def result(self, timeout: float | None = None) -> DeliveryReport:
        """Wait on this thread, which is no event loop's, and return the report or raise the error.

        RequestTimedOutError after so many seconds, as Python's futures count them; the record is on
        its way all the same.
        """
        if not self._fate.is_known:
            known = threading.Event()
            self._fate.watch(known.set)
            if not known.wait(timeout):
                raise RequestTimedOutError(
                    f"{self._fate.partition}: not known after {timeout} s, still under way"
                )
        return self._outcome()

    def exception(self) -> KafkaError | None:
        """Return why the record is nowhere, once that is known; None else."""
        return self._fate.error

    def add_done_callback(self, call: Callable[["Delivery"], object], /) -> None:
        """Call with this object when it is done, on the thread of the producer's loop."""
        self._fate.watch(lambda: call(self))

    def __await__(self) -> Generator[object, None, DeliveryReport]:
        """Wait on the producer's own loop."""
        if not self._fate.is_known:
            known = asyncio.get_running_loop().create_future()
            self._fate.watch(partial(ring, known))
            yield from known
        return self._outcome()

    def _outcome(self) -> DeliveryReport:
        if self._fate.error is not None:
            raise self._fate.error
        return self._report()

    def _report(self) -> DeliveryReport:
        return self._fate.report(self._index, timestamp=self._timestamp)
