"""Sweeps over the logs of a manager, a few logs per loop turn, so that the loop is not blocked.

A turn ends early after some time: a log may have thousands of segments.

An error of one log, also an unexpected one, is reported (`TaskFailures`), and does not end the
sweep. Logs that are deleted meanwhile are passed over.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_checkpoints import LOGS_PER_TURN
from cordwood.storage.manager.log_manager import LogManager

_END: Final = object()
_TURN_MS: Final = 2


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

    def run_steps(self, steps: Iterator[object]) -> None:
        """Run the first step now, and each following one in a loop turn of its own."""
        if not self._is_stopped and next(steps, _END) is not _END:
            self._manager.ports.scheduler.call_at(0, lambda: self.run_steps(steps))

    def stop(self) -> None:
        """End all sweeps; no further call is made."""
        self._is_stopped = True

    def _steps(
        self, logs: Sequence[Log], call: Callable[[Log], object], then: Callable[[], object]
    ) -> Iterator[None]:
        clock, count = self._manager.ports.clock, 0
        began_ms = clock.monotonic_ms()
        for log in logs:
            if self._manager.has(log):
                self._call(call, log)
            count += 1
            if count == LOGS_PER_TURN or clock.monotonic_ms() - began_ms > _TURN_MS:
                yield
                count, began_ms = 0, clock.monotonic_ms()
        then()

    def _call(self, call: Callable[[Log], object], log: Log) -> None:
        try:
            call(log)
        except Exception as error:  # noqa: BLE001 - the sweep continues with other logs
            self._manager.failures.report(log.partition, error)
