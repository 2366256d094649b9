"""Which logs are cleaned now, the dirtiest first, and from where up to where.

    first dirty        what the cleaner's checkpoint says; the log's start where there is none, or
                       where it is no offset of the log
    first uncleanable  the least of: the active segment's base; the last stable offset, which is not
                       above the high watermark; the base of the first dirty segment that has a
                       record younger than min.compaction.lag.ms
    end                the base of the segment that the first uncleanable offset is in: a pass works
                       on whole segments

A log is cleaned when more than `min.cleanable.dirty.ratio` of it is dirty, counted in whole
segments up to `end`, or when a dirty segment has waited for more than `max.compaction.lag.ms`.
The active segment rolls by that lag only when it is written to, so an idle one is rolled first.

What `delete` adds to `compact` is retention's: whoever cleans runs `storage.retention` afterwards.
It moves the log's start beyond the checkpoint again and again, so that nobody is warned of it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import floor
from typing import NamedTuple

from cordwood.core.types import NO_TIMESTAMP, TopicPartition
from cordwood.storage.log_config import NEVER, LogConfig


class SegmentSeen(NamedTuple):
    """A segment as it is now.

    Times are read where a setting asks for them, and -1 elsewhere, as where there are none: that of
    the first batch for `max.compaction.lag.ms`, the latest one, or else that of the file's last
    change, for `min.compaction.lag.ms`.
    """

    base_offset: int
    size: int
    first_timestamp: int = NO_TIMESTAMP
    largest_timestamp: int = NO_TIMESTAMP


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """What is to be known of a log. The last one of its segments is active.

    `checkpoint` is the cleaner's, None where it has no entry. `active_since_ms` says when the
    active segment was begun, or the log was opened.
    """

    partition: TopicPartition
    config: LogConfig
    segments: tuple[SegmentSeen, ...]
    log_start: int
    log_end: int
    high_watermark: int
    last_stable: int
    checkpoint: int | None = None
    active_since_ms: int = 0


class FirstDirty(NamedTuple):
    """Where cleaning goes on. `is_reset`: the checkpoint is wrong, and is to say this instead.

    The warning says why, where that is strange.
    """

    offset: int
    is_reset: bool = False
    warning: str | None = None


class Hold(Enum):
    """What keeps a segment from being cleaned."""

    ACTIVE_SEGMENT = "the active segment is never cleaned"
    HIGH_WATERMARK = "not wholly below the high watermark"
    LAST_STABLE_OFFSET = "not wholly below the last stable offset: a transaction is undecided"
    MIN_COMPACTION_LAG = "a record is younger than min.compaction.lag.ms"
    OLDER_SEGMENT = "an older segment is held by min.compaction.lag.ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What cleaning would do to a log now. Byte counts are those of whole segments.

    `overdue_ms` says for how long a dirty segment has waited beyond `max.compaction.lag.ms`.
    `is_roll_due`: the active segment has, and nobody writes: it is to be rolled, and the log to be
    assessed again.
    """

    facts: LogFacts
    first_dirty: FirstDirty
    first_uncleanable: int
    end: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int
    is_roll_due: bool

    @property
    def dirty_ratio(self) -> float:
        """How much of what may be cleaned is dirty; 0 where there is nothing."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Whether the log is to be cleaned now."""
        config = self.facts.config
        is_dirty = self.dirty_ratio > config.min_cleanable_dirty_ratio or self.overdue_ms > 0
        return config.is_compacted and self.cleanable_bytes > 0 and is_dirty

    @property
    def missing_bytes(self) -> int | None:
        """How many more bytes would have to be cleanable for the ratio; None if it can never be."""
        ratio = self.facts.config.min_cleanable_dirty_ratio
        if ratio >= 1:
            return None
        excess = ratio * self.clean_bytes / (1 - ratio) - self.cleanable_bytes
        return max(0, floor(excess) + 1)


def choose(assessments: Iterable[Assessment]) -> list[Assessment]:
    """Return the logs that are to be cleaned now, the dirtiest first."""
    due = [each for each in assessments if each.is_due]
    return sorted(due, key=lambda each: each.dirty_ratio, reverse=True)


def assess(facts: LogFacts, now_ms: int) -> Assessment:
    """Decide on one log; it has a segment at least."""
    segments, clean = facts.segments, count_clean(facts)
    dirty, first_dirty = segments[clean:-1], find_first_dirty(facts)
    stable = min(segments[-1].base_offset, facts.last_stable)
    young = (each.base_offset for each in dirty if _is_young(each, facts, now_ms))
    first_uncleanable = min(stable, next(young, stable))
    last = max(0, bisect_right(segments, first_uncleanable, key=_base) - 1)
    partly_clean = clean + (segments[clean].base_offset < first_dirty.offset)
    return Assessment(
        facts=facts,
        first_dirty=first_dirty,
        first_uncleanable=first_uncleanable,
        end=segments[last].base_offset,
        clean_bytes=sum(each.size for each in segments[:partly_clean]),
        cleanable_bytes=sum(each.size for each in segments[clean:last]),
        overdue_ms=_overdue_ms(dirty, facts.config, now_ms),
        is_roll_due=_is_roll_due(facts, now_ms),
    )


