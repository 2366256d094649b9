"""One loaded shard with its log: events, appends, replays, timers, answers.

Kafka: `CoordinatorRuntime.CoordinatorContext`, in its state ACTIVE.

    event ──► outcome ──► append ──► replay, timers ──► answers, once the append counts
                            └─ rejected: on_failure, or the error for each answer
                            └─ failed later: the state and the log differ; `on_broken`

Events do not overlap: all of them run on the event loop, from the event to the replay. Outcomes of
one turn of the loop share an append at its end; they are replayed before. An outcome that handles
its own rejection, or that is part of a transaction, is appended at once, after the ones before.
While the rest of an outcome runs on the worker, other events wait (`LongEvents`).
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar

from cordwood.coordination.coordinator_record import StoredMarker, StoredRecord
from cordwood.coordination.outcome import Answer, Outcome, Ticket, TimerChange, TimerKey
from cordwood.coordination.ports import InternalBatch, InternalLog, TransactionMarker
from cordwood.coordination.runtime.append_errors import coordinator_error, reload_error
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.coordination.runtime.coordinator_timers import CoordinatorTimers
from cordwood.coordination.runtime.deferred_outcomes import DeferredAppend, DeferredOutcomes
from cordwood.coordination.runtime.long_events import (
    PAUSED_TIMER_MS,
    LongEvents,
    PreparedOutcome,
)
from cordwood.coordination.runtime.runtime_ports import RuntimePorts
from cordwood.coordination.runtime.waiting_calls import WaitingCalls
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    KafkaError,
    UnknownServerError,
)
from cordwood.core.ports import Pending
from cordwood.protocol.schema import Response

S = TypeVar("S", bound=CoordinatorShard)

_log = logging.getLogger(__name__)

#: The time after which a timer fires again whose records were rejected, as in Kafka.
TIMER_RETRY_MS: Final = 500

_FAILED: Final = "the coordinator failed; the log of the broker has the reason"


class _TurnBatch(NamedTuple):
    """The batch of one turn of the loop, and the outcomes that wait for it."""

    batch: InternalBatch
    append: DeferredAppend


class ActiveShard(Generic[S]):
    """A shard that serves. `perform` sees each outcome once it counts.

    `on_broken` is called once, with the error for clients, when the shard must be loaded again.
    """

    def __init__(
        self, shard: S, log: InternalLog, ports: RuntimePorts, *, timers: CoordinatorTimers
    ) -> None:
        self.shard: Final = shard
        self.log: Final = log
        self.calls: Final = WaitingCalls()
        self.long: Final = LongEvents(shard, log, ports, fail=self._fail)
        self.on_broken: Callable[[KafkaError], object] = lambda _: None
        self.perform: Callable[[Outcome], object] = lambda _: None
        #: The offset of the next append, if no other writer appends to the partition.
        self.next_offset = 0
        #: The version of the topics that the shard has seen.
        self.topics_version = -1
        self._ports = ports
        self._timers = timers.of_shard(self._on_timer)
        self._deferred = DeferredOutcomes(self._release)
        self._turn: _TurnBatch | None = None
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether the shard has ended."""
        return self._is_over

    # -- events

    def begin(
        self, method: Callable[[S, Ticket, int], Outcome]
    ) -> tuple[Ticket, asyncio.Future[Response]]:
        """Run the method of a request; return its ticket and the future of its answer."""
        ticket, future = self.calls.begin()
        self.run(lambda shard, now_ms: method(shard, ticket, now_ms), ticket)
        return ticket, future

    def run(self, event: Callable[[S, int], Outcome], ticket: Ticket | None = None) -> None:
        """Run an event, and handle its outcome; a KafkaError is the answer of the request."""
        if self._is_over:
            return
        if self.long.is_paused and self.long.holds(partial(self.run, event, ticket)):
            return
        try:
            outcome = event(self.shard, self._ports.clock.now_ms())
            if outcome.rest is None:
                self._handle(outcome)
            else:
                self.long.begin(outcome, partial(self._end_rest, ticket))
        except KafkaError as error:
            self._answer_error(ticket, error)
        except Exception as error:  # noqa: BLE001 - a request must not stop the loop
            self._answer_error(ticket, UnknownServerError(_FAILED))
            self._fail(error)

    def _answer_error(self, ticket: Ticket | None, error: KafkaError) -> None:
        if ticket is not None:
            self.calls.give(Answer(ticket, error.with_traceback(None)))

    def end_transaction(self, marker: TransactionMarker) -> Pending[int]:
        """Append a marker, and apply it to the state; the result is done when it counts.

        Raises COORDINATOR_LOAD_IN_PROGRESS while a long event runs: the marker is sent again.
        """
        if self.long.is_paused:
            raise CoordinatorLoadInProgressError(f"partition {self.log.partition} has a long event")
        self._append_batch()
        if self._is_over:
            raise CoordinatorLoadInProgressError(f"partition {self.log.partition} is loaded again")
        pending = self.log.append_marker(marker)
        offset = self._take_offset(pending, 1)
        stored = StoredMarker(marker.producer_id, marker.producer_epoch, offset, marker.is_commit)
        try:
            if not _has_failed(pending):
                self.shard.replay_marker(stored)
        except Exception as error:  # noqa: BLE001 - as in `run`
            self._fail(error)
        else:
            self._defer(pending, Outcome())
        return pending

    def _on_timer(self, key: TimerKey, at_ms: int) -> None:
        if self.long.is_paused:  # the events that wait may cancel it
            later_ms = self._ports.clock.now_ms() + PAUSED_TIMER_MS
            self._timers.change(TimerChange(key, max(later_ms, at_ms)))
            return

        def fire(shard: S, now_ms: int) -> Outcome:
            # The wall clock may have gone back since the timer was set; the shard's time does not.
            outcome = shard.on_timer(key, max(now_ms, at_ms))
            if (outcome.records or outcome.rest) and outcome.on_failure is None:
                outcome.on_failure = partial(_fire_again, key)
            return outcome

        self.run(fire)

    # -- outcomes

    def _handle(self, outcome: Outcome) -> None:
        if not outcome.records:
            self._set_timers(outcome)
            self._deferred.add(outcome)
            return
        if self._add_to_batch(outcome):
            return
        pending = self._append(outcome)
        if pending is None:
            return
        offset = self._take_offset(pending, len(outcome.records))
        if not _has_failed(pending):
            self._replay(outcome, offset)
            self._set_timers(outcome)
        self._defer(pending, outcome)

    def _append(self, outcome: Outcome, batch: bytearray | None = None) -> Pending[int] | None:
        """Append the records of an outcome after those of the turn; None if they are rejected."""
        self._append_batch()
        if self._is_over:  # the decision stands on records of that batch, which the log lacks
            return None
        try:
            return self.log.append(outcome.records, producer=outcome.producer, batch=batch)
        except KafkaError as error:
            self._reject(outcome, coordinator_error(error.with_traceback(None)))
            return None

    def _reject(self, outcome: Outcome, error: KafkaError) -> None:
        """Answer an outcome whose records are not in the log."""
        instead = outcome.on_failure
        follow = Outcome() if instead is None else instead(error, self._ports.clock.now_ms())
        given = {each.ticket for each in follow.answers}
        for answer in outcome.answers:
            if answer.ticket not in given:
                self.calls.give(Answer(answer.ticket, error))
        self._handle(follow)

    def _add_to_batch(self, outcome: Outcome) -> bool:
        """Add an outcome to the batch of this turn; return False if it needs one of its own."""
        if outcome.producer is not None or outcome.on_failure is not None:
            return False
        now_ms = self._ports.clock.now_ms()
        turn = self._turn
        is_first = turn is None or not turn.batch.add(outcome.records, now_ms)
        if turn is None or is_first:
            self._append_batch()
            batch = None if self._is_over else self._open_batch()
            if batch is None or not batch.add(outcome.records, now_ms):
                return False
            self._turn = _TurnBatch(batch, self._deferred.begin(outcome))
        else:
            turn.append.outcomes.append(outcome)
        offset, self.next_offset = self.next_offset, self.next_offset + len(outcome.records)
        self._replay(outcome, offset)
        self._set_timers(outcome)
        if is_first:
            self._ports.call_soon(self._append_batch)
        return True

    def _open_batch(self) -> InternalBatch | None:
        """Return an empty batch; None if the log takes no records, as `append` then reports."""
        try:
            return self.log.open_batch()
        except KafkaError:
            return None

    def _append_batch(self) -> None:
        """Append the batch of this turn, if there is one."""
        turn, self._turn = self._turn, None
        if turn is None or self._is_over:
            return
        try:
            self._await(turn.append, turn.batch.append())
        except KafkaError as error:
            self._break(coordinator_error(error.with_traceback(None)))
        except Exception as error:  # noqa: BLE001 - as in `run`
            self._fail(error)

    def _replay(self, outcome: Outcome, offset: int) -> None:
        producer = (-1, -1) if outcome.producer is None else outcome.producer
        for number, record in enumerate(outcome.records, start=offset):
            self.shard.replay(StoredRecord(record, number, *producer))

    # -- long events

    def _end_rest(self, ticket: Ticket | None, pending: Pending[PreparedOutcome]) -> None:
        """Handle an outcome whose rest has run, or answer its error."""
        if self._is_over:
            return
        try:
            self._handle_prepared(*pending.result())
        except KafkaError as error:
            self._answer_error(ticket, error)
            self.perform(Outcome())
            self.long.resume()
        except Exception as error:  # noqa: BLE001 - as in `run`
            self._answer_error(ticket, UnknownServerError(_FAILED))
            self._fail(error)

    def _handle_prepared(self, outcome: Outcome, batch: bytearray | None) -> None:
        if batch is None:
            self._handle(outcome)
        pending = None if batch is None else self._append(outcome, batch)
        if pending is None:
            self.long.resume()
            return
        offset = self._take_offset(pending, len(outcome.records))
        end = partial(self._end_replay, pending, outcome)
        if _has_failed(pending):
            end()
        else:
            self.long.replay(outcome, offset, end=end)

    def _end_replay(self, pending: Pending[int], outcome: Outcome) -> None:
        if self._is_over:
            return
        if not _has_failed(pending):
            self._set_timers(outcome)
        self._defer(pending, outcome)
        self.long.resume()

    # -- the parts of outcomes

    def _set_timers(self, outcome: Outcome) -> None:
        for change in outcome.timers:
            self._timers.change(change)

    def _take_offset(self, pending: Pending[int], count: int) -> int:
        """Return the base offset of an append; of one that is not written yet, the expected one."""
        is_known = pending.done() and not _has_failed(pending)
        offset = pending.result() if is_known else self.next_offset
        self.next_offset = offset + count
        return offset

    def _release(self, outcome: Outcome) -> None:
        for answer in outcome.answers:
            self.calls.give(answer)
        for each in outcome.events:
            self._ports.count(each)
        self.perform(outcome)

    # -- appends that count, or fail

    def _defer(self, pending: Pending[int], outcome: Outcome) -> None:
        """Release an outcome once its append and all earlier ones count."""
        if pending.done() and not self._deferred and not _has_failed(pending):
            self._release(outcome)
            return
        self._await(self._deferred.begin(outcome), pending)

    def _await(self, append: DeferredAppend, pending: Pending[int]) -> None:
        """Release the outcomes of an append once it and all earlier ones count."""
        if pending.done():
            self._complete(append, pending)
            return
        complete = partial(self._complete, append)  # a future keeps its callbacks: not the future
        pending.add_done_callback(lambda ended: self._ports.call_soon(partial(complete, ended)))

    def _complete(self, append: DeferredAppend, pending: Pending[int]) -> None:
        if self._is_over:
            return
        cause = pending.exception()
        if isinstance(cause, KafkaError):
            self._break(coordinator_error(cause))
        elif cause is not None:
            self._fail(cause)
        else:
            self._count(append)

    def _count(self, append: DeferredAppend) -> None:
        try:
            self._deferred.complete(append)
        except Exception as error:  # noqa: BLE001 - as in `run`
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Log an unexpected error, and leave a state that it may have damaged."""
        _log.error("the coordinator of partition %s failed", self.log.partition, exc_info=error)
        self._break(UnknownServerError(_FAILED))

    def _break(self, error: KafkaError) -> None:
        """Leave a state of which the log may lack records; what waits may be sent again."""
        if not self._is_over:
            self.close(reload_error(error))
            self.on_broken(error)

    def close(self, error: KafkaError) -> None:
        """Answer everything that waits, and cancel all timers."""
        if self._is_over:
            return
        self._is_over = True
        self.long.forget()
        self._timers.cancel_all()
        try:
            for answer in self.shard.close(error).answers:
                self.calls.give(answer)
        except Exception:  # noqa: BLE001 - as in `run`
            _log.exception("the end of the coordinator of %s failed", self.log.partition)
        self.calls.fail(error)


def _fire_again(key: TimerKey, _: KafkaError, now_ms: int) -> Outcome:
    """Let a timer whose records were rejected fire later: nothing else sets it again."""
    return Outcome(timers=[TimerChange(key, now_ms + TIMER_RETRY_MS)])


def _has_failed(pending: Pending[int]) -> bool:
    return pending.done() and pending.exception() is not None
