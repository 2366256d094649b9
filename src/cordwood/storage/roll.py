"""When a log begins a new segment: asked before each append, and answered with the reason.

    SIZE          the append would make the segment larger than it may be; exactly as large is fine
    TIME          the append's records are too much later than the segment's first batch. Time is
                  what the records say; only where the first batch has none, it is the clock. So a
                  log that nobody writes to does not roll
    INDEX_FULL    an entry would not fit, but for the one that the time index keeps for the roll
    OFFSET_RANGE  the last offset is more than 31 bits above the segment's base

Jitter spreads the rolls of segments that began together: each segment waits so much less.
"""

from enum import StrEnum
from typing import NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.ports import Random
from cordwood.core.types import Offset
from cordwood.storage.index import is_within_reach
from cordwood.storage.log_config import LogConfig


class RollReason(StrEnum):
    """Why a new segment is begun, as it is told in the log of events."""

    SIZE = "size"
    TIME = "time"
    INDEX_FULL = "index full"
    OFFSET_RANGE = "offset range"


class RollLimits(NamedTuple):
    """How large and how old a segment may become."""

    segment_bytes: int
    roll_ms: int
    jitter_ms: int = 0


class ActiveSegment(NamedTuple):
    """The segment that would be appended to. Its first batch's time is -1 where there is none."""

    base_offset: int
    size: int
    first_timestamp: int
    created_ms: int
    is_index_full: bool


class Incoming(NamedTuple):
    """What is about to be appended, and when."""

    size: int
    max_timestamp: int
    last_offset: int
    now_ms: int


def must_roll(
    segment: ActiveSegment, incoming: Incoming, *, limits: RollLimits
) -> RollReason | None:
    """Return why the append needs a new segment; None when it has its place in this one."""
    if segment.size > limits.segment_bytes - incoming.size:
        return RollReason.SIZE
    waited_ms = time_waited_ms(segment, incoming)
    if segment.size > 0 and waited_ms > limits.roll_ms - limits.jitter_ms:
        return RollReason.TIME
    if segment.is_index_full:
        return RollReason.INDEX_FULL
    if not is_within_reach(incoming.last_offset, segment.base_offset):
        return RollReason.OFFSET_RANGE
    return None


def time_waited_ms(segment: ActiveSegment, incoming: Incoming) -> int:
    """Return how much later the append is than the segment's first batch."""
    if segment.first_timestamp >= 0:
        return incoming.max_timestamp - segment.first_timestamp
    return incoming.now_ms - segment.created_ms


def draw_jitter_ms(random: Random, config: LogConfig) -> int:
    """Return how much earlier one segment rolls; drawn when it is begun."""
    most = min(config.segment_jitter_ms, config.segment_ms)
    return random.below(most) if most > 0 else 0


def next_base_offset(first_offset: int | None, last_offset: int, *, log_end: int) -> Offset:
    """Return where the new segment begins.

    Where the first offset is not known, for it lies inside a compressed message of the old formats,
    it is as low as the last one allows.
    """
    first = last_offset - INT32_MAX if first_offset is None else first_offset
    return Offset(max(first, log_end))