def find_first_dirty(facts: LogFacts) -> FirstDirty:
    """Return where the log has not been cleaned yet."""
    start, checkpoint = facts.log_start, facts.checkpoint
    if checkpoint is None:
        return FirstDirty(start)
    if checkpoint > facts.log_end:
        where = f"beyond the log's end {facts.log_end}"
    elif checkpoint < start:
        where = f"below the log's start {start}"
        if facts.config.is_deleted:
            return FirstDirty(start, is_reset=True)
    else:
        return FirstDirty(checkpoint)
    warning = (
        f"the cleaner's checkpoint has {facts.partition} cleaned up to {checkpoint}, {where}: "
        f"it counts as dirty from {start} on"
    )
    return FirstDirty(start, is_reset=True, warning=warning)


def holds_of(facts: LogFacts, now_ms: int) -> list[tuple[Hold, ...]]:
    """Return of each segment what keeps it from being cleaned; nothing of those below `end`."""
    ends = [*(each.base_offset for each in facts.segments[1:]), facts.log_end]
    clean, found, is_behind_young = count_clean(facts), [], False
    for number, (segment, end) in enumerate(zip(facts.segments, ends, strict=True)):
        is_active, holds = segment is facts.segments[-1], []
        if is_active:
            holds.append(Hold.ACTIVE_SEGMENT)
        if end > facts.high_watermark:
            holds.append(Hold.HIGH_WATERMARK)
        if end > facts.last_stable < facts.high_watermark:
            holds.append(Hold.LAST_STABLE_OFFSET)
        if number >= clean and not is_active and _is_young(segment, facts, now_ms):
            holds.append(Hold.MIN_COMPACTION_LAG)
            is_behind_young = True
        elif is_behind_young:
            holds.append(Hold.OLDER_SEGMENT)
        found.append(tuple(holds))
    return found


def when_due(facts: LogFacts, now_ms: int) -> int | None:
    """Return when the log is to be cleaned, if nobody writes to it; None if that is never.

    As time passes more may be cleaned, and never less: so the first moment is searched for at which
    the log is due among those at which something changes.
    """
    moments = sorted({now_ms, *(each for each in _moments(facts) if each > now_ms)})
    first = bisect_left(moments, True, key=lambda moment: _is_due_at(facts, moment))  # noqa: FBT003 - what is searched for
    return moments[first] if first < len(moments) else None


def count_clean(facts: LogFacts) -> int:
    """Return how many segments, of the oldest ones, hold no dirty record."""
    first_dirty = find_first_dirty(facts).offset
    return max(0, bisect_right(facts.segments, first_dirty, key=_base) - 1)


def asks_for_times(config: LogConfig) -> bool:
    """Whether a setting looks at the times of dirty segments."""
    return config.min_compaction_lag_ms > 0 or config.max_compaction_lag_ms != NEVER


def _moments(facts: LogFacts) -> Iterator[int]:
    """Yield when segments become old enough for one lag or the other."""
    config, active = facts.config, facts.segments[-1]
    dirty = facts.segments[count_clean(facts) :]
    yield from (each.largest_timestamp + config.min_compaction_lag_ms for each in dirty)
    if config.max_compaction_lag_ms != NEVER:
        since_ms = max(active.first_timestamp, facts.active_since_ms)
        waiting = (*(each.first_timestamp for each in dirty), since_ms)
        yield from (each + config.max_compaction_lag_ms + 1 for each in waiting)


def _is_due_at(facts: LogFacts, now_ms: int) -> bool:
    found = assess(facts, now_ms)
    if found.is_roll_due:
        rolled = (*facts.segments, SegmentSeen(facts.log_end, 0))
        found = assess(replace(facts, segments=rolled), now_ms)
    return found.is_due


def _base(segment: SegmentSeen) -> int:
    return segment.base_offset


def _is_young(segment: SegmentSeen, facts: LogFacts, now_ms: int) -> bool:
    lag_ms = facts.config.min_compaction_lag_ms
    return lag_ms > 0 and segment.largest_timestamp > now_ms - lag_ms


def _overdue_ms(dirty: Sequence[SegmentSeen], config: LogConfig, now_ms: int) -> int:
    until_ms = now_ms - config.max_compaction_lag_ms
    times = (each.first_timestamp for each in dirty if each.first_timestamp > 0)
    return max(0, until_ms - min(times, default=until_ms))


def _is_roll_due(facts: LogFacts, now_ms: int) -> bool:
    """Whether the active segment has waited: for the lag since its first record, and at all.

    So records of long ago do not make segments faster than one each time the lag has passed.
    """
    active = facts.segments[-1]
    since_ms = max(active.first_timestamp, facts.active_since_ms)
    is_timed = active.size > 0 and active.first_timestamp > 0
    return is_timed and now_ms - since_ms > facts.config.max_compaction_lag_ms
