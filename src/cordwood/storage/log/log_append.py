"""Append of a record set, step by step in Kafka's order (Kafka: `UnifiedLog.append`).

    leader                                      follower
    analyze   headers, sizes, checksums         analyze   headers, checksums, order
    validate  records, timestamps
    assign    offsets and leader epoch          the leader's offsets are kept
    epochs    a new leader epoch begins here, even if the append fails later
    size      at most `segment.bytes`
    roll      if a roll limit is reached; the new segment stays even if the append fails later,
              unless it begins behind a gap
    producers sequences, transactions; a duplicate is acknowledged and not written
    write     batches and index entries, all or nothing; then bounds, producer state, aborted
              transactions

Every step before the write may reject the record set, and the log then has the same records.

A leader's analysis and validation are an `append_job`, which a worker may run. The other steps take
its result on the owner's thread. They read headers only, so they take no longer for more records.
Appends are written in the order in which they are finished. On an event loop, `append_files` rolls
before the append, on a worker. `follower_records` has a follower's analysis.
"""

from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX, Buffer, bytes_view
from cordwood.core.errors import InvalidRecordError, RecordListTooLargeError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.records.record_batch import MAGIC
from cordwood.records.record_checks import Inspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log import append_files
from cordwood.storage.log.append_job import AppendJob, PreparedRecords
from cordwood.storage.log.follower_records import FollowerRecords, ensure_follows
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.segment_roll import roll, undo_unreached_roll
from cordwood.storage.producers.ongoing_transactions import CompletedTxn
from cordwood.storage.producers.producer_append_info import DuplicateBatch, ProducerChanges
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.storage.producers.verification_guard import VerificationGuard
from cordwood.storage.segment.abstract_index import is_in_offset_range
from cordwood.storage.segment.roll_policy import IncomingAppend, RollReason, next_base_offset
from cordwood.storage.segment.segment_files import TornWriteError
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.storage.validation.record_set_analysis import ensure_leader_epoch

_NONE: Final = -1


class AppendContext(NamedTuple):
    """The origin of an append, and the transaction verification that allows it."""

    origin: AppendOrigin = AppendOrigin.CLIENT
    guard: VerificationGuard | None = None
    is_strict_on_markers: bool = False


class AppendResult(NamedTuple):
    """The offsets of an appended record set; -1 where there is none.

    For a duplicate they are the offsets of the earlier append. `completed` has the transactions
    that the markers in the set have ended.
    """

    first_offset: int
    last_offset: int
    log_append_time_ms: int = _NONE
    is_duplicate: bool = False
    rolled: RollReason | None = None
    completed: tuple[CompletedTxn, ...] = ()


class _PlacedRecords(NamedTuple):
    """A valid record set with its offsets. A wrapper's `first_offset` is unknown, None."""

    data: memoryview
    headers: tuple[BatchHeader, ...]
    max_timestamp: int
    first_offset: int | None
    log_append_time_ms: int = _NONE


NOTHING: Final = AppendResult(_NONE, _NONE)


def begin_append(
    state: LogState, data: Buffer, *, origin: AppendOrigin, now_ms: int, inspector: Inspector
) -> AppendJob:
    """Return the job that checks a record set with the present config; `data` must be writable."""
    return AppendJob(
        data=bytes_view(data),
        origin=origin,
        config=state.config,
        now_ms=now_ms,
        inspector=inspector,
    )


def finish_append(
    state: LogState,
    prepared: PreparedRecords,
    *,
    leader_epoch: int,
    now_ms: int,
    context: AppendContext = AppendContext(),  # noqa: B008 - a value that cannot change
    has_files: bool = False,
) -> AppendResult:
    """Assign offsets and leader epoch to the result of a job, and append it.

    With `has_files` the append needs no change of files: see `append_files.begin`.
    """
    header = prepared.header
    if header is None:
        return NOTHING
    if prepared.origin is AppendOrigin.RAFT_LEADER:
        ensure_leader_epoch(header, leader_epoch)
    first_offset = state.bounds.log_end
    _ensure_offsets_are_left(first_offset, first_offset + INT32_MAX)
    placed = _PlacedRecords(
        prepared.data,
        (prepared.assign(first_offset, leader_epoch),),
        header.max_timestamp,
        first_offset,
        prepared.log_append_time_ms,
    )
    if context.origin is not prepared.origin:
        context = context._replace(origin=prepared.origin)
    return _append(state, placed, now_ms=now_ms, context=context, has_files=has_files)


