"""Requests of one loaded shard whose appends count, fail and are rejected in any order.

Outcomes that share the batch of their turn or have their own, large and long ones, ones that
recover from a rejected append, markers, timers, unexpected errors and the end of the leadership are
drawn. At the end every request has an answer, and outcomes have counted in the order of their
events, after the appends before them. The state is that of the log, or the shard has ended: no call
and no append follows, and the requests that waited may be sent again.
"""

import asyncio
import os
from contextlib import suppress
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from cordwood.coordination.coordinator_record import StoredMarker, StoredRecord
from cordwood.coordination.outcome import (
    Answer,
    Outcome,
    Ticket,
    TimerChange,
    TimerKey,
    TransactionalProducer,
)
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.runtime.internal_batches import StoredItem, decode_batches
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaError,
    KafkaStorageError,
    MessageTooLargeError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    UnknownServerError,
)
from cordwood.protocol.messages.heartbeat import HeartbeatResponse
from cordwood.protocol.messages.internal import GROUP_RECORDS, GroupMetadataKey
from cordwood.protocol.schema import Response
from tests.unit.broker.broker_samples import run
from tests.unit.coordination.runtime.runtime_samples import (
    ActiveHarness,
    CountingShard,
    group_record,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS: Final = range(20_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 150)
STEPS: Final = 120
#: A batch has room for about four records, and for no large one.
BATCH_BYTES: Final = 400
OK: Final = HeartbeatResponse(error_code=0)
RECOVERED: Final = HeartbeatResponse(error_code=27)
#: Errors after which every client sends its request again.
RETRIABLE: Final = frozenset(
    each.code
    for each in (CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError)
)
FAILURES: Final = (NotEnoughReplicasError, KafkaStorageError, MessageTooLargeError)


class Handled(NamedTuple):
    """An outcome, and the number of appends before it."""

    outcome: Outcome
    appends: int


class WatchedShard(CountingShard):
    """A shard that notes what it has replayed, and calls after its end."""

    def __init__(self) -> None:
        super().__init__()
        self.replayed = list[StoredItem]()
        self.late_calls = 0
        self.on_outcome: Callable[[Outcome], object] = lambda _: None
        self._is_closed = False

    def replay(self, stored: StoredRecord) -> None:
        self.late_calls += self._is_closed
        self.replayed.append(stored)
        super().replay(stored)

    def replay_marker(self, stored: StoredMarker) -> None:
        self.late_calls += self._is_closed
        self.replayed.append(stored)

    def on_timer(self, key: TimerKey, now_ms: int) -> Outcome:
        self.late_calls += self._is_closed
        outcome = super().on_timer(key, now_ms)
        self.on_outcome(outcome)
        return outcome

    def close(self, error: KafkaError) -> Outcome:
        self._is_closed = True
        return super().close(error)


class Scene:
    """A shard, with events and fates of its appends that are drawn."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.shard = WatchedShard()
        self.harness = ActiveHarness(self.shard)
        self.harness.defer_calls()
        self.active, self.log = self.harness.active, self.harness.log
        self.log.most_bytes = BATCH_BYTES
        self.futures = dict[Ticket, asyncio.Future[Response]]()
        #: Requests of events with an unexpected error.
        self.failed = set[Ticket]()
        self.handled = list[Handled]()
        self.performed = list[int]()
        self.problems = list[str]()
        #: The appends when the shard has ended.
        self.appends_at_end: int | None = None
        self._names = 0
        self._places = dict[str, int]()
        self._placed = 0
        self.shard.on_outcome = self._note
        self.active.perform = self._perform
        self.active.on_broken = self._end

    def step(self) -> None:
        """Handle an event, or let an append, the loop or the time go on."""
        drawn = self.random.random()
        self.log.holds = self.random.random() < 0.8
        if drawn < 0.45:
            self._request()
        elif drawn < 0.6:
            self.random.choice((self._wait, self._wake, self._set_timer, self._mark))()
        elif drawn < 0.75:
            self.harness.make_calls()
        elif drawn < 0.95:
            self._count()
        else:
            self.random.choice((self._reject, self._pass, self._disturb))()

    def finish(self) -> None:
        """End the rejections, answer what waits in the shard, and let all appends count."""
        self.log.rejection = self.log.late_rejection = None
        if not self.active.is_over:
            self._wake()
        while self.harness.calls or self.log.held:
            self.harness.make_calls()
            self._count()

    # -- events

    def _request(self) -> None:
        ticket = self._begin()
        names = [self._name() for _ in range(self.random.choice((0, 1, 1, 1, 3)))]
        outcome = Outcome(records=[*map(group_record, names)], answers=[Answer(ticket, OK)])
        if names:
            forms = (self._plain, self._plain, self._large, self._own, self._recover, self._delay)
            self.random.choice(forms)(outcome)
        self._run(outcome)

    def _plain(self, outcome: Outcome) -> None:
        """Leave an outcome in the batch of its turn."""

    def _large(self, outcome: Outcome) -> None:
        outcome.records.append(group_record(self._name() + "x" * BATCH_BYTES))

    def _own(self, outcome: Outcome) -> None:
        outcome.producer = TransactionalProducer(7, 0)

    def _recover(self, outcome: Outcome) -> None:
        (ticket, _), name = outcome.answers[0], self._name()
        is_answered, has_record = self.random.random() < 0.5, self.random.random() < 0.5

        def follow(_: KafkaError, __: int) -> Outcome:
            following = Outcome(records=[group_record(name)] if has_record else [])
            following.answers += [Answer(ticket, RECOVERED)] if is_answered else []
            return self._note(following)

        outcome.on_failure = follow

    def _delay(self, outcome: Outcome) -> None:
        """Let the worker make the records, while other events wait."""
        records, outcome.records = outcome.records, []
        outcome.rest = lambda: Outcome(records=records)

    def _wait(self) -> None:
        ticket = self._begin()
        self.active.run(lambda shard, _: shard.wait(ticket))

    def _wake(self) -> None:
        """Answer all requests that wait in the shard, with a record or without."""
        names = [self._name() for _ in range(self.random.randrange(2))]

        def wake(shard: CountingShard, _: int) -> Outcome:
            answers = [Answer(each, OK) for each in shard.waiting]
            shard.waiting.clear()
            return self._note(Outcome(records=[*map(group_record, names)], answers=answers))

        self.active.run(wake)

    def _set_timer(self) -> None:
        key, at_ms = ("late", self._name()), self.harness.clock.now_ms() + self.random.randrange(20)
        names = [self._name() for _ in range(self.random.randrange(2))]
        self._run(Outcome(records=[*map(group_record, names)], timers=[TimerChange(key, at_ms)]))

    def _mark(self) -> None:
        marker = TransactionMarker(7, 0, 0, is_commit=True, partitions=frozenset())
        with suppress(KafkaError):
            self.active.end_transaction(marker)

    def _run(self, outcome: Outcome) -> None:
        self.active.run(lambda *_: self._note(outcome))

    def _note(self, outcome: Outcome) -> Outcome:
        self.handled.append(Handled(outcome, len(self.log.batches)))
        return outcome

    def _begin(self) -> Ticket:
        ticket, future = self.harness.begin()
        self.futures[ticket] = future
        return ticket

    def _name(self) -> str:
        self._names += 1
        return f"g{self._names}"

    # -- appends and faults

    def _count(self) -> None:
        if self.log.held:
            self.log.held.pop(self.random.randrange(len(self.log.held))).set_result(0)

    def _reject(self) -> None:
        """Let the log reject appends, those of open batches too."""
        error = NotEnoughReplicasError("none")
        if self.random.random() < 0.5:
            self.log.rejection = error
        if self.random.random() < 0.6:
            self.log.late_rejection = self.random.choice(FAILURES)("late")

    def _pass(self) -> None:
        self.log.rejection = self.log.late_rejection = None
        self.harness.clock.advance(ms=self.random.randrange(1_000))

    def _disturb(self) -> None:
        drawn = self.random.random()
        if drawn < 0.1:
            self._end(NotCoordinatorError("moved"))
            self.active.close(NotCoordinatorError("moved"))
        elif drawn < 0.2 and self.log.held:
            self.log.held.pop(0).set_exception(self.random.choice(FAILURES)("late"))
        elif drawn < 0.3:
            ticket = self._begin()
            self.failed.add(ticket)
            self.active.run(fail, ticket)

    # -- what is seen

    def _end(self, _: KafkaError) -> None:
        self.appends_at_end = len(self.log.batches)

    def _perform(self, outcome: Outcome) -> None:
        """Note an outcome that counts, and the appends before it that do not."""
        found = (at for at, each in enumerate(self.handled) if each.outcome is outcome)
        if (at := next(found, None)) is None:
            return  # the outcome of a marker
        places = self.places()
        last = max((places[name] + 1 for name in names_of(outcome)), default=0)
        needed = self.log.appended[: max(last, self.handled[at].appends)]
        if not all(each.done() and each.exception() is None for each in needed):
            self.problems.append(f"outcome {at} before its append")
        self.performed.append(at)

    def places(self) -> dict[str, int]:
        """Return the number of the append of each name."""
        for at, batch in enumerate(self.log.batches[self._placed :], start=self._placed):
            for each in decode_batches(GROUP_RECORDS, memoryview(batch)):
                if isinstance(each, StoredRecord):
                    self._places |= dict.fromkeys(names_of(Outcome(records=[each.record])), at)
        self._placed = len(self.log.batches)
        return self._places


def fail(*_: object) -> Outcome:
    """Raise an unexpected error."""
    raise ZeroDivisionError


def names_of(outcome: Outcome) -> list[str]:
    """Return the names of the records of an outcome."""
    keys = (each.key for each in outcome.records)
    return [each.group for each in keys if isinstance(each, GroupMetadataKey)]


def check_requests(scene: Scene) -> None:
    """Check that all requests have answers, and those that may come."""
    assert all(each.done() for each in scene.futures.values())
    for ticket, future in scene.futures.items():
        error = future.exception()
        if isinstance(error, KafkaError):
            failed = {UnknownServerError.code} if ticket in scene.failed else set[int]()
            wanted = RETRIABLE | failed
            assert error.code in wanted, (ticket, error.code)


def check_outcomes(scene: Scene) -> None:
    """Check that outcomes have counted in order, each once, and all that are in the log."""
    assert scene.problems == []
    assert scene.performed == sorted({*scene.performed})
    if not scene.active.is_over:
        names = scene.places().keys()
        counted = {*scene.performed}
        missing = [at for at in range(len(scene.handled)) if at not in counted]
        assert not [at for at in missing if names & names_of(scene.handled[at].outcome)]


def check_state(scene: Scene) -> None:
    """Check that the state is that of the log, or that nothing has followed the end."""
    assert scene.shard.late_calls == 0
    if scene.active.is_over:
        assert scene.appends_at_end == len(scene.log.batches)
        return
    stored = [decode_batches(GROUP_RECORDS, memoryview(each)) for each in scene.log.batches]
    assert scene.shard.replayed == list(chain.from_iterable(stored))
    assert scene.active.next_offset == scene.log.end


@pytest.mark.timeout(3600 if len(SEEDS) > 1_000 else 60)
def test_each_request_has_one_answer_after_its_append() -> None:
    async def scene_of(seed: int) -> None:
        scene = Scene(seed)
        for _ in range(STEPS):
            if scene.active.is_over:
                break
            scene.step()
        scene.finish()
        for check in (check_requests, check_outcomes, check_state):
            check(scene)

    for seed in SEEDS:
        try:
            run(scene_of(seed))
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
