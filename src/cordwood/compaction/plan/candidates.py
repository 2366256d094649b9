"""Candidates for cleaning: which logs are cleaned, in which order, from where to where.

Kafka: `LogCleanerManager.grabFilthiestCompactedLog`, `LogToClean`, `cleanableOffsets`.

    first dirty        the cleaner's checkpoint; the log start offset if there is no checkpoint, or
                       if it is outside the log
    first uncleanable  the smallest of: the active segment's base offset; the last stable offset,
                       which is at most the high watermark; the base offset of the first dirty
                       segment with a record younger than `min.compaction.lag.ms`
    end                the base offset of the segment that contains the first uncleanable offset,
                       because a pass rewrites whole segments

A log is cleaned if its dirty ratio, counted in whole segments up to `end`, exceeds
`min.cleanable.dirty.ratio`, or if a dirty segment has waited longer than `max.compaction.lag.ms`.
An append rolls the active segment by that lag. On an idle log the cleaner rolls it first.

With `cleanup.policy=compact,delete` the caller runs `storage.log.retention` as well. Retention
regularly moves the log start beyond the checkpoint, so that this case has no warning.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import floor
from typing import NamedTuple

from cordwood.core.types import NO_TIMESTAMP, TopicPartition
from cordwood.storage.log_config import NEVER, LogConfig


class CandidateSegment(NamedTuple):
    """A segment of a candidate.

    A timestamp is -1 if there is none, or if no setting needs it. `max.compaction.lag.ms` needs the
    first batch's timestamp. `min.compaction.lag.ms` needs the largest one; without timestamps that
    is the modification time of the file.
    """

    base_offset: int
    size: int
    first_timestamp: int = NO_TIMESTAMP
    largest_timestamp: int = NO_TIMESTAMP


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """The facts of a log that decide about cleaning. Its last segment is active.

    `checkpoint` is the log's entry in the cleaner checkpoint, or None. `active_since_ms` is the
    time when the active segment was created, or the log was opened.
    """

    partition: TopicPartition
    config: LogConfig
    segments: tuple[CandidateSegment, ...]
    log_start: int
    log_end: int
    high_watermark: int
    last_stable: int
    checkpoint: int | None = None
    active_since_ms: int = 0


class FirstDirtyOffset(NamedTuple):
    """The offset where cleaning continues.

    `is_reset`: the checkpoint is invalid and must be replaced by `offset` (Kafka:
    `forceUpdateCheckpoint`). The warning gives the reason if that is unexpected.
    """

    offset: int
    is_reset: bool = False
    warning: str | None = None


class UncleanableReason(Enum):
    """A reason why a segment cannot be cleaned."""

    ACTIVE_SEGMENT = "the active segment is never cleaned"
    HIGH_WATERMARK = "not wholly below the high watermark"
    LAST_STABLE_OFFSET = "not wholly below the last stable offset: a transaction is open"
    MIN_COMPACTION_LAG = "a record is younger than min.compaction.lag.ms"
    OLDER_SEGMENT = "an older segment is held by min.compaction.lag.ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogToClean:
    """A log, and the range of it that can be cleaned now (Kafka: `LogToClean`).

    Byte counts are those of whole segments. `overdue_ms` is how long a dirty segment has waited
    beyond `max.compaction.lag.ms`. `is_roll_due`: the active segment of an idle log has waited that
    long; the caller rolls it and assesses the log again.
    """

    facts: LogFacts
    first_dirty: FirstDirtyOffset
    first_uncleanable: int
    end: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int
    is_roll_due: bool

    @property
    def dirty_ratio(self) -> float:
        """The dirty part of the bytes below `end`; 0 if there are none."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Whether the log is cleaned now."""
        config = self.facts.config
        is_dirty = self.dirty_ratio > config.min_cleanable_dirty_ratio or self.overdue_ms > 0
        return config.is_compacted and self.cleanable_bytes > 0 and is_dirty

    @property
    def missing_bytes(self) -> int | None:
        """The cleanable bytes that are missing to the ratio; None if it cannot be reached."""
        ratio = self.facts.config.min_cleanable_dirty_ratio
        if ratio >= 1:
            return None
        excess = ratio * self.clean_bytes / (1 - ratio) - self.cleanable_bytes
        return max(0, floor(excess) + 1)


def filthiest_first(candidates: Iterable[LogToClean]) -> list[LogToClean]:
    """Return the logs that are cleaned now, the one with the highest dirty ratio first."""
    due = [each for each in candidates if each.is_due]
    return sorted(due, key=lambda each: each.dirty_ratio, reverse=True)


def assess(facts: LogFacts, now_ms: int) -> LogToClean:
    """Return one log as a candidate; it has at least one segment."""
    segments, clean = facts.segments, count_clean_segments(facts)
    dirty, first_dirty = segments[clean:-1], find_first_dirty_offset(facts)
    stable = min(segments[-1].base_offset, facts.last_stable)
    young = (each.base_offset for each in dirty if _is_young(each, facts, now_ms))
    first_uncleanable = min(stable, next(young, stable))
    last = max(0, bisect_right(segments, first_uncleanable, key=_base) - 1)
    partly_clean = clean + (segments[clean].base_offset < first_dirty.offset)
    return LogToClean(
        facts=facts,
        first_dirty=first_dirty,
        first_uncleanable=first_uncleanable,
        end=segments[last].base_offset,
        clean_bytes=sum(each.size for each in segments[:partly_clean]),
        cleanable_bytes=sum(each.size for each in segments[clean:last]),
        overdue_ms=_overdue_ms(dirty, facts.config, now_ms),
        is_roll_due=_is_roll_due(facts, now_ms),
    )


