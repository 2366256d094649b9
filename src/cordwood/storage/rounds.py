"""A round over logs of a manager: a few at a time, so that it keeps nobody else waiting.

What goes wrong with one log is told, and is no reason not to look after the others. Logs that have
gone meanwhile are passed over.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from cordwood.core.errors import KafkaError
from cordwood.storage.log import Log
from cordwood.storage.manager import LogManager

_AT_ONCE: Final = 20


class Rounds:
    """Makes rounds until it is stopped; several may be under way."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self._is_over = False

    def go(
        self,
        call: Callable[[Log], object],
        *,
        logs: Sequence[Log] | None = None,
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """Make a call for every log, or for these, the first few here and the others soon.

        `then` is called at the end.
        """
        self._go_on(iter(self._manager.all_logs() if logs is None else logs), call, then)

    def stop(self) -> None:
        """Make no call any more."""
        self._is_over = True

    def _go_on(
        self, logs: Iterator[Log], call: Callable[[Log], object], then: Callable[[], object]
    ) -> None:
        if self._is_over:
            return
        some = list(islice(logs, _AT_ONCE))
        for log in some:
            if self._manager.has(log):
                self._do(call, log)
        if len(some) == _AT_ONCE:
            self._manager.tools.scheduler.call_at(0, lambda: self._go_on(logs, call, then))
        else:
            then()

    def _do(self, call: Callable[[Log], object], log: Log) -> None:
        try:
            call(log)
        except KafkaError as error:
            self._manager.tools.on_event(f"{log.partition} could not be looked after: {error}")
