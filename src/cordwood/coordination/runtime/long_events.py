"""Long event of a shard, the rest of which runs on the worker.

Kafka: each event runs on a thread of `MultiThreadedEventProcessor`, and others of its shard wait.

    event ──► rest, batch ──► append ──► replay ──► events that waited
     loop       worker         loop      loop, in turns of `TURN_MS`

Events of a shard do not overlap: it is paused from the beginning of a rest until the last event
that waited for it has run. The loop serves all other shards and connections meanwhile.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from cordwood.coordination.outcome import Outcome
from cordwood.coordination.ports import InternalLog
from cordwood.coordination.runtime.runtime_ports import RuntimePorts
from cordwood.core.ports import Lane, Pending

#: The time after which a timer fires again that has come while its shard was paused.
PAUSED_TIMER_MS: Final = 10
#: Records that are replayed between two looks at the clock.
_PER_LOOK: Final = 20


class PreparedOutcome(NamedTuple):
    """An outcome without a rest, and the batch of its records, if it has any."""

    outcome: Outcome
    batch: bytearray | None


class LongEvents:
    """The long event of one shard, if there is one, and the events that wait for its end."""

    def __init__(self, log: InternalLog, ports: RuntimePorts) -> None:
        self.is_paused = False
        #: Whether a rest runs on the worker.
        self.is_computing = False
        self._log = log
        self._ports = ports
        self._waiting = deque[Callable[[], object]]()

    def holds(self, event: Callable[[], object]) -> bool:
        """Keep an event that has to wait; return False for one that can run now."""
        if self.is_paused:
            self._waiting.append(event)
        return self.is_paused

    def begin(self, outcome: Outcome, end: Callable[[Pending[PreparedOutcome]], object]) -> None:
        """Pause the shard, and run the rest of an outcome; `end` gets the whole on the loop."""
        self.is_paused = self.is_computing = True

        def ended() -> None:
            self.is_computing = False
            end(pending)

        prepare = partial(_prepared, outcome, self._log)
        pending = self._ports.worker.submit(prepare, lane=Lane.COMPUTE)
        pending.add_done_callback(lambda _: self._ports.call_soon(ended))

    def take_turns(self, steps: Iterator[object], end: Callable[[], object]) -> None:
        """Take the steps of a replay in turns of the loop, then call `end`."""
        end_ms = self._ports.turn_end()
        for number, _ in enumerate(steps, start=1):
            if number % _PER_LOOK == 0 and self._ports.is_over(end_ms):
                self._ports.call_soon(partial(self.take_turns, steps, end))
                return
        end()

    def resume(self) -> None:
        """Run the events that wait; behind one that is long itself, the others go on waiting."""
        end_ms = self._ports.turn_end()
        while self._waiting:
            self.is_paused = False
            self._waiting.popleft()()
            if self.is_paused:
                return
            self.is_paused = True
            if self._waiting and self._ports.is_over(end_ms):
                self._ports.call_soon(self.resume)
                return
        self.is_paused = False

    def forget(self) -> None:
        """Forget the events that wait: the shard has ended."""
        self._waiting.clear()


def _prepared(outcome: Outcome, log: InternalLog) -> PreparedOutcome:
    """Return an outcome with all of its rest, and its batch."""
    records = outcome.completed().records
    batch = log.encode(records, producer=outcome.producer) if records else None
    return PreparedOutcome(outcome, batch)