def find_first_dirty_offset(facts: LogFacts) -> FirstDirtyOffset:
    """Return the first offset that has not been cleaned."""
    start, checkpoint = facts.log_start, facts.checkpoint
    if checkpoint is None:
        return FirstDirtyOffset(start)
    if checkpoint > facts.log_end:
        where = f"above the log end offset {facts.log_end}"
    elif checkpoint < start:
        where = f"below the log start offset {start}"
        if facts.config.is_deleted:
            return FirstDirtyOffset(start, is_reset=True)
    else:
        return FirstDirtyOffset(checkpoint)
    warning = (
        f"{facts.partition}: the cleaner checkpoint {checkpoint} is {where}; "
        f"the log counts as dirty from {start} on"
    )
    return FirstDirtyOffset(start, is_reset=True, warning=warning)


def find_uncleanable_reasons(facts: LogFacts, now_ms: int) -> list[tuple[UncleanableReason, ...]]:
    """Return the reasons for each segment; a segment below `end` has none."""
    ends = [*(each.base_offset for each in facts.segments[1:]), facts.log_end]
    clean, found, is_behind_young = count_clean_segments(facts), [], False
    for number, (segment, end) in enumerate(zip(facts.segments, ends, strict=True)):
        is_active, reasons = segment is facts.segments[-1], []
        if is_active:
            reasons.append(UncleanableReason.ACTIVE_SEGMENT)
        if end > facts.high_watermark:
            reasons.append(UncleanableReason.HIGH_WATERMARK)
        if end > facts.last_stable < facts.high_watermark:
            reasons.append(UncleanableReason.LAST_STABLE_OFFSET)
        if number >= clean and not is_active and _is_young(segment, facts, now_ms):
            reasons.append(UncleanableReason.MIN_COMPACTION_LAG)
            is_behind_young = True
        elif is_behind_young:
            reasons.append(UncleanableReason.OLDER_SEGMENT)
        found.append(tuple(reasons))
    return found


def next_due_ms(facts: LogFacts, now_ms: int) -> int | None:
    """Return when the log will be due if it stays idle; None if it never will.

    As time passes more of the log can be cleaned, and never less. So a binary search over the times
    at which a segment reaches a lag finds the first one at which the log is due.
    """
    moments = sorted({now_ms, *(each for each in _moments(facts) if each > now_ms)})
    first = bisect_left(moments, True, key=lambda moment: _is_due_at(facts, moment))  # noqa: FBT003 - the value searched for
    return moments[first] if first < len(moments) else None


def count_clean_segments(facts: LogFacts) -> int:
    """Return how many of the oldest segments contain only clean records."""
    first_dirty = find_first_dirty_offset(facts).offset
    return max(0, bisect_right(facts.segments, first_dirty, key=_base) - 1)


def needs_timestamps(config: LogConfig) -> bool:
    """Whether a setting depends on the timestamps of dirty segments."""
    return config.min_compaction_lag_ms > 0 or config.max_compaction_lag_ms != NEVER


def _moments(facts: LogFacts) -> Iterator[int]:
    """Yield the times at which segments reach one of the two lags."""
    config, active = facts.config, facts.segments[-1]
    dirty = facts.segments[count_clean_segments(facts) :]
    yield from (each.largest_timestamp + config.min_compaction_lag_ms for each in dirty)
    if config.max_compaction_lag_ms != NEVER:
        since_ms = max(active.first_timestamp, facts.active_since_ms)
        waiting = (*(each.first_timestamp for each in dirty), since_ms)
        yield from (each + config.max_compaction_lag_ms + 1 for each in waiting)


def _is_due_at(facts: LogFacts, now_ms: int) -> bool:
    candidate = assess(facts, now_ms)
    if candidate.is_roll_due:
        rolled = (*facts.segments, CandidateSegment(facts.log_end, 0))
        candidate = assess(replace(facts, segments=rolled), now_ms)
    return candidate.is_due


def _base(segment: CandidateSegment) -> int:
    return segment.base_offset


def _is_young(segment: CandidateSegment, facts: LogFacts, now_ms: int) -> bool:
    lag_ms = facts.config.min_compaction_lag_ms
    return lag_ms > 0 and segment.largest_timestamp > now_ms - lag_ms


def _overdue_ms(dirty: Sequence[CandidateSegment], config: LogConfig, now_ms: int) -> int:
    until_ms = now_ms - config.max_compaction_lag_ms
    times = (each.first_timestamp for each in dirty if each.first_timestamp > 0)
    return max(0, until_ms - min(times, default=until_ms))


def _is_roll_due(facts: LogFacts, now_ms: int) -> bool:
    """Whether the active segment has waited for the lag.

    The lag counts from its first record and from its creation, whichever is later. So old
    timestamps cause at most one roll per lag.
    """
    active = facts.segments[-1]
    since_ms = max(active.first_timestamp, facts.active_since_ms)
    is_timed = active.size > 0 and active.first_timestamp > 0
    return is_timed and now_ms - since_ms > facts.config.max_compaction_lag_ms
