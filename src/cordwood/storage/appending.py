"""What happens to a record set between its arrival and the end of the log, in Kafka's order.

    leader                                      follower
    analyze   headers, sizes, checksums         analyze   headers, checksums, order
    validate  records, offsets, times           offsets are taken as they are
    epochs    a new leader epoch begins here, even if the append fails later
    size      no more than a segment
    roll      if the rule says so; it stays, even if the append fails later, unless it left a gap
    producers sequences, transactions; a duplicate is answered and not written
    write     batches and index entries, all or nothing; then bounds, producers, aborted ones

Until the write everything can be refused, and the log is as it was.
"""

from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX, Buffer, bytes_view
from cordwood.core.errors import InvalidRecordError, RecordListTooLargeError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.batch import MAGIC
from cordwood.records.header import BatchHeader
from cordwood.records.inspect import Inspector
from cordwood.records.legacy import LegacyBatch
from cordwood.storage.analysis import AppendInfo, analyze
from cordwood.storage.index import AbortedEntry
from cordwood.storage.log_state import LogState
from cordwood.storage.origin import Origin
from cordwood.storage.producer_append import Changes, Duplicate
from cordwood.storage.producer_state import ProducedBatch
from cordwood.storage.roll import Incoming, RollLimits, RollReason, must_roll, next_base_offset
from cordwood.storage.rolling import roll, rolled_within
from cordwood.storage.segment_files import TornWriteError
from cordwood.storage.validation import LeaderAppend, validate
from cordwood.storage.verification import VerificationGuard

_NONE: Final = -1


class Sender(NamedTuple):
    """Who appends, and what they were given for it."""

    origin: Origin = Origin.CLIENT
    guard: VerificationGuard | None = None
    is_strict_on_markers: bool = False


class AppendResult(NamedTuple):
    """Where a set is in the log; -1 where there is nothing to say.

    Of a duplicate it is said where the set was written before. `is_flush_due` asks the caller to
    flush before the append counts as done: `flush.messages` has been reached.
    """

    first_offset: int
    last_offset: int
    log_append_time_ms: int = _NONE
    is_duplicate: bool = False
    rolled: RollReason | None = None
    is_flush_due: bool = False


class UnexpectedOffsetError(InvalidRecordError):
    """A follower is sent records below its log's end: it has to truncate first.

    When its log is empty it may begin anew at `base_offset`, the first offset of what was sent.
    """


class _Set(NamedTuple):
    """A record set that is ready to be written."""

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
    sender: Sender = Sender(),  # noqa: B008 - a value that cannot change
) -> AppendResult:
    """Number a record set, stamp it with the epoch and write it; `data` has to be writable."""
    config = state.config
    info = analyze(
        data,
        sender.origin,
        max_message_bytes=config.max_message_bytes,
        leader_epoch=leader_epoch,
    )
    if not info.headers:
        return NOTHING
    first_offset = state.bounds.log_end
    _ensure_offsets_are_left(first_offset, first_offset + INT32_MAX)
    append = LeaderAppend(first_offset, leader_epoch, now_ms, sender.origin)
    found = validate(data, info, append=append, config=config, inspector=inspector)
    ready = _Set(
        found.data, found.headers, found.max_timestamp, first_offset, found.log_append_time_ms
    )
    return _append(state, ready, now_ms=now_ms, sender=sender)


def append_as_follower(
    state: LogState, data: Buffer, *, leader_epoch: int, now_ms: int
) -> AppendResult:
    """Write what the leader has written, at the offsets that it has given."""
    info = analyze(
        data,
        Origin.REPLICATION,
        max_message_bytes=state.config.max_message_bytes,
        leader_epoch=leader_epoch,
    )
    if not info.headers:
        return NOTHING
    _ensure_follows(info, data, log_end=state.bounds.log_end)
    _ensure_offsets_are_left(info.first_offset, info.headers[-1].next_offset)
    knows_first = info.headers[0].magic == MAGIC
    ready = _Set(
        bytes_view(data)[: info.size],
        info.headers,
        info.max_timestamp,
        info.first_offset if knows_first else None,
    )
    return _append(state, ready, now_ms=now_ms, sender=Sender(Origin.REPLICATION))


def _ensure_offsets_are_left(first_offset: int, next_offset: int) -> None:
    """Refuse what might end where no offset comes after it; damage can bring a log that far."""
    if next_offset > INT64_MAX:
        raise InvalidRecordError(
            "no offsets are left",
            base_offset=first_offset,
            expected=f"at most {INT64_MAX}",
            found=next_offset,
        )


