"""Append of a record set, step by step in Kafka's order (Kafka: `UnifiedLog.append`).

    leader                                      follower
    analyze   headers, sizes, checksums         analyze   headers, checksums, order
    validate  records, offsets, timestamps      the leader's offsets are kept
    epochs    a new leader epoch begins here, even if the append fails later
    size      at most `segment.bytes`
    roll      if a roll limit is reached; the new segment stays even if the append fails later,
              unless it begins behind a gap
    producers sequences, transactions; a duplicate is acknowledged and not written
    write     batches and index entries, all or nothing; then bounds, producer state, aborted
              transactions

Every step before the write may reject the record set, and the log then has the same records.
"""

from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX, Buffer, bytes_view
from cordwood.core.errors import InvalidRecordError, RecordListTooLargeError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record_batch import MAGIC
from cordwood.records.record_checks import Inspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.segment_roll import roll, rolled_within
from cordwood.storage.producers.producer_append_info import DuplicateBatch, ProducerChanges
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.storage.producers.verification_guard import VerificationGuard
from cordwood.storage.segment.roll_policy import (
    IncomingAppend,
    RollLimits,
    RollReason,
    next_base_offset,
    should_roll,
)
from cordwood.storage.segment.segment_files import TornWriteError
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.storage.validation.log_validator import ValidationParameters, validate
from cordwood.storage.validation.record_set_analysis import LogAppendInfo, analyze

_NONE: Final = -1


class AppendContext(NamedTuple):
    """The origin of an append, and the transaction verification that allows it."""

    origin: AppendOrigin = AppendOrigin.CLIENT
    guard: VerificationGuard | None = None
    is_strict_on_markers: bool = False


class AppendResult(NamedTuple):
    """The offsets of an appended record set; -1 where there is none.

    For a duplicate they are the offsets of the earlier append. With `is_flush_due` the caller must
    flush before it acknowledges the append: `flush.messages` has been reached.
    """

    first_offset: int
    last_offset: int
    log_append_time_ms: int = _NONE
    is_duplicate: bool = False
    rolled: RollReason | None = None
    is_flush_due: bool = False


class UnexpectedOffsetError(InvalidRecordError):
    """Records from a leader that begin below the follower's log end; it must truncate first.

    A follower with an empty log may restart it at `base_offset`, the first offset of the records.
    """


class _PreparedRecords(NamedTuple):
    """A record set that has passed analysis and validation."""

    data: memoryview
    headers: tuple[BatchHeader, ...]
    max_timestamp: int
    first_offset: int | None
    log_append_time_ms: int = _NONE


NOTHING: Final = AppendResult(_NONE, _NONE)


def append_as_leader(
    state: LogState,
    data: Buffer,
    *,
    leader_epoch: int,
    now_ms: int,
    inspector: Inspector,
    context: AppendContext = AppendContext(),  # noqa: B008 - a value that cannot change
) -> AppendResult:
    """Assign offsets and leader epoch to a record set, and append it; `data` must be writable."""
    config = state.config
    info = analyze(
        data,
        context.origin,
        max_message_bytes=config.max_message_bytes,
        leader_epoch=leader_epoch,
    )
    if not info.headers:
        return NOTHING
    first_offset = state.bounds.log_end
    _ensure_offsets_are_left(first_offset, first_offset + INT32_MAX)
    append = ValidationParameters(first_offset, leader_epoch, now_ms, context.origin)
    found = validate(data, info, append=append, config=config, inspector=inspector)
    ready = _PreparedRecords(
        found.data, found.headers, found.max_timestamp, first_offset, found.log_append_time_ms
    )
    return _append(state, ready, now_ms=now_ms, context=context)


def append_as_follower(
    state: LogState, data: Buffer, *, leader_epoch: int, now_ms: int
) -> AppendResult:
    """Append the records of a leader at the offsets that the leader has assigned."""
    info = analyze(
        data,
        AppendOrigin.REPLICATION,
        max_message_bytes=state.config.max_message_bytes,
        leader_epoch=leader_epoch,
    )
    if not info.headers:
        return NOTHING
    _ensure_follows(info, data, log_end=state.bounds.log_end)
    _ensure_offsets_are_left(info.first_offset, info.headers[-1].next_offset)
    knows_first = info.headers[0].magic == MAGIC
    ready = _PreparedRecords(
        bytes_view(data)[: info.size],
        info.headers,
        info.max_timestamp,
        info.first_offset if knows_first else None,
    )
    return _append(state, ready, now_ms=now_ms, context=AppendContext(AppendOrigin.REPLICATION))


