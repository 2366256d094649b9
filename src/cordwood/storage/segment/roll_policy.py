"""Roll decision, made before each append (Kafka: `LogSegment.shouldRoll`, `RollParams`).

    SIZE          the append would make the segment larger than `segment.bytes`
    TIME          the append's timestamps are too far after the segment's first batch. The clock
                  counts only if the first batch has no timestamp, so an idle log does not roll
    INDEX_FULL    no entry fits, except the one that the time index reserves for the roll
    OFFSET_RANGE  the last offset is more than 31 bits above the base offset

Jitter spreads the rolls of segments that were created together: it shortens `segment.ms` of each.
"""

from enum import StrEnum
from typing import NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.ports import Random
from cordwood.core.types import Offset
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.abstract_index import is_in_offset_range


class RollReason(StrEnum):
    """The reason for a roll, as the log messages name it."""

    SIZE = "size"
    TIME = "time"
    INDEX_FULL = "index full"
    OFFSET_RANGE = "offset range"


class RollLimits(NamedTuple):
    """The largest size and age of a segment."""

    segment_bytes: int
    roll_ms: int
    jitter_ms: int = 0


class ActiveSegment(NamedTuple):
    """The active segment; `first_timestamp` is -1 if its first batch has none."""

    base_offset: int
    size: int
    first_timestamp: int
    created_ms: int
    is_index_full: bool


class IncomingAppend(NamedTuple):
    """The append that is about to happen."""

    size: int
    max_timestamp: int
    last_offset: int
    now_ms: int


def should_roll(
    segment: ActiveSegment, incoming: IncomingAppend, *, limits: RollLimits
) -> RollReason | None:
    """Return the reason for a new segment; None if the append fits into this one."""
    if segment.size > limits.segment_bytes - incoming.size:
        return RollReason.SIZE
    waited_ms = time_waited_ms(segment, incoming)
    if segment.size > 0 and waited_ms > limits.roll_ms - limits.jitter_ms:
        return RollReason.TIME
    if segment.is_index_full:
        return RollReason.INDEX_FULL
    if not is_in_offset_range(incoming.last_offset, segment.base_offset):
        return RollReason.OFFSET_RANGE
    return None


def time_waited_ms(segment: ActiveSegment, incoming: IncomingAppend) -> int:
    """Return the time from the segment's first batch to the append (Kafka: `timeWaitedForRoll`)."""
    if segment.first_timestamp >= 0:
        return incoming.max_timestamp - segment.first_timestamp
    return incoming.now_ms - segment.created_ms


def draw_jitter_ms(random: Random, config: LogConfig) -> int:
    """Return the random time by which a new segment rolls earlier (Kafka: `rollJitterMs`)."""
    limit_ms = min(config.segment_jitter_ms, config.segment_ms)
    return random.below(limit_ms) if limit_ms > 0 else 0


def next_base_offset(first_offset: int | None, last_offset: int, *, log_end: int) -> Offset:
    """Return the base offset of the new segment."""
    # The first offset is unknown inside a compressed message of an old format. Then the base offset
    # is as low as the last offset allows.
    first = last_offset - INT32_MAX if first_offset is None else first_offset
    return Offset(max(first, log_end))
