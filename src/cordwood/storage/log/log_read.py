"""Reads of a log: bytes from an offset on, and special offsets (Kafka: `UnifiedLog.read`).

    isolation        upper bound of a read
    LOG_END          the log end offset: followers
    HIGH_WATERMARK   the high watermark: consumers
    TXN_COMMITTED      the last stable offset: read_committed consumers, who also learn which
                     transactions in what they get were aborted

The bytes begin with the batch that contains the offset, so they may include earlier records. They
may end inside a batch. Kafka's clients handle both.

A truncation removes records above the high watermark, and other records take their place in the
file. Base offset and leader epoch lie outside the checksum, so a slice of the file could then mix
two leaderships, and no reader would notice. A read to the log end therefore ends at the high
watermark; if it begins there or above, its bytes are copied.
"""

from enum import Enum, auto
from typing import Final, NamedTuple, Self

from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.core.ports import Slice
from cordwood.records.decoder import AbortedTransaction
from cordwood.storage.files.bytes_slice import BytesSlice
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.offset_bounds import OffsetBounds
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.offset_index import OffsetEntry
from cordwood.storage.segment.segment_view import SegmentRead, TimestampAndOffset

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5


class FetchIsolation(Enum):
    """The upper bound of a read (Kafka: `FetchIsolation`)."""

    LOG_END = auto()
    HIGH_WATERMARK = auto()
    TXN_COMMITTED = auto()


class LogPosition(NamedTuple):
    """A place in a log's files (Kafka: `LogOffsetMetadata`); of two, the later one is greater."""

    segment_base: int
    #: Bytes from the begin of the segment.
    bytes: int


class LogRead(NamedTuple):
    """The result of a read. The caller must release the slice.

    `aborted` is None except for TXN_COMMITTED. `has_more` is set if another read would return more
    now: a later segment, or the range above the high watermark, has records for this reader.
    `base_offset`, `segment_base` and `position` locate the first batch; they are -1 when there is
    no record to read yet.
    """

    slice: Slice | None
    high_watermark: int
    last_stable: int
    log_start: int
    log_end: int
    is_first_incomplete: bool = False
    has_more: bool = False
    base_offset: int = -1
    segment_base: int = -1
    position: int = -1
    aborted: tuple[AbortedTransaction, ...] | None = None

    @classmethod
    def empty(cls, bounds: OffsetBounds) -> Self:
        """Return a read without records, which carries the present bounds."""
        return cls(
            None, bounds.high_watermark, bounds.last_stable, bounds.log_start, bounds.log_end
        )

    @property
    def length(self) -> int:
        return self.slice.length if self.slice is not None else 0


def read(
    state: LogState,
    offset: int,
    *,
    max_bytes: int,
    isolation: FetchIsolation,
    min_one: bool = False,
) -> LogRead:
    """Return records from `offset` on, of one segment; with `min_one` at least a whole batch."""
    bounds = state.bounds
    _ensure_in_range(state, offset)
    request = _ReadRequest(offset, max_bytes, min_one)
    empty = LogRead.empty(bounds)
    if isolation is FetchIsolation.TXN_COMMITTED:
        empty = empty._replace(aborted=())
    if isolation is not FetchIsolation.LOG_END:
        return _read_below(state, request, limit_of(state, isolation), empty=empty)
    found = _read_below(state, request, bounds.high_watermark, empty=empty)
    if found.slice is not None:
        return found._replace(has_more=found.has_more or bounds.high_watermark < bounds.log_end)
    return _read_below(state, request._replace(is_copied=True), bounds.log_end, empty=empty)


class _ReadRequest(NamedTuple):
    """The parameters of a read; `is_copied` asks for a slice in memory."""

    offset: int
    max_bytes: int
    min_one: bool
    is_copied: bool = False


def _read_below(state: LogState, request: _ReadRequest, limit: int, *, empty: LogRead) -> LogRead:
    """Return records below `limit`; `empty` without any."""
    if request.offset >= limit:
        return empty
    for segment in state.segments.from_floor(request.offset):
        if segment.base_offset >= limit:
            break
        found = segment.read(
            request.offset,
            request.max_bytes,
            max_position=_end_position(state, segment, limit),
            min_one=request.min_one,
        )
        if found is not None:
            found = _copied(found) if request.is_copied else found
            has_more = limit > state.segments.end_of(segment, state.bounds.log_end)
            return _answer(state, empty, segment=segment, found=found, has_more=has_more)
    return empty


