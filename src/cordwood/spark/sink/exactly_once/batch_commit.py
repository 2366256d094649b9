"""Commit of a batch, after its tasks: the decision, then the transactions of the tasks.

     8  all tasks have skipped: nothing to do, if the decision has as many rows
     9  abort the transactions of attempts whose messages did not come
    10  all transactions are open, and younger than half their timeout
    11  write the intent record in the driver's transaction, and commit it: the decision
    12  read it back, stable
    13  commit the transactions of the tasks

Before step 11 an error lets Spark call `abort`, and the next run writes the batch again. After it
the batch is decided, and the next preparation finishes what this process has left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import SparkError
from cordwood.spark.sink.exactly_once.batch_preparation import PreparedBatch
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord, SlotRecord
from cordwood.spark.sink.exactly_once.open_transactions import abort_orphans
from cordwood.spark.sink.exactly_once.record_access import write_record
from cordwood.spark.sink.exactly_once.sink_requests import (
    Describe,
    End,
    EndResult,
    IdState,
    Now,
    Steps,
    ask,
)
from cordwood.spark.sink.exactly_once.task_outcome import DIGEST_MASK, OutcomeKind, TaskOutcome

#: Interval of the search for losers: a killed copy of a task leaves no trace in the messages.
_SEARCH_MS: Final = 30_000
_SKIPS: Final = frozenset({OutcomeKind.SKIPPED, OutcomeKind.ASSUMED})


@dataclass(slots=True)
class CommitMemory:
    """The memory of the committing process; its loss costs one search."""

    searched_ms: int | None = None

    def is_search_due(self, now_ms: int) -> bool:
        """Return whether the last search is too long ago."""
        return self.searched_ms is None or not 0 <= now_ms - self.searched_ms < _SEARCH_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedBatch:
    """The result of a commit."""

    rows: int = 0
    is_skipped: bool = False
    #: Whether the rows that were skipped are not those that were decided.
    has_other_rows: bool = False
    #: Transactions of losing attempts that were aborted.
    aborted: int = 0


def commit_batch(
    prepared: PreparedBatch,
    memory: CommitMemory,
    *,
    batch: int,
    outcomes: Sequence[TaskOutcome],
) -> Steps[CommittedBatch]:
    """Decide a batch and make its rows visible."""
    kinds = {each.kind for each in outcomes}
    if kinds == {OutcomeKind.SKIPPED}:
        _ensure_decided_rows(prepared, batch, outcomes)
        return CommittedBatch(
            is_skipped=True, has_other_rows=_has_other_rows(prepared.record, outcomes)
        )
    if kinds & _SKIPS and len(kinds) > 1:
        raise SparkError(
            f"batch {batch}: some tasks have skipped it and others have not",
            remedy="restart the query; report this error, because it is a defect",
        )
    _ensure_visible_slots(prepared, batch, outcomes)
    record = _record_of(prepared, batch, outcomes)
    handles = tuple(record.handles(prepared.plan.names))
    aborted = yield from _abort_losers(prepared, memory, outcomes, handles)
    yield from _ensure_open(prepared, batch, handles)
    if prepared.plan.has_record:
        yield from write_record(prepared.plan.names, prepared.driver, record=record)
    answers = yield from ask(End(handles, commit=True))
    lost = [each for each in handles if answers[each].result is not EndResult.ENDED]
    if lost:
        raise _lost(prepared, batch, handles=handles, result=answers[lost[0]].result)
    rows = sum(each.rows for each in outcomes)
    return CommittedBatch(rows=rows, is_skipped=bool(kinds & _SKIPS), aborted=aborted)


def _ensure_decided_rows(
    prepared: PreparedBatch, batch: int, outcomes: Sequence[TaskOutcome]
) -> None:
    """Raise SparkError if the tasks have dropped more rows than were decided."""
    assert prepared.record is not None, "tasks skip what a record has"
    decided = sum(each.rows for each in prepared.record.slots)
    dropped = sum(each.rows for each in outcomes)
    if dropped <= decided:
        return
    if prepared.plan.is_job:
        raise SparkError(
            f"the sink {prepared.plan.names.sink!r} has written {decided} rows, and this write has"
            f" {dropped}: it is another one, and its rows would be dropped as duplicates",
            remedy="set jobId to a name that no other write has",
        )
    raise SparkError(
        f"batch {batch} was written with {decided} rows, and now it has {dropped}: the checkpoint"
        " was restored from an earlier time, and new rows would be dropped as duplicates",
        remedy="restore the checkpoint and the topics from the same time, or set"
        " transactionalIdPrefix to a new name with onMissingRecord=replay, which writes all rows of"
        " the batch",
    )


def _has_other_rows(record: IntentRecord | None, outcomes: Sequence[TaskOutcome]) -> bool:
    """Return whether tasks have dropped other rows than a record has; their order does not count.

    The digests are sums over rows, so the rows may be divided among other tasks than before.
    """
    decided = () if record is None else record.slots
    return _totals(outcomes) != _totals(decided)


def _totals(parts: Sequence[TaskOutcome] | Sequence[SlotRecord]) -> tuple[int, int]:
    rows = sum(each.rows for each in parts)
    return rows, sum(each.digest for each in parts) & DIGEST_MASK


def _lost(
    prepared: PreparedBatch,
    batch: int,
    *,
    handles: Sequence[TransactionHandle],
    result: EndResult,
) -> SparkError:
    remedy = "restart the query: it writes lost rows again"
    if not prepared.plan.has_record:
        remedy = (
            "a part of the rows is visible: set jobId in the next such write, so that another run"
            " can finish it"
        )
    return SparkError(
        f"batch {batch} is decided, but not all of its {len(handles)} transactions can be committed"
        f" ({result})",
        remedy=remedy,
    )


def _abort_losers(
    prepared: PreparedBatch,
    memory: CommitMemory,
    outcomes: Sequence[TaskOutcome],
    handles: Sequence[TransactionHandle],
) -> Steps[int]:
    now_ms = yield from ask(Now())
    if not any(each.is_retry for each in outcomes) and not memory.is_search_due(now_ms):
        return 0
    aborted = yield from abort_orphans(
        prepared.plan.names,
        prepared.driver,
        keep={each.transactional_id for each in handles},
    )
    memory.searched_ms = now_ms
    return aborted


def _ensure_open(
    prepared: PreparedBatch, batch: int, handles: Sequence[TransactionHandle]
) -> Steps[None]:
    """Raise SparkError unless all transactions can be committed for as long as they were open.

    No transaction is older than the preparation. So clocks of brokers count only for long batches.
    """
    if not handles:
        return
    states = yield from ask(Describe(tuple(each.transactional_id for each in handles)))
    now_ms = yield from ask(Now())
    for each in handles if states is not None else ():
        _ensure_same(batch, each, (states or {}).get(each.transactional_id))
    starts = [each.start_ms for each in (states or {}).values() if each.start_ms is not None]
    oldest_ms = max([prepared.prepared_ms, min(starts, default=0)])
    if now_ms - oldest_ms > prepared.plan.timeout_ms // 2:
        raise too_long(batch, now_ms - oldest_ms, timeout_ms=prepared.plan.timeout_ms)


def _ensure_same(batch: int, handle: TransactionHandle, state: IdState | None) -> None:
    """Raise SparkError unless a transaction is open under its handle."""
    wanted = (True, handle.producer_id, handle.epoch)
    if state is not None and (state.is_open, state.producer_id, state.epoch) == wanted:
        return
    found = "unknown" if state is None else f"{state.state}, epoch {state.epoch}"
    raise SparkError(
        f"batch {batch}: transaction {handle.transactional_id} (producer id"
        f" {handle.producer_id}, epoch {handle.epoch}) is no longer open ({found})",
        remedy="restart the query, which writes the batch again; if it happens again, let"
        " batches be smaller or kafka.transaction.timeout.ms longer",
    )


def too_long(batch: int, elapsed_ms: int, *, timeout_ms: int) -> SparkError:
    """Return the error of a batch whose transactions could time out before they are committed."""
    return SparkError(
        f"batch {batch}: its transactions are open for {elapsed_ms / 1000:.0f} s, more than half of"
        f" their timeout of {timeout_ms / 1000:.0f} s",
        remedy="let batches be smaller (maxOffsetsPerTrigger, maxBytesPerTrigger), or raise"
        " transaction.max.timeout.ms of the brokers and kafka.transaction.timeout.ms",
    )


def _record_of(
    prepared: PreparedBatch, batch: int, outcomes: Sequence[TaskOutcome]
) -> IntentRecord:
    """Return the decision: visible slots of an earlier one, and the new transactions."""
    visible = _visible(prepared, batch)
    written = [
        SlotRecord(
            each.slot,
            each.number,
            each.handle.producer_id,
            each.handle.epoch,
            each.rows,
            each.digest,
        )
        for each in outcomes
        if each.handle is not None
    ]
    versions = {each.handle.transaction_version for each in outcomes if each.handle is not None}
    if len(versions) > 1:
        raise SparkError(
            f"batch {batch}: the cluster has changed transaction.version during the batch",
            remedy="restart the query, which writes the batch again",
        )
    return IntentRecord(
        query_id=outcomes[0].query_id,
        batch=batch,
        incarnation=prepared.incarnation,
        transaction_version=versions.pop() if versions else prepared.driver.transaction_version,
        slots=tuple(sorted([*visible.values(), *written, *_assumed(prepared, outcomes)])),
    )


def _assumed(prepared: PreparedBatch, outcomes: Sequence[TaskOutcome]) -> list[SlotRecord]:
    """Return one visible slot with the rows that are assumed to be written, if there are any."""
    rows = sum(each.rows for each in outcomes if each.kind is OutcomeKind.ASSUMED)
    producer_id = prepared.incarnation.producer_id
    return [SlotRecord(0, 0, producer_id, 0, rows, 0, is_visible=True)] if rows else []


def _visible(prepared: PreparedBatch, batch: int) -> dict[int, SlotRecord]:
    is_replay = prepared.record is not None and prepared.record.batch == batch
    return prepared.visible() if is_replay else {}


def _ensure_visible_slots(
    prepared: PreparedBatch, batch: int, outcomes: Sequence[TaskOutcome]
) -> None:
    """Raise SparkError unless a replay has given each visible slot the same rows."""
    visible = _visible(prepared, batch)
    verified = {each.slot for each in outcomes if each.kind is OutcomeKind.VERIFIED}
    other = sorted(visible.keys() - verified)
    if not other:
        return
    remedy = (
        "set transactionalIdPrefix to a new name with onMissingRecord=assume-done or =replay"
        if not prepared.plan.is_job
        else "write the missing rows with a new jobId"
    )
    shown = ", ".join(f"{each} (producer id {visible[each].producer_id})" for each in other)
    raise SparkError(
        f"batch {batch}: transactions were lost after the decision, {len(visible)} write tasks"
        f" of it are visible, and the replay gives other rows to: {shown}. The plan is not"
        " deterministic, so the missing rows are unknown",
        remedy="compare the records of these producer ids in the topic with the batch; then"
        f" {remedy}",
    )
