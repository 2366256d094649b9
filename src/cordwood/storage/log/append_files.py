"""Files of the next append, made ready before it (Kafka: parts of `UnifiedLog.append`).

An append writes only into files that have their names, and their sizes if they are indexes. A file
system that commits its journal blocks every other change of files, so a worker makes the changes:

    open      after a start, and in a new log: the index files are created or grown
    roll      if a roll limit is reached: the files of the next segment (`segment_roll`)
    aborted   if the append ends a transaction: the file of the transaction index

The steps are those of a `SteppedChange`, and later appends wait for its end. A change that fails
leaves the log as it was.
"""

from collections.abc import Sequence
from functools import partial

from cordwood.core.ports import Files
from cordwood.core.types import Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log import segment_roll
from cordwood.storage.log.append_job import PreparedRecords
from cordwood.storage.log.follower_records import FollowerRecords
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.stepped_change import SteppedChange, Steps
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.storage.segment.abstract_index import is_in_offset_range
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.roll_policy import (
    IncomingAppend,
    RollLimits,
    RollReason,
    should_roll,
)
from cordwood.storage.segment.segment_files import SegmentFiles
from cordwood.storage.segment.segment_view import SegmentView


def begin(state: LogState, prepared: PreparedRecords, *, now_ms: int) -> SteppedChange | None:
    """Return the change of files that this append needs first, None if it needs none."""
    header = prepared.header
    if header is None:
        return None
    last_offset = Offset(state.bounds.log_end + header.last_offset - header.base_offset)
    incoming = IncomingAppend(len(prepared.data), header.max_timestamp, last_offset, now_ms)
    has_aborted = _has_aborted(state, (header,), prepared.data)
    return _begin(state, incoming, has_aborted=has_aborted)


def begin_as_follower(
    state: LogState, records: FollowerRecords, *, now_ms: int
) -> SteppedChange | None:
    """Return the change of files that a follower's append needs first, None if it needs none.

    The new segment begins at the log end, also if the records begin behind a gap: the append may
    still be refused. A gap that is too large for that is left to the append itself, which blocks.
    """
    info = records.info
    if not info.headers or not is_in_offset_range(info.last_offset, state.bounds.log_end):
        return None
    incoming = IncomingAppend(info.size, info.max_timestamp, info.last_offset, now_ms)
    has_aborted = _has_aborted(state, info.headers, records.data)
    return _begin(state, incoming, has_aborted=has_aborted)


def _begin(state: LogState, incoming: IncomingAppend, *, has_aborted: bool) -> SteppedChange | None:
    active = state.segments.active
    if incoming.size > state.config.segment_bytes:
        return None
    if active.files.is_growing:
        needs_file = has_aborted and not _has_transaction_file(state)
        if not needs_file and not _is_roll_due(state, incoming):
            return None
    steps = _steps(state, incoming, has_aborted=has_aborted)
    return SteppedChange(state, steps, undoes_errors=True)


def roll_reason(state: LogState, incoming: IncomingAppend) -> RollReason | None:
    """Return the reason for a roll before an append."""
    active = state.segments.active
    limits = RollLimits(state.config.segment_bytes, state.config.roll_ms, active.jitter_ms)
    return should_roll(active.as_active, incoming, limits=limits)


def _steps(state: LogState, incoming: IncomingAppend, *, has_aborted: bool) -> Steps:
    files, active = state.table.files, state.segments.active
    if not active.files.is_growing:
        opening = _Opening(active)
        yield partial(opening.run, files)
        opening.finish()
    if _is_roll_due(state, incoming):
        base = segment_roll.base_of(state, None)
        yield from segment_roll.steps(state, base, now_ms=incoming.now_ms, is_for_append=True)
    if has_aborted and not _has_transaction_file(state):
        growth = state.segments.active.files.transaction_growth()
        yield partial(growth.run, files)
        growth.finish()


class _Opening:
    """Index files and first timestamp of a segment without an append since it was opened."""

    __slots__ = ("_first_timestamp", "_growths", "_path", "_segment", "_size")

    def __init__(self, segment: LogSegment) -> None:
        self._segment = segment
        self._path = segment.files.path
        self._growths = segment.files.growths()
        self._size = segment.size
        self._first_timestamp: int | None = None

    def run(self, files: Files) -> None:
        """Do the work on the disk; for any thread."""
        self._growths.run(files)
        table = OpenFileCache(files, 1)
        try:
            own = SegmentFiles(table, self._path, index_bytes=0)
            view = SegmentView(
                self._path.base_offset, self._size, own.pread, own.offset_index, own.time_index
            )
            first = view.first_batch() if self._size else None
        finally:
            table.close()
        self._first_timestamp = None if first is None else first.max_timestamp

    def finish(self) -> None:
        """Take over the result; for the owner."""
        self._growths.finish()
        if self._first_timestamp is not None:
            self._segment.remember_first_timestamp(self._first_timestamp)


def _is_roll_due(state: LogState, incoming: IncomingAppend) -> bool:
    """Return whether a roll is due to a new base offset; an empty segment needs none."""
    if state.segments.active.base_offset == state.bounds.log_end:
        return False
    return roll_reason(state, incoming) is not None


def _has_aborted(state: LogState, headers: Sequence[BatchHeader], data: memoryview) -> bool:
    """Return whether a control batch aborts a transaction of its producer.

    The transaction is open in this log, or has batches before the control batch.
    """
    begun = set[int]()
    for header in headers:
        if not header.is_control:
            if header.is_transactional:
                begun.add(header.producer_id)
            continue
        marker = ProducedBatch.of(header, data[header.position : header.end]).marker
        if marker is None or marker.is_commit:
            continue
        entry = state.producers.producers.get(header.producer_id)
        if header.producer_id in begun or (entry is not None and entry.has_transaction):
            return True
    return False


def _has_transaction_file(state: LogState) -> bool:
    return state.segments.active.files.transaction_entries.is_growing
