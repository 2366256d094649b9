"""Retention of one log (Kafka: `UnifiedLog.deleteOldSegments`).

The plan names the segments to delete, and the reasons that keep each of the others.
Three rules apply one after the other, each from the oldest segment on until one is kept:

    start   the next segment begins at or below the log start offset
    size    without the segment, the log still has at least retention.bytes
    age     the largest timestamp of the segment is more than retention.ms ago

Size and age apply only if cleanup.policy contains delete. A segment with an offset at or above the
high watermark is kept, and so is an empty last segment. If every segment is deleted, the log rolls
first.

A segment that is kept keeps all newer ones. One timestamp in the future therefore holds back every
later segment; the plan states this for each of them.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import accumulate, takewhile
from typing import NamedTuple

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.storage.log_config import LogConfig


class SegmentFacts(NamedTuple):
    """The facts about a segment on which retention decides.

    `next_base` of the last segment is the log end offset. `largest_timestamp` is the modification
    time of the file if the records have no timestamps.
    """

    base_offset: int
    next_base: int
    size: int
    largest_timestamp: int


class DeletionReason(Enum):
    """The rule that deletes a segment."""

    LOG_START = "below the log's start offset"
    SIZE = "beyond retention.bytes"
    AGE = "older than retention.ms"

    @property
    def label(self) -> str:
        """The short name, for metrics: the setting, if there is one."""
        labels = {"LOG_START": "log start offset", "SIZE": "retention.bytes"}
        return labels.get(self.name, "retention.ms")


class RetentionHold(Enum):
    """A reason that keeps a segment."""

    POLICY = "cleanup.policy does not delete"
    NO_LIMIT = "neither retention.ms nor retention.bytes sets a limit"
    AGE = "not older than retention.ms"
    SIZE = "within retention.bytes"
    OLDER_SEGMENT = "an older segment stays"
    HIGH_WATERMARK = "not wholly below the high watermark"
    EMPTY = "the last segment, and empty"


class SegmentDeletion(NamedTuple):
    """A segment to delete."""

    segment: SegmentFacts
    reason: DeletionReason


class KeptSegment(NamedTuple):
    """A segment that is kept.

    Unless the high watermark keeps it, it is deleted by age at the first pass from `until_ms` on,
    and by size after `until_bytes` more bytes have been written; None where that never happens.
    """

    segment: SegmentFacts
    holds: tuple[RetentionHold, ...]
    until_ms: int | None = None
    until_bytes: int | None = None


class RetentionPlan(NamedTuple):
    """The steps of one pass: roll if `is_rolling`, raise the log start, delete oldest first."""

    deletions: tuple[SegmentDeletion, ...]
    kept: tuple[KeptSegment, ...]
    is_rolling: bool
    log_start_offset: int

    def portions(self, size: int) -> Iterator["RetentionPlan"]:
        """Yield plans of at most `size` deletions each, oldest first."""
        for first in range(0, len(self.deletions), size):
            deletions = self.deletions[first : first + size]
            start = min(self.log_start_offset, deletions[-1].segment.next_base)
            yield RetentionPlan(deletions, (), is_rolling=False, log_start_offset=start)


def plan_retention(
    segments: Sequence[SegmentFacts],
    *,
    log_start_offset: int,
    high_watermark: int,
    config: LogConfig,
    now_ms: int,
    explains: bool = True,
) -> RetentionPlan:
    """Decide on all segments of a log, oldest first; a reader may pass no segments.

    `kept` is empty unless the plan `explains`.
    """
    if not segments:
        return RetentionPlan((), (), is_rolling=False, log_start_offset=log_start_offset)
    movable = segments[: _count_movable(segments, high_watermark)]
    reasons = [DeletionReason.LOG_START] * _count_below(movable, segments[-1], log_start_offset)
    if config.is_deleted:
        gone = len(reasons)
        reasons += [DeletionReason.SIZE] * _count_by_size(movable[gone:], segments[gone:], config)
        reasons += [DeletionReason.AGE] * _count_by_age(movable[len(reasons) :], config, now_ms)
    count = len(reasons)
    return RetentionPlan(
        deletions=tuple(map(SegmentDeletion, segments, reasons)),
        kept=tuple(_explain(segments[count:], high_watermark, config=config, now_ms=now_ms))
        if explains
        else (),
        is_rolling=count == len(segments),
        log_start_offset=max([log_start_offset, *(each.next_base for each in segments[:count])]),
    )


def _count_movable(segments: Sequence[SegmentFacts], high_watermark: int) -> int:
    """Return the number of oldest segments that the rules may delete."""
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
) -> Iterator[KeptSegment]:
    """Yield each kept segment with the reasons that keep it."""
    excess = sum(segment.size for segment in kept) - config.retention_bytes
    behind, goes_ms = 0, INT64_MIN
    for segment in kept:
        behind += segment.size
        if not config.is_deleted:
            yield KeptSegment(segment, (RetentionHold.POLICY,))
        elif segment is kept[-1] and not segment.size:
            yield KeptSegment(segment, (RetentionHold.EMPTY,))
        else:
            is_old = now_ms - segment.largest_timestamp > config.retention_ms
            goes_ms = max(goes_ms, segment.largest_timestamp + config.retention_ms + 1)
            until_ms = None if config.retention_ms < 0 else goes_ms
            until_bytes = None if config.retention_bytes < 0 else max(0, behind - excess)
            holds = _limits(until_ms, until_bytes, is_old=is_old, now_ms=now_ms)
            if high_watermark < segment.next_base:
                holds = (RetentionHold.HIGH_WATERMARK, *holds)
            is_never = until_ms is None or until_ms > INT64_MAX
            yield KeptSegment(segment, holds, None if is_never else until_ms, until_bytes)


def _limits(
    until_ms: int | None, until_bytes: int | None, *, is_old: bool, now_ms: int
) -> tuple[RetentionHold, ...]:
    """Return the limits that are not reached; empty if one of them is reached."""
    if until_ms is None and until_bytes is None:
        return (RetentionHold.NO_LIMIT,)
    if until_bytes == 0 or (until_ms is not None and until_ms <= now_ms):
        return ()
    by_age = (
        () if until_ms is None else (RetentionHold.OLDER_SEGMENT if is_old else RetentionHold.AGE,)
    )
    return by_age if until_bytes is None else (*by_age, RetentionHold.SIZE)
