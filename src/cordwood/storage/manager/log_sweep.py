"""Sweeps over the logs of a manager, a few logs per loop turn, so that the loop is not blocked.

An error of one log, also an unexpected one, is reported to `on_event`, counted, and does not end
the sweep. Logs that are deleted meanwhile are passed over.
"""

import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from cordwood.core.errors import KafkaError
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_checkpoints import LOGS_PER_TURN
from cordwood.storage.manager.log_manager import LogManager

_END: Final = object()


class LogSweep:
    """Runs sweeps until it is stopped; several may run at the same time."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self._is_stopped = False

    def run(
        self,
        call: Callable[[Log], object],
        *,
        logs: Sequence[Log] | None = None,
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """Call `call` with every log, or with each of `logs`, and `then` at the end.

        The first logs are handled before this method returns.
        """
        self.run_steps(self._steps(self._manager.all_logs() if logs is None else logs, call, then))

    def run_steps(self, steps: Iterator[None]) -> None:
        """Run the first step now, and each following one in a loop turn of its own."""
        if not self._is_stopped and next(steps, _END) is not _END:
            self._manager.ports.scheduler.call_at(0, lambda: self.run_steps(steps))

    def stop(self) -> None:
        """End all sweeps; no further call is made."""
        self._is_stopped = True

    def _steps(
        self, logs: Sequence[Log], call: Callable[[Log], object], then: Callable[[], object]
    ) -> Iterator[None]:
        for count, log in enumerate(logs, start=1):
            if self._manager.has(log):
                self._call(call, log)
            if count % LOGS_PER_TURN == 0:
                yield
        then()

    def _call(self, call: Callable[[Log], object], log: Log) -> None:
        try:
            call(log)
        except Exception as error:  # noqa: BLE001 - the sweep continues with other logs
            self._manager.options.on_task_failure()
            self._manager.on_event(f"{log.partition}: maintenance failed: {_reason(error)}")


def _reason(error: Exception) -> str:
    """Return the text of an error; for an unexpected one its type and its place in the code too."""
    if isinstance(error, KafkaError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r} at {place.filename}:{place.lineno}"
