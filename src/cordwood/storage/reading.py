"""What readers get of a log: bytes from an offset on, and offsets for times.

    isolation        ends below
    LOG_END          the log's end: followers
    HIGH_WATERMARK   the high watermark: consumers
    COMMITTED        the last stable offset: read_committed consumers, who also learn which
                     transactions in what they get were aborted

The bytes begin with the batch that holds the offset, so earlier records may come along, and may end
inside a batch; readers know both.
"""

from enum import Enum, auto
from typing import Final, NamedTuple

from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.core.ports import Slice
from cordwood.records.chunk import AbortedTransaction
from cordwood.storage.index import OffsetEntry
from cordwood.storage.log_state import LogState
from cordwood.storage.segment import Segment
from cordwood.storage.segment_reads import SegmentRead, TimestampAndOffset

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5


class Isolation(Enum):
    """How far a reader may see."""

    LOG_END = auto()
    HIGH_WATERMARK = auto()
    COMMITTED = auto()


class LogRead(NamedTuple):
    """An answer. Whoever gets a slice releases it. `aborted` is None but for COMMITTED.

    `goes_on` says that the reader may see more, in a later segment.
    `base_offset` and `position` are of the first batch: where it is and in which segment, for those
    who count bytes; -1 when there is nothing to read yet.
    """

    slice: Slice | None
    high_watermark: int
    last_stable: int
    log_start: int
    log_end: int
    is_first_incomplete: bool = False
    goes_on: bool = False
    base_offset: int = -1
    segment_base: int = -1
    position: int = -1
    aborted: tuple[AbortedTransaction, ...] | None = None

    @property
    def length(self) -> int:
        return self.slice.length if self.slice is not None else 0


def read(
    state: LogState, offset: int, *, max_bytes: int, isolation: Isolation, min_one: bool = False
) -> LogRead:
    """Return what begins at `offset`, in one segment; with `min_one` at least one whole batch."""
    bounds = state.bounds
    _ensure_in_range(state, offset)
    limit = limit_of(state, isolation)
    empty = LogRead(
        None,
        bounds.high_watermark,
        bounds.last_stable,
        bounds.log_start,
        bounds.log_end,
        aborted=() if isolation is Isolation.COMMITTED else None,
    )
    if offset >= limit:
        return empty
    for segment in state.segments.from_floor(offset):
        if segment.base_offset >= limit:
            break
        found = segment.read(
            offset,
            max_bytes,
            max_position=_end_position(state, segment, limit),
            min_one=min_one,
        )
        if found is not None:
            goes_on = limit > state.segments.end_of(segment, bounds.log_end)
            return _answer(state, empty._replace(goes_on=goes_on), segment=segment, found=found)
    return empty


def limit_of(state: LogState, isolation: Isolation) -> int:
    """Return the first offset that a reader does not see."""
    bounds = state.bounds
    if isolation is Isolation.LOG_END:
        return bounds.log_end
    return bounds.high_watermark if isolation is Isolation.HIGH_WATERMARK else bounds.last_stable


def offset_for_timestamp(
    state: LogState, timestamp: int, *, isolation: Isolation
) -> TimestampAndOffset | None:
    """Return the first record that is not earlier, or what Kafka's special timestamps stand for.

    None where no record is late enough that the reader sees, or no segment is tiered. The log's end
    is the end that the reader sees.
    """
    bounds, epochs, limit = state.bounds, state.epochs.known, limit_of(state, isolation)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        first = epochs.earliest
        knows = first is not None and first.start_offset <= bounds.log_start
        epoch = first.epoch if knows and first is not None else -1
        return TimestampAndOffset(-1, bounds.log_start, epoch)
    if timestamp == LATEST:
        latest = epochs.latest
        return TimestampAndOffset(-1, limit, -1 if latest is None else latest.epoch)
    found = _find_by_timestamp(state, timestamp)
    return found if found is not None and found.offset < limit else None


def aborted_between(
    state: LogState, first: Segment, *, first_offset: int, end_offset: int
) -> tuple[AbortedTransaction, ...]:
    """Return the aborted transactions that have records between two offsets."""
    aborted: list[AbortedTransaction] = []
    for segment in state.segments.from_floor(first.base_offset):
        found = segment.collect_aborted(first_offset, end_offset)
        aborted += (
            AbortedTransaction(entry.producer_id, entry.first_offset) for entry in found.entries
        )
        if found.is_complete:
            break
    return tuple(aborted)


def _find_by_timestamp(state: LogState, timestamp: int) -> TimestampAndOffset | None:
    if timestamp == MAX_TIMESTAMP:
        newest = max(state.segments, key=lambda segment: segment.latest.timestamp)
        return newest.latest_record()
    if timestamp < 0:
        return None
    for segment in state.segments:
        if segment.largest_timestamp() >= timestamp:
            found = segment.find_by_timestamp(timestamp, state.bounds.log_start)
            if found is not None:
                return found
    return None


def _ensure_in_range(state: LogState, offset: int) -> None:
    bounds = state.bounds
    first = max(bounds.log_start, state.segments.first.base_offset)
    if not first <= offset <= bounds.log_end:
        raise OffsetOutOfRangeError(
            f"offset {offset} of {state.partition} is not between the log's start, "
            f"{first}, and its end, {bounds.log_end}"
        )


def _end_position(state: LogState, segment: Segment, limit: int) -> int:
    """Return where in a segment the limit lies: at its end unless it is in this very segment."""
    if limit >= state.segments.end_of(segment, state.bounds.log_end):
        return segment.size
    at_limit = segment.translate(limit)
    return segment.size if at_limit is None else at_limit.position


def _answer(state: LogState, empty: LogRead, *, segment: Segment, found: SegmentRead) -> LogRead:
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
        base_offset=found.header.base_offset,
        segment_base=segment.base_offset,
        position=found.position,
        aborted=aborted,
    )
