"""Actors of the sink's simulation: Spark's drivers, their worker processes, their tasks.

An actor is a generator that yields where another actor may run. Every request is such a point: it
may be answered, answered without the answer arriving, or arrive late.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar, cast
from uuid import UUID

from cordwood.core.errors import CordwoodError, RequestTimedOutError
from cordwood.spark.sink.exactly_once.batch_abort import abort_batch
from cordwood.spark.sink.exactly_once.batch_commit import CommitMemory, commit_batch
from cordwood.spark.sink.exactly_once.batch_preparation import (
    DriverMemory,
    PreparedBatch,
    prepare_batch,
)
from cordwood.spark.sink.exactly_once.sink_requests import End, SinkRequest, Steps, WriteRecord
from cordwood.spark.sink.exactly_once.task_outcome import OutcomeKind, TaskOutcome
from cordwood.spark.sink.exactly_once.task_write import (
    BeginRows,
    LeaveOpen,
    SendRows,
    TaskContent,
    write_task,
)
from cordwood.spark.sink.exactly_once.transactional_ids import TaskPlace, TransactionalIds
from tests.crash.sink_brokers import TryAgainError

if TYPE_CHECKING:
    from cordwood.client.transaction_handle import TransactionHandle
    from tests.crash.sink_simulation import SinkSimulation

R = TypeVar("R")
#: A part of an actor that returns `R`.
Acts = Generator[None, None, R]
Perform = Callable[[SinkRequest[object]], object]

_PATIENCE: Final = 60
_ATTEMPTS: Final = 8
QUERY_ID: Final = UUID(int=0xC0DE)


def digest_of(rows: list[int]) -> tuple[int, int]:
    """Return the number and the digest of rows."""
    return len(rows), sum((each + 1) * 0x9E37_79B9 % 0xFFFF_FFFB for each in rows)


def driven(world: "SinkSimulation", steps: Steps[R], perform: Perform | None = None) -> Acts[R]:
    """Perform the requests of the protocol, with faults."""
    done = perform or world.brokers.perform
    try:
        request = next(steps)
        while True:
            answer, error = yield from _answered(world, request, done)
            request = steps.send(answer) if error is None else steps.throw(error)
    except StopIteration as end:
        return cast("R", end.value)


def _answered(
    world: "SinkSimulation",
    request: SinkRequest[object],
    perform: Perform,
) -> Acts[tuple[object, CordwoodError | None]]:
    for _ in range(_PATIENCE):
        yield
        if isinstance(request, End | WriteRecord) and world.happens("request is late", 0.02):
            world.brokers.later(lambda: perform(request))
            return None, RequestTimedOutError("no answer")
        if (
            isinstance(request, End)
            and len(request.handles) > 1
            and world.happens("some ends", 0.1)
        ):
            perform(replace(request, handles=request.handles[1:]))
            return None, RequestTimedOutError("no answer")
        try:
            answer = perform(request)
        except TryAgainError:
            world.counts["retried"] += 1
            continue
        except CordwoodError as error:
            return None, error
        if world.happens("answer is lost", 0.03):
            if world.happens("answer is lost for good", 0.3):
                return None, RequestTimedOutError("no answer")
            continue
        return answer, None
    return None, RequestTimedOutError("retries are exhausted")


@dataclass(slots=True)
class WorkerProcess:
    """A Python worker: one attempt at a time, ids of its own."""

    run: "DriverRun"
    ids: TransactionalIds = field(default_factory=TransactionalIds)
    attempt: "Attempt | None" = None
    is_dead: bool = False


class Attempt:
    """An attempt of a write task, on a worker."""

    def __init__(self, world: "SinkSimulation", run: "DriverRun", prepared: PreparedBatch) -> None:
        self.world, self.run, self.prepared = world, run, prepared
        self.outcome: TaskOutcome | None = None
        self.error: CordwoodError | None = None
        self.is_over = False
        self._handle: TransactionHandle | None = None
        self._sent: SinkRequest[object] | None = None

    def work(
        self, worker: WorkerProcess, batch: int, place: TaskPlace, rows: list[int]
    ) -> Acts[None]:
        """Run the task."""
        read: list[int] = []
        steps = write_task(
            self.prepared,
            worker.ids,
            batches=_batches(rows, read),
            task=TaskContent(batch, QUERY_ID, place),
            digest_of=digest_of,
        )
        try:
            outcome = yield from driven(self.world, steps, self._perform)
            self.outcome = outcome
            if outcome.kind is not OutcomeKind.WRITTEN:
                self.world.counts[f"slot {outcome.kind}"] += 1
            self.world.ensure_drained(rows, read)
        except CordwoodError as error:
            self.error = error
        self.is_over = True
        worker.attempt = None

    def _perform(self, request: SinkRequest[object]) -> object:
        brokers = self.world.brokers
        match request:
            case BeginRows():
                self._handle = brokers.fence(request.transactional_id, request.timeout_ms)
                return None
            case SendRows():
                assert self._handle is not None
                if self._sent is not request:  # a repeated batch has its sequence: no duplicate
                    brokers.produce(self._handle, request.rows)
                self._sent = request
                return digest_of(request.rows)
            case LeaveOpen():
                return None if self._sent is None else self._handle
        return brokers.perform(request)


def _batches(rows: list[int], read: list[int]) -> Iterator[list[int]]:
    for at in range(0, len(rows), 2):
        read += rows[at : at + 2]
        yield rows[at : at + 2]


class DriverRun:
    """A run of the query: one driver, its planner process, its workers."""

    def __init__(self, world: "SinkSimulation", *, before: "DriverRun | None" = None) -> None:
        self.world = world
        self.acts: Acts[None] = self.work()
        self.is_over = False
        self.error: CordwoodError | None = None
        #: A query that is started again in the same session keeps the planner and the workers.
        self.memory: DriverMemory = DriverMemory() if before is None else before.memory
        self.commits: CommitMemory = CommitMemory() if before is None else before.commits
        self.workers: list[WorkerProcess] = [] if before is None else before.workers
        self.attempt_ids: list[int] = [0] if before is None else before.attempt_ids
        for each in self.workers:
            each.run = self

    def work(self) -> Acts[None]:
        """Run batches until the input is exhausted or one fails."""
        try:
            while (batch := self.world.next_batch()) is not None:
                yield from self._batch(batch)
                yield
                self.world.log_commit(batch)
        except CordwoodError as error:
            self.error = error
        self.is_over = True

    def _batch(self, batch: int) -> Acts[None]:
        world = self.world
        prepared = yield from driven(world, prepare_batch(world.plan, self.memory))
        outcomes: list[TaskOutcome | None] = []
        try:
            slots = world.slots_of(batch)
            outcomes = [None] * len(slots)
            yield from self._tasks(prepared, batch, slots, outcomes)
            found = [each for each in outcomes if each is not None]
            yield from driven(
                world, commit_batch(prepared, self.commits, batch=batch, outcomes=found)
            )
        except CordwoodError:
            known = [each for each in outcomes if each is not None]
            world.counts["abort"] += 1
            try:
                yield from driven(world, abort_batch(prepared, batch=batch, outcomes=known))
            except CordwoodError:
                world.counts["abort failed"] += 1
            raise

    def _tasks(
        self,
        prepared: PreparedBatch,
        batch: int,
        slots: list[list[int]],
        outcomes: list[TaskOutcome | None],
    ) -> Acts[None]:
        """Run attempts until each slot has an outcome."""
        running: dict[int, list[Attempt]] = {slot: [] for slot in range(len(slots))}
        while None in outcomes:
            yield
            for slot, rows in enumerate(slots):
                for each in running[slot]:
                    self._take(slot, each, outcomes)
                if outcomes[slot] is None:
                    self._attempt(prepared, batch, slot=slot, rows=rows, tries=running[slot])

    def _attempt(
        self,
        prepared: PreparedBatch,
        batch: int,
        *,
        slot: int,
        rows: list[int],
        tries: "list[Attempt]",
    ) -> None:
        """Start an attempt of a slot without one, or a second one now and then."""
        world = self.world
        active = [each for each in tries if not each.is_over]
        wanted = not active or (len(active) == 1 and world.happens("speculated", 0.03))
        worker = self._free_worker() if wanted else None
        if worker is None:
            return
        if len(tries) >= _ATTEMPTS:
            raise tries[-1].error or RequestTimedOutError("no attempt has succeeded")
        number = 0 if world.happens("stage repeated", 0.1) else len(tries)
        self.attempt_ids[0] += 1
        attempt = worker.attempt = Attempt(world, self, prepared)
        tries.append(attempt)
        place = TaskPlace(slot, number, self.attempt_ids[0])
        world.start(attempt.work(worker, batch, place, rows), worker)

    def _take(self, slot: int, attempt: Attempt, outcomes: list[TaskOutcome | None]) -> None:
        if outcomes[slot] is None and attempt.outcome is not None:
            if self.world.happens("task fails after its write", 0.06):
                attempt.outcome = None
                return
            outcomes[slot] = attempt.outcome
        if attempt.error is not None:
            self.world.counts["task failed"] += 1

    def _free_worker(self) -> WorkerProcess | None:
        self.workers[:] = [each for each in self.workers if not each.is_dead]
        for each in self.workers:
            if each.attempt is None:
                return each
        if len(self.workers) >= self.world.cores:
            return None
        made = WorkerProcess(self)
        self.workers.append(made)
        return made