def _copied(found: SegmentRead) -> SegmentRead:
    """Return the read with its bytes in memory.

    Without a wait for the disk, if the first batch is cached: recent records nearly always are.
    """
    part = found.slice
    if part is None:
        return found
    try:
        data = part.read_cached(0, part.length)
        if len(data) < min(found.header.size, part.length):
            data = part.read()
    finally:
        part.release()
    return found._replace(slice=BytesSlice(data, part.position))


def limit_of(state: LogState, isolation: FetchIsolation) -> int:
    """Return the first offset that a reader must not see."""
    return readable_end(state.bounds, isolation)


def readable_position(state: LogState, isolation: FetchIsolation) -> LogPosition:
    """Return the place up to which a reader may read; below the log end it is looked up."""
    limit = limit_of(state, isolation)
    if limit >= state.bounds.log_end:
        return LogPosition(state.segments.active.base_offset, state.segments.active.size)
    segment = state.segments.floor(limit) or state.segments.first
    return LogPosition(segment.base_offset, _end_position(state, segment, limit))


def readable_end(bounds: OffsetBounds | LogRead, isolation: FetchIsolation) -> int:
    """Return the upper bound of a reader, now or at the time of a read."""
    if isolation is FetchIsolation.LOG_END:
        return bounds.log_end
    return (
        bounds.high_watermark if isolation is FetchIsolation.HIGH_WATERMARK else bounds.last_stable
    )


def needs_lookup(timestamp: int) -> bool:
    """Return whether the offset for a timestamp is that of a record, which has to be searched."""
    return timestamp >= 0 or timestamp == MAX_TIMESTAMP


def special_offset(
    state: LogState, timestamp: int, *, isolation: FetchIsolation
) -> TimestampAndOffset | None:
    """Return the offset of a special timestamp that needs no lookup of a record.

    None for LATEST_TIERED, as no segment is tiered. LATEST is the upper bound of the reader.
    """
    bounds, epochs, limit = state.bounds, state.epochs.current, limit_of(state, isolation)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        first = epochs.earliest
        knows = first is not None and first.start_offset <= bounds.log_start
        epoch = first.epoch if knows and first is not None else -1
        return TimestampAndOffset(-1, bounds.log_start, epoch)
    if timestamp == LATEST:
        latest = epochs.latest
        return TimestampAndOffset(-1, limit, -1 if latest is None else latest.epoch)
    return None


def aborted_between(
    state: LogState, first: LogSegment, *, first_offset: int, end_offset: int
) -> tuple[AbortedTransaction, ...]:
    """Return the aborted transactions with records between two offsets."""
    aborted: list[AbortedTransaction] = []
    for segment in state.segments.from_floor(first.base_offset):
        found = segment.collect_aborted(first_offset, end_offset)
        aborted += (
            AbortedTransaction(entry.producer_id, entry.first_offset) for entry in found.aborted
        )
        if found.is_complete:
            break
    return tuple(aborted)


def _ensure_in_range(state: LogState, offset: int) -> None:
    bounds = state.bounds
    first = max(bounds.log_start, state.segments.first.base_offset)
    if not first <= offset <= bounds.log_end:
        raise OffsetOutOfRangeError(
            f"{state.partition}: offset {offset} is out of range (the log has offsets from {first} "
            f"to {bounds.log_end})"
        )


def _end_position(state: LogState, segment: LogSegment, limit: int) -> int:
    """Return the position of `limit` in a segment, or its size if the limit is behind it."""
    if limit >= state.segments.end_of(segment, state.bounds.log_end):
        return segment.size
    at_limit = segment.translate(limit)
    return segment.size if at_limit is None else at_limit.position


def _answer(
    state: LogState, empty: LogRead, *, segment: LogSegment, found: SegmentRead, has_more: bool
) -> LogRead:
    aborted = None
    if empty.aborted is not None:
        start = found.header.base_offset
        end = segment.upper_bound_offset(OffsetEntry(start, found.position), found.length)
        if end is None:
            end = state.segments.end_of(segment, state.bounds.log_end)
        aborted = aborted_between(state, segment, first_offset=start, end_offset=end)
    return empty._replace(
        slice=found.slice,
        is_first_incomplete=found.is_first_incomplete,
        has_more=has_more,
        base_offset=found.header.base_offset,
        segment_base=segment.base_offset,
        position=found.position,
        aborted=aborted,
    )