def _ensure_offsets_are_left(first_offset: int, next_offset: int) -> None:
    """Reject records beyond the largest offset; only a damaged log comes that far."""
    if next_offset > INT64_MAX:
        raise InvalidRecordError(
            "no offsets are left",
            base_offset=first_offset,
            expected=f"at most {INT64_MAX}",
            found=next_offset,
        )


def _ensure_follows(info: LogAppendInfo, data: Buffer, *, log_end: int) -> None:
    """Reject records whose offsets are not in order, among themselves or after the log end."""
    if not info.is_monotonic:
        raise InvalidRecordError(
            "offsets out of order from a leader",
            base_offset=info.first_offset,
            expected="increasing last offsets",
            found=" ".join(str(header.last_offset) for header in info.headers),
        )
    if info.first_offset < log_end:
        raise UnexpectedOffsetError(
            "records from a leader below the log end",
            base_offset=_first_offset(info.headers[0], data),
            expected=f"at least {log_end}",
            found=info.first_offset,
        )


def _first_offset(header: BatchHeader, data: Buffer) -> int:
    """Return the first offset of a batch; a legacy wrapper has it only in its first record."""
    if header.magic == MAGIC:
        return header.base_offset
    return next(iter(LegacyBatch(data, header.position).records())).offset


def _append(
    state: LogState, ready: _PreparedRecords, *, now_ms: int, context: AppendContext
) -> AppendResult:
    """Append a prepared record set: the steps that leaders and followers share."""
    _assign_epochs(state, ready.headers)
    _ensure_fits(state, ready)
    with rolled_within(state, now_ms=now_ms):
        reason = _roll_if_due(state, ready, now_ms)
        changes = state.producers.analyze(
            _produced(ready),
            context.origin,
            guard=context.guard,
            is_strict_on_markers=context.is_strict_on_markers,
        )
        if not isinstance(changes, DuplicateBatch):
            _write(state, ready, changes)
    bounds = state.bounds
    is_flush_due = bounds.log_end - bounds.recovery_point >= state.config.flush_messages
    if isinstance(changes, DuplicateBatch):
        return AppendResult(
            changes.first_offset,
            changes.last_offset,
            changes.timestamp,
            is_duplicate=True,
            rolled=reason,
            # The first append may have been recovered after a crash, and not be synced yet.
            is_flush_due=is_flush_due and changes.last_offset >= bounds.recovery_point,
        )
    return AppendResult(
        ready.headers[0].base_offset,
        ready.headers[-1].last_offset,
        ready.log_append_time_ms,
        rolled=reason,
        is_flush_due=is_flush_due,
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


def _ensure_fits(state: LogState, ready: _PreparedRecords) -> None:
    if len(ready.data) > state.config.segment_bytes:
        raise RecordListTooLargeError(
            f"{state.partition}: the record set has {len(ready.data)} bytes (segment.bytes is "
            f"{state.config.segment_bytes})"
        )


def _roll_if_due(state: LogState, ready: _PreparedRecords, now_ms: int) -> RollReason | None:
    active = state.segments.active
    last_offset = ready.headers[-1].last_offset
    limits = RollLimits(state.config.segment_bytes, state.config.roll_ms, active.jitter_ms)
    incoming = IncomingAppend(len(ready.data), ready.max_timestamp, last_offset, now_ms)
    reason = should_roll(active.as_active, incoming, limits=limits)
    if reason is not None:
        base = next_base_offset(ready.first_offset, last_offset, log_end=state.bounds.log_end)
        roll(state, now_ms=now_ms, base_offset=base)
    return reason


def _produced(ready: _PreparedRecords) -> list[ProducedBatch]:
    """Return the batches with a producer id."""
    found = []
    position = 0
    for header in ready.headers:
        if header.has_producer_id:
            found.append(ProducedBatch.of(header, ready.data[position : position + header.size]))
        position += header.size
    return found


def _write(state: LogState, ready: _PreparedRecords, changes: ProducerChanges) -> None:
    """Write the records, then advance bounds and producer state."""
    active = state.segments.active
    try:
        active.append(ready.data, ready.headers)
    except TornWriteError:
        # A part of the records was written and could not be removed; recovery will truncate it.
        state.is_torn = True
        raise
    end = ready.headers[-1].next_offset
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
