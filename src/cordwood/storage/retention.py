"""Which segments of a log go, which stay, and what holds those back.

Three rules, one after the other, each from the oldest segment on until one does not go:

    start   the next segment begins at or below the log's start offset
    size    what is left without the segment is not below retention.bytes
    age     its largest timestamp is more than retention.ms ago

Size and age count only where cleanup.policy has delete. No segment goes that holds an offset at or
above the high watermark, nor the last one while it is empty. If all go, the log rolls first.

A segment that stays keeps all newer ones, so one timestamp in the future holds back everything
behind it; that is told of those newer ones.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import accumulate, takewhile
from typing import NamedTuple

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.storage.log_config import LogConfig


class SegmentFacts(NamedTuple):
    """What retention looks at. The last segment's `next_base` is the end of the log.

    Without timestamps in its records, the largest one is when the file was last changed.
    """

    base_offset: int
    next_base: int
    size: int
    largest_timestamp: int


class Reason(Enum):
    """Why a segment goes."""

    LOG_START = "below the log's start offset"
    SIZE = "beyond retention.bytes"
    AGE = "older than retention.ms"


class Hold(Enum):
    """What keeps a segment."""

    POLICY = "cleanup.policy does not delete"
    NO_LIMIT = "neither retention.ms nor retention.bytes sets a limit"
    AGE = "not older than retention.ms"
    SIZE = "within retention.bytes"
    OLDER_SEGMENT = "an older segment stays"
    HIGH_WATERMARK = "not wholly below the high watermark"
    EMPTY = "the last segment, and empty"


class Deletion(NamedTuple):
    """A segment that goes."""

    segment: SegmentFacts
    reason: Reason


class Kept(NamedTuple):
    """A segment that stays.

    It goes by age at the first pass from `until_ms` on, and by size once `until_bytes` more have
    been written, unless the high watermark holds it; None where that never happens.
    """

    segment: SegmentFacts
    holds: tuple[Hold, ...]
    until_ms: int | None = None
    until_bytes: int | None = None


class RetentionPlan(NamedTuple):
    """What one pass does: roll if need be, raise the start offset, then delete, oldest first."""

    deletions: tuple[Deletion, ...]
    kept: tuple[Kept, ...]
    is_rolling: bool
    log_start_offset: int


def plan_retention(
    segments: Sequence[SegmentFacts],
    *,
    log_start_offset: int,
    high_watermark: int,
    config: LogConfig,
    now_ms: int,
) -> RetentionPlan:
    """Decide on all segments of a log, which are given in order; a reader may find none."""
    if not segments:
        return RetentionPlan((), (), is_rolling=False, log_start_offset=log_start_offset)
    movable = segments[: _count_movable(segments, high_watermark)]
    reasons = [Reason.LOG_START] * _count_below(movable, segments[-1], log_start_offset)
    if config.is_deleted:
        gone = len(reasons)
        reasons += [Reason.SIZE] * _count_by_size(movable[gone:], segments[gone:], config)
        reasons += [Reason.AGE] * _count_by_age(movable[len(reasons) :], config, now_ms)
    count = len(reasons)
    return RetentionPlan(
        deletions=tuple(map(Deletion, segments, reasons)),
        kept=tuple(_explain(segments[count:], high_watermark, config=config, now_ms=now_ms)),
        is_rolling=count == len(segments),
        log_start_offset=max([log_start_offset, *(each.next_base for each in segments[:count])]),
    )


def _count_movable(segments: Sequence[SegmentFacts], high_watermark: int) -> int:
    """Return how many of the oldest any rule may delete at all."""
    count = sum(1 for segment in segments if segment.next_base <= high_watermark)
    is_all = count == len(segments)
    return count - 1 if is_all and not segments[-1].size else count


def _count_below(movable: Sequence[SegmentFacts], last: SegmentFacts, log_start_offset: int) -> int:
    return sum(1 for each in movable if each is not last and each.next_base <= log_start_offset)


def _count_by_size(
    movable: Sequence[SegmentFacts], present: Sequence[SegmentFacts], config: LogConfig
) -> int:
    if config.retention_bytes < 0:
        return 0
    excess = sum(segment.size for segment in present) - config.retention_bytes
    left = (excess - end for end in accumulate(segment.size for segment in movable))
    return sum(1 for _ in takewhile(lambda remainder: remainder >= 0, left))


def _count_by_age(movable: Sequence[SegmentFacts], config: LogConfig, now_ms: int) -> int:
    if config.retention_ms < 0:
        return 0
    old = takewhile(lambda each: now_ms - each.largest_timestamp > config.retention_ms, movable)
    return sum(1 for _ in old)


def _explain(
    kept: Sequence[SegmentFacts], high_watermark: int, *, config: LogConfig, now_ms: int
) -> Iterator[Kept]:
    """Say of each segment that stays what holds it."""
    excess = sum(segment.size for segment in kept) - config.retention_bytes
    behind, goes_ms = 0, INT64_MIN
    for segment in kept:
        behind += segment.size
        if not config.is_deleted:
            yield Kept(segment, (Hold.POLICY,))
        elif segment is kept[-1] and not segment.size:
            yield Kept(segment, (Hold.EMPTY,))
        else:
            is_old = now_ms - segment.largest_timestamp > config.retention_ms
            goes_ms = max(goes_ms, segment.largest_timestamp + config.retention_ms + 1)
            until_ms = None if config.retention_ms < 0 else goes_ms
            until_bytes = None if config.retention_bytes < 0 else max(0, behind - excess)
            holds = _limits(until_ms, until_bytes, is_old=is_old, now_ms=now_ms)
            if high_watermark < segment.next_base:
                holds = (Hold.HIGH_WATERMARK, *holds)
            is_never = until_ms is None or until_ms > INT64_MAX
            yield Kept(segment, holds, None if is_never else until_ms, until_bytes)


def _limits(
    until_ms: int | None, until_bytes: int | None, *, is_old: bool, now_ms: int
) -> tuple[Hold, ...]:
    """Return which limits are not reached; none where one of them is."""
    if until_ms is None and until_bytes is None:
        return (Hold.NO_LIMIT,)
    if until_bytes == 0 or (until_ms is not None and until_ms <= now_ms):
        return ()
    by_age = () if until_ms is None else (Hold.OLDER_SEGMENT if is_old else Hold.AGE,)
    return by_age if until_bytes is None else (*by_age, Hold.SIZE)