def _ensure_follows(info: AppendInfo, data: Buffer, *, log_end: int) -> None:
    """Refuse what is out of order, in itself or with what the log has."""
    if not info.is_monotonic:
        raise InvalidRecordError(
            "offsets out of order from a leader",
            base_offset=info.first_offset,
            expected="increasing last offsets",
            found=" ".join(str(header.last_offset) for header in info.headers),
        )
    if info.first_offset < log_end:
        raise UnexpectedOffsetError(
            "records from a leader that the log should have",
            base_offset=_first_offset(info.headers[0], data),
            expected=f"at least {log_end}",
            found=info.first_offset,
        )


def _first_offset(header: BatchHeader, data: Buffer) -> int:
    """Return the first offset of a batch, which a wrapper only says inside."""
    if header.magic == MAGIC:
        return header.base_offset
    return next(iter(LegacyBatch(data, header.position).records())).offset


def _append(state: LogState, ready: _Set, *, now_ms: int, sender: Sender) -> AppendResult:
    """Do what leaders and followers do alike."""
    _assign_epochs(state, ready.headers)
    _ensure_fits(state, ready)
    with rolled_within(state, now_ms=now_ms):
        reason = _roll_if_due(state, ready, now_ms)
        changes = state.producers.analyze(
            _produced(ready),
            sender.origin,
            guard=sender.guard,
            is_strict_on_markers=sender.is_strict_on_markers,
        )
        if not isinstance(changes, Duplicate):
            _write(state, ready, changes)
    if isinstance(changes, Duplicate):
        return AppendResult(
            changes.first_offset,
            changes.last_offset,
            changes.timestamp,
            is_duplicate=True,
            rolled=reason,
        )
    bounds = state.bounds
    return AppendResult(
        ready.headers[0].base_offset,
        ready.headers[-1].last_offset,
        ready.log_append_time_ms,
        rolled=reason,
        is_flush_due=bounds.log_end - bounds.recovery_point >= state.config.flush_messages,
    )


def _assign_epochs(state: LogState, headers: tuple[BatchHeader, ...]) -> None:
    """Note where epochs begin; old formats have none, so nothing is known once they are written."""
    for header in headers:
        if header.magic != MAGIC:
            state.epochs.clear()
        elif header.partition_leader_epoch >= 0:
            state.epochs.assign(
                LeaderEpoch(header.partition_leader_epoch), Offset(header.base_offset)
            )


def _ensure_fits(state: LogState, ready: _Set) -> None:
    if len(ready.data) > state.config.segment_bytes:
        raise RecordListTooLargeError(
            f"{len(ready.data)} bytes for {state.partition}, where segment.bytes is "
            f"{state.config.segment_bytes}"
        )


def _roll_if_due(state: LogState, ready: _Set, now_ms: int) -> RollReason | None:
    active = state.segments.active
    last_offset = ready.headers[-1].last_offset
    limits = RollLimits(state.config.segment_bytes, state.config.roll_ms, active.jitter_ms)
    incoming = Incoming(len(ready.data), ready.max_timestamp, last_offset, now_ms)
    reason = must_roll(active.as_active, incoming, limits=limits)
    if reason is not None:
        base = next_base_offset(ready.first_offset, last_offset, log_end=state.bounds.log_end)
        roll(state, now_ms=now_ms, base_offset=base)
    return reason


def _produced(ready: _Set) -> list[ProducedBatch]:
    """Return the batches that have a producer; without any there is nothing to decide."""
    found = []
    position = 0
    for header in ready.headers:
        if header.has_producer_id:
            found.append(ProducedBatch.of(header, ready.data[position : position + header.size]))
        position += header.size
    return found


def _write(state: LogState, ready: _Set, changes: Changes) -> None:
    """Write, and then let everybody know.

    When an aborted transaction cannot be noted in its index after its marker has been written, the
    log is torn, as it is when what was refused cannot be taken back: recovery will see to both.
    """
    active = state.segments.active
    try:
        active.append(ready.data, ready.headers)
    except TornWriteError:
        state.is_torn = True
        raise
    end = ready.headers[-1].next_offset
    with state.as_a_whole():
        state.bounds.appended(end)
        state.producers.apply(changes)
        for completed in changes.completed:
            if completed.is_aborted:
                stable = state.producers.last_stable_offset_of(completed)
                active.append_aborted(AbortedEntry(*completed[:3], stable))
            state.producers.complete(completed)
        state.producers.advance(end)
        state.settle_unstable()
