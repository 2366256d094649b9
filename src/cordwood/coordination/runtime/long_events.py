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
from typing import Final, NamedTuple, TypeAlias

from cordwood.coordination.coordinator_record import StoredRecord
from cordwood.coordination.outcome import Outcome
from cordwood.coordination.ports import InternalLog
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.coordination.runtime.runtime_ports import RuntimePorts
from cordwood.core.ports import Lane, Pending

Fail: TypeAlias = Callable[[BaseException], object]
"""Leaves the state of a shard after an unexpected error."""

#: The time after which a timer fires again that has come while its shard was paused.
PAUSED_TIMER_MS: Final = 10


class PreparedOutcome(NamedTuple):
    """An outcome without a rest, and the batch of its records, if it has any."""

    outcome: Outcome
    batch: bytearray | None


class LongEvents:
    """The long event of one shard, if there is one, and the events that wait for its end.

    `fail` is called with an unexpected error of a replay.
    """

    def __init__(
        self, shard: CoordinatorShard, log: InternalLog, ports: RuntimePorts, *, fail: Fail
    ) -> None:
        self.is_paused = False
        #: Whether a rest runs on the worker.
        self.is_computing = False
        self._shard = shard
        self._log = log
        self._ports = ports
        self._fail = fail
        self._waiting = deque[Callable[[], object]]()
        self._is_over = False

    def holds(self, event: Callable[[], object]) -> bool:
        """Keep an event that has to wait; return False for one that can run now."""
        if self.is_paused:
            self._waiting.append(event)
        return self.is_paused

    def begin(self, outcome: Outcome, end: Callable[[Pending[PreparedOutcome]], object]) -> None:
        """Pause the shard, and run the rest of an outcome; `end` gets the whole on the loop."""
        self.is_paused = self.is_computing = True

        def finish(prepared: Pending[PreparedOutcome]) -> None:
            self.is_computing = False
            end(prepared)

        prepare = partial(_prepared, outcome, self._log)
        pending = self._ports.worker.submit(prepare, lane=Lane.COMPUTE)
        pending.add_done_callback(lambda ended: self._ports.call_soon(partial(finish, ended)))

    def replay(self, outcome: Outcome, offset: int, *, end: Callable[[], object]) -> None:
        """Replay the records of an outcome in turns of the loop, then call `end`."""
        producer = (-1, -1) if outcome.producer is None else outcome.producer
        stored = (
            StoredRecord(record, number, *producer)
            for number, record in enumerate(outcome.records, start=offset)
        )
        self._replay_part(stored, end)

    def _replay_part(self, stored: Iterator[StoredRecord], end: Callable[[], object]) -> None:
        end_ms = self._ports.turn_end()
        try:
            for each in stored:
                if self._is_over:
                    return
                self._shard.replay(each)
                if self._ports.is_over(end_ms):  # one record may have 10,000 topics
                    self._ports.call_soon(partial(self._replay_part, stored, end))
                    return
        except Exception as error:  # noqa: BLE001 - a record must not stop the loop
            self._fail(error)
        else:
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
        """Forget the events that wait, and the replay: the shard has ended."""
        self._is_over = True
        self._waiting.clear()


def _prepared(outcome: Outcome, log: InternalLog) -> PreparedOutcome:
    """Return an outcome with all of its rest, and its batch."""
    records = outcome.completed().records
    batch = log.encode(records, producer=outcome.producer) if records else None
    return PreparedOutcome(outcome, batch)
