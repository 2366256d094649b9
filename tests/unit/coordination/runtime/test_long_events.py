"""Tests of long events: the rest runs on the worker, and other events of the shard wait for it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from cordwood.coordination.outcome import Answer, Outcome, Ticket, TimerChange, TimerKey
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.runtime.active_shard import TIMER_RETRY_MS, ActiveShard
from cordwood.coordination.runtime.coordinator_timers import CoordinatorTimers
from cordwood.coordination.runtime.long_events import PAUSED_TIMER_MS
from cordwood.coordination.runtime.runtime_ports import TURN_MS
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    KafkaError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    UnknownMemberIdError,
)
from cordwood.protocol.messages.heartbeat import HeartbeatResponse
from cordwood.protocol.schema import Response
from cordwood.records.record_batch import RecordBatch
from tests.unit.broker.broker_samples import run
from tests.unit.coordination.runtime.runtime_samples import (
    TIMER,
    CountingShard,
    MemoryLog,
    RuntimeHarness,
    group_record,
)
from tests.unit.storage.manager_samples import HeldWorker

MARKER = TransactionMarker(7, 0, 0, is_commit=True, partitions=frozenset())


class LongHarness:
    """A shard whose worker runs its calls in `work`; `calls` are those of the next turns."""

    def __init__(self, shard: CountingShard | None = None) -> None:
        harness = RuntimeHarness()
        self.log: MemoryLog = harness.log()
        self.shard = CountingShard() if shard is None else shard
        self.clock, self.network_clock = harness.clock, harness.network_clock
        self.worker = HeldWorker()
        self.calls = list[Callable[[], object]]()
        ports = replace(harness.ports, worker=self.worker, call_soon=self.calls.append)
        self.active = ActiveShard(self.shard, self.log, ports, timers=CoordinatorTimers(ports))
        self.broken = list[KafkaError]()
        self.active.on_broken = self.broken.append

    def begin_long(self, *groups: str, ticket: Ticket | None = None) -> None:
        """Begin a long event that stores groups."""
        self.active.run(lambda *_: Outcome(rest=lambda: stored(*groups, ticket=ticket)), ticket)

    def add(self, *groups: str) -> None:
        """Store groups in a short event."""
        self.active.run(lambda *_: stored(*groups))

    def next_turn(self) -> None:
        calls, self.calls[:] = [*self.calls], []
        for each in calls:
            each()

    def work(self) -> None:
        """Run what the worker has, and all turns after it."""
        self.worker.go_on()
        while self.calls:
            self.next_turn()


def stored(*groups: str, ticket: Ticket | None = None) -> Outcome:
    answers = [] if ticket is None else [Answer(ticket, HeartbeatResponse(error_code=0))]
    return Outcome(records=[group_record(each) for each in groups], answers=answers)


def test_rest_runs_on_the_worker_and_is_appended_on_the_loop() -> None:
    harness = LongHarness()
    harness.begin_long("g", "h")
    harness.worker.go_on()
    before = len(harness.log.batches)

    harness.work()

    assert before == 0
    assert [RecordBatch(each).count for each in harness.log.batches] == [2]
    assert [each.offset for each in harness.shard.stored] == [0, 1]


def test_events_wait_for_a_long_event_in_their_order() -> None:
    harness = LongHarness()
    harness.add("first")
    harness.begin_long("long")
    harness.add("second")
    harness.begin_long("longer")
    harness.add("third")

    for _ in range(2):
        harness.work()

    assert harness.shard.groups == ["first", "long", "second", "longer", "third"]


def test_answer_of_a_long_event_is_given_once_its_records_count() -> None:
    async def scene() -> list[bool]:
        harness = LongHarness()
        harness.log.holds = True
        ticket, future = harness.active.calls.begin()
        harness.begin_long("g", ticket=ticket)
        harness.work()
        before = future.done()
        harness.log.count()
        harness.work()
        return [before, future.done()]

    assert run(scene()) == [False, True]


def test_long_event_without_records_is_answered() -> None:
    async def scene() -> Response:
        harness = LongHarness()
        ticket, future = harness.active.calls.begin()
        harness.begin_long(ticket=ticket)
        harness.work()
        return future.result()

    assert run(scene()) == HeartbeatResponse(error_code=0)


def test_outcome_has_the_parts_before_the_rest_and_of_a_rest_of_the_rest() -> None:
    harness = LongHarness()
    inner = Outcome(records=[group_record("h")], rest=lambda: stored("i"))
    outer = Outcome(records=[group_record("g")], rest=lambda: inner)

    harness.active.run(lambda *_: outer)
    harness.work()

    assert harness.shard.groups == ["g", "h", "i"]


def test_error_of_a_rest_is_the_answer_and_the_shard_goes_on() -> None:
    async def scene() -> tuple[BaseException | None, list[str]]:
        harness = LongHarness()
        ticket, future = harness.active.calls.begin()
        harness.active.run(lambda *_: Outcome(rest=fail), ticket)
        harness.add("later")
        harness.work()
        return future.exception(), harness.shard.groups

    def fail() -> Outcome:
        raise UnknownMemberIdError

    error, groups = run(scene())
    assert isinstance(error, UnknownMemberIdError)
    assert groups == ["later"]


def test_unexpected_error_of_a_rest_breaks_the_shard() -> None:
    harness = LongHarness()

    harness.active.run(lambda *_: Outcome(rest=lambda: 1 // 0))  # type: ignore[arg-type,return-value]  # a mistake
    harness.work()

    assert [each.code for each in harness.broken] == [-1]


def test_rejected_long_event_has_its_error_and_the_shard_goes_on() -> None:
    async def scene() -> tuple[int, list[str]]:
        harness = LongHarness()
        ticket, future = harness.active.calls.begin()
        harness.begin_long("g", ticket=ticket)
        harness.log.rejection = NotEnoughReplicasError("none")
        harness.worker.go_on()
        harness.next_turn()
        harness.log.rejection = None
        harness.add("later")
        harness.work()
        error = future.exception()
        assert isinstance(error, KafkaError)
        return error.code, harness.shard.groups

    assert run(scene()) == (15, ["later"])


def test_replay_of_a_long_event_takes_turns_and_others_wait_for_it() -> None:
    """The records of a group with 36,000 offsets took 60 ms of one turn."""
    harness = LongHarness()
    harness.shard.on_replay = lambda _: harness.network_clock.advance(ms=TURN_MS / 8)
    groups = [f"g-{number}" for number in range(100)]
    harness.begin_long(*groups)
    harness.worker.go_on()
    replayed = list[int]()

    while harness.calls:
        harness.next_turn()
        replayed.append(len(harness.shard.groups))
        if len(replayed) == 1:
            harness.add("later")

    assert replayed[:4] == [8, 16, 24, 32]
    assert harness.shard.groups == [*groups, "later"]


def test_events_that_waited_run_in_turns() -> None:
    harness = LongHarness()
    harness.begin_long("long")
    for number in range(10):
        harness.add(f"g-{number}")
    harness.shard.on_replay = lambda _: harness.network_clock.advance(ms=TURN_MS)
    harness.worker.go_on()
    in_turns = list[int]()

    while harness.calls:
        harness.next_turn()
        in_turns.append(len(harness.shard.groups))

    assert in_turns[:11] == [*range(1, 12)]


def test_timer_of_a_paused_shard_fires_later_unless_a_waiting_event_cancels_it() -> None:
    harness = LongHarness()
    now_ms = harness.clock.now_ms()
    due = [TimerChange(TIMER, now_ms + 1), TimerChange(("late", "h"), now_ms + 1)]
    harness.active.run(lambda *_: Outcome(timers=due))
    harness.begin_long("long")
    harness.active.run(lambda *_: Outcome(timers=[TimerChange(TIMER, None)]))

    harness.clock.advance(ms=1)
    before = [*harness.shard.fired]
    harness.work()
    harness.clock.advance(ms=PAUSED_TIMER_MS)

    assert before == []
    assert [key for key, _ in harness.shard.fired] == [("late", "h")]


def test_marker_is_rejected_while_a_long_event_runs() -> None:
    harness = LongHarness()
    harness.begin_long("g")

    with pytest.raises(CoordinatorLoadInProgressError):
        harness.active.end_transaction(MARKER)
    harness.work()

    assert harness.active.end_transaction(MARKER).result() == 1


def test_shard_that_ends_during_a_long_event_answers_all_and_appends_nothing() -> None:
    async def scene() -> tuple[list[bool], int]:
        harness = LongHarness()
        waiting = list[asyncio.Future[Response]]()
        for _ in range(2):
            ticket, future = harness.active.calls.begin()
            waiting.append(future)
            harness.begin_long("g", ticket=ticket)
        harness.active.close(NotCoordinatorError("moved"))
        harness.work()
        errors = [isinstance(each.exception(), NotCoordinatorError) for each in waiting]
        return errors, len(harness.log.batches)

    assert run(scene()) == ([True, True], 0)


def test_shard_that_ends_during_a_long_replay_replays_no_more() -> None:
    harness = LongHarness()
    harness.shard.on_replay = lambda _: harness.network_clock.advance(ms=TURN_MS)
    harness.begin_long(*(f"g-{number}" for number in range(100)))
    harness.worker.go_on()
    harness.next_turn()

    harness.active.close(NotCoordinatorError("moved"))
    harness.work()

    assert len(harness.shard.groups) == 1


class LongTimerShard(CountingShard):
    """A shard whose timers are long events."""

    def on_timer(self, key: TimerKey, now_ms: int) -> Outcome:
        self.fired.append((key, now_ms))
        return Outcome(rest=lambda: stored(key[1]))


def test_rest_of_a_timer_whose_records_are_rejected_fires_again() -> None:
    harness = LongHarness(LongTimerShard())
    harness.active.run(lambda *_: Outcome(timers=[TimerChange(TIMER, harness.clock.now_ms())]))
    harness.log.rejection = NotEnoughReplicasError()
    harness.clock.advance(ms=1)
    harness.work()
    harness.log.rejection = None

    harness.clock.advance(ms=TIMER_RETRY_MS)
    harness.work()

    assert (len(harness.shard.fired), harness.shard.groups) == (2, ["g"])