def append_as_follower(
    state: LogState, records: FollowerRecords, *, now_ms: int, has_files: bool = False
) -> AppendResult:
    """Append the records of a leader at the offsets that the leader has assigned.

    With `has_files` the append needs no change of files: see `append_files.begin_as_follower`.
    """
    info, log_end = records.info, state.bounds.log_end
    if not info.headers:
        return NOTHING
    ensure_follows(state, records)
    _ensure_offsets_are_left(info.first_offset, info.headers[-1].next_offset)
    knows_first = info.headers[0].magic == MAGIC
    placed = _PlacedRecords(
        records.data,
        info.headers,
        info.max_timestamp,
        info.first_offset if knows_first else None,
    )
    return _append(
        state,
        placed,
        now_ms=now_ms,
        context=AppendContext(AppendOrigin.REPLICATION),
        has_files=has_files and is_in_offset_range(info.last_offset, log_end),
    )


def _ensure_offsets_are_left(first_offset: int, next_offset: int) -> None:
    """Reject records beyond the largest offset; only a damaged log comes that far."""
    if next_offset > INT64_MAX:
        raise InvalidRecordError(
            "no offsets are left",
            base_offset=first_offset,
            expected=f"at most {INT64_MAX}",
            found=next_offset,
        )


def _append(
    state: LogState,
    placed: _PlacedRecords,
    *,
    now_ms: int,
    context: AppendContext,
    has_files: bool = False,
) -> AppendResult:
    """Append a record set with offsets: the steps that leaders and followers share."""
    _assign_epochs(state, placed.headers)
    _ensure_fits(state, placed)
    try:
        reason = None if has_files else _roll_if_due(state, placed, now_ms)
        changes = state.producers.analyze(
            _produced(placed),
            context.origin,
            guard=context.guard,
            is_strict_on_markers=context.is_strict_on_markers,
        )
        if not isinstance(changes, DuplicateBatch):
            _write(state, placed, changes)
    finally:
        undo_unreached_roll(state, now_ms=now_ms)
    if isinstance(changes, DuplicateBatch):
        return AppendResult(
            changes.first_offset,
            changes.last_offset,
            changes.timestamp,
            is_duplicate=True,
            rolled=reason,
        )
    return AppendResult(
        placed.headers[0].base_offset,
        placed.headers[-1].last_offset,
        placed.log_append_time_ms,
        rolled=reason,
        completed=changes.completed,
    )


def _assign_epochs(state: LogState, headers: tuple[BatchHeader, ...]) -> None:
    """Record the start offsets of new leader epochs.

    Batches of the old formats have no epoch, so the cache is cleared: it would assign them to the
    epoch before.
    """
    for header in headers:
        if header.magic != MAGIC:
            state.epochs.clear()
        elif header.partition_leader_epoch >= 0:
            state.epochs.assign(
                LeaderEpoch(header.partition_leader_epoch), Offset(header.base_offset)
            )


def _ensure_fits(state: LogState, placed: _PlacedRecords) -> None:
    if len(placed.data) > state.config.segment_bytes:
        raise RecordListTooLargeError(
            f"{state.partition}: the record set has {len(placed.data)} bytes (segment.bytes is "
            f"{state.config.segment_bytes})"
        )


def _roll_if_due(state: LogState, placed: _PlacedRecords, now_ms: int) -> RollReason | None:
    last_offset = placed.headers[-1].last_offset
    incoming = IncomingAppend(len(placed.data), placed.max_timestamp, last_offset, now_ms)
    reason = append_files.roll_reason(state, incoming)
    if reason is not None:
        base = next_base_offset(placed.first_offset, last_offset, log_end=state.bounds.log_end)
        roll(state, now_ms=now_ms, base_offset=base)
    return reason


def _produced(placed: _PlacedRecords) -> list[ProducedBatch]:
    """Return the batches with a producer id."""
    found = []
    position = 0
    for header in placed.headers:
        if header.has_producer_id:
            found.append(ProducedBatch.of(header, placed.data[position : position + header.size]))
        position += header.size
    return found


def _write(state: LogState, placed: _PlacedRecords, changes: ProducerChanges) -> None:
    """Write the records, then advance bounds and producer state."""
    active = state.segments.active
    try:
        active.append(placed.data, placed.headers)
    except TornWriteError:
        # A part of the records was written and could not be removed; recovery will truncate it.
        state.is_torn = True
        raise
    end = placed.headers[-1].next_offset
    # The marker is in the log by now. If its index entry fails, only recovery can write it.
    with state.torn_on_error():
        state.bounds.advance_log_end(end)
        state.producers.apply(changes)
        for completed in changes.completed:
            if completed.is_aborted:
                stable = state.producers.last_stable_offset_of(completed)
                active.append_aborted(AbortedTxn(*completed[:3], stable))
            state.producers.complete(completed)
        state.producers.advance(end)
        state.update_first_unstable()
