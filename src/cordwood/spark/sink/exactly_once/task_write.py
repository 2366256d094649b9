"""The steps of a write task: its duty, its transaction, its outcome.

    6  the duty: write, drop or compare the rows
    7  take a transactional id, open it, send the rows, leave the transaction open

`B` is the type of a batch of rows. The steps yield requests, as those of the driver do.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.spark.sink.exactly_once.batch_commit import too_long
from cordwood.spark.sink.exactly_once.batch_preparation import PreparedBatch
from cordwood.spark.sink.exactly_once.sink_requests import Now, SinkRequest, Steps, ask
from cordwood.spark.sink.exactly_once.task_duty import TaskDuty, duty_of
from cordwood.spark.sink.exactly_once.task_outcome import DIGEST_MASK, OutcomeKind, TaskOutcome
from cordwood.spark.sink.exactly_once.transactional_ids import TaskPlace, TransactionalIds

B = TypeVar("B")
B_contra = TypeVar("B_contra", contravariant=True)

_DROPPED: Final = {TaskDuty.SKIP: OutcomeKind.SKIPPED, TaskDuty.ASSUME: OutcomeKind.ASSUMED}


@dataclass(frozen=True, slots=True)
class BeginRows(SinkRequest[None]):
    """Open a producer with this transactional id, and begin a transaction."""

    transactional_id: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class SendRows(SinkRequest[tuple[int, int]], Generic[B]):
    """Send a batch of rows in the transaction; the answer is their number and digest."""

    rows: B


@dataclass(frozen=True, slots=True)
class LeaveOpen(SinkRequest[TransactionHandle | None]):
    """Wait until all rows are acknowledged, and leave the transaction open; None without rows."""


class RowDigest(Protocol[B_contra]):
    """Number and digest of the rows of a batch; the digest does not depend on their order."""

    def __call__(self, rows: B_contra, /) -> tuple[int, int]:
        """Return both; equal rows in another order have equal results."""
        ...


class TaskContent(NamedTuple):
    """The facts of an attempt that Spark gives."""

    batch: int
    query_id: UUID
    place: TaskPlace


class RowTotals:
    """Number and digest of the rows of a task; a sum, so that order does not count."""

    def __init__(self) -> None:
        self.rows = 0
        self.digest = 0

    def add(self, rows: int, digest: int) -> None:
        self.rows += rows
        self.digest = (self.digest + digest) & DIGEST_MASK


def write_task(
    prepared: PreparedBatch,
    ids: TransactionalIds,
    *,
    batches: Iterable[B],
    task: TaskContent,
    digest_of: RowDigest[B],
) -> Steps[TaskOutcome]:
    """Write, drop or compare the rows of a task."""
    slot = task.place.slot
    duty = duty_of(prepared, batch=task.batch, query_id=task.query_id, slot=slot)
    kind, number, handle = OutcomeKind.WRITTEN, 0, None
    if duty is TaskDuty.WRITE:
        number = ids.take(
            prepared.plan.names.sink, prepared.incarnation, batch=task.batch, place=task.place
        )
        totals = yield from _send(prepared, number, batches, batch=task.batch)
        handle = yield from ask(LeaveOpen())
    else:
        totals = drain(batches, digest_of)
        kind = _DROPPED.get(duty) or _compared(prepared, slot, totals)
    return TaskOutcome(
        kind=kind,
        slot=slot,
        query_id=task.query_id,
        rows=totals.rows,
        digest=totals.digest,
        handle=handle,
        number=number,
        is_retry=task.place.attempt > 0,
    )


def drain(batches: Iterable[B], digest_of: RowDigest[B]) -> RowTotals:
    """Read all rows without writing them."""
    totals = RowTotals()
    for each in batches:
        totals.add(*digest_of(each))
    return totals


def _compared(prepared: PreparedBatch, slot: int, totals: RowTotals) -> OutcomeKind:
    written = prepared.visible()[slot]
    is_same = (written.rows, written.digest) == (totals.rows, totals.digest)
    return OutcomeKind.VERIFIED if is_same else OutcomeKind.DIFFERENT


def _send(
    prepared: PreparedBatch, number: int, batches: Iterable[B], *, batch: int
) -> Steps[RowTotals]:
    """Send the rows; raise SparkError when the transaction is open for too long already."""
    name = prepared.plan.names.task(prepared.incarnation, number)
    yield from ask(BeginRows(name, prepared.plan.timeout_ms))
    totals, begun_ms = RowTotals(), None
    for each in batches:
        now_ms = yield from ask(Now())
        begun_ms = now_ms if begun_ms is None else begun_ms
        if now_ms - begun_ms > prepared.plan.timeout_ms // 2:
            raise too_long(batch, now_ms - begun_ms, timeout_ms=prepared.plan.timeout_ms)
        totals.add(*(yield from ask(SendRows(each))))
    return totals
