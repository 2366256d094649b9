"""What the cleaner does to a compacted log, when, and what holds each segment back.

It is the broker's own rule (`compaction.choosing`), over what can be seen from outside. When a log
is due is told of a log that nobody writes to; what would have to be written, or to happen, stands
beside it. Which tombstones and markers may go, and when, batches say themselves: horizons that a
pass before has set. How many bytes a pass frees is counted by doing it without writing, which reads
the log several times: unasked only where that takes no time, and where the log is whole.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from cordwood.compaction.choosing import (
    Hold,
    LogFacts,
    SegmentSeen,
    assess,
    find_first_dirty,
    holds_of,
    when_due,
)
from cordwood.compaction.counting import count_pass
from cordwood.compaction.directory_facts import look, plan_of
from cordwood.compaction.job import CleaningFailedError, CleaningJob
from cordwood.compaction.kernels import engine
from cordwood.compaction.plan import CleaningPlan
from cordwood.core.binary import INT64_MAX
from cordwood.core.ports import Files
from cordwood.core.types import NO_TIMESTAMP, PartitionId, TopicName, TopicPartition
from cordwood.records.batch import DELETE_HORIZON_BIT
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_place import partition_of

#: What is counted unasked: plain Python takes less than a second for it.
CHEAP_BYTES: Final = 1 << 20

_MEMORY_BYTES: Final = 256 << 20
_IO_BUFFER_BYTES: Final = 4 << 20
_LAGS: Final = frozenset({Hold.MIN_COMPACTION_LAG, Hold.OLDER_SEGMENT})


def _ignore(_: int) -> None:
    """Hear of bytes that interest nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What else is asked for: batches with a horizon; a count, whatever it takes.

    `tell` hears of all bytes that are read for the count.
    """

    has_horizons: bool = False
    is_deep: bool = False
    tell: Callable[[int], object] = _ignore


NO_DETAILS: Final = Details()


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOutlook:
    """What a pass would do to a segment: clean it, unless something `holds` it.

    Without dirty records it `is_clean`, and is read again all the same. `until_ms` is when it, and
    what is before it, is old enough. The active one is rolled once so many more bytes are written,
    or by the first record that is later than that.
    """

    base_offset: int
    is_clean: bool
    holds: tuple[str, ...] = ()
    until_ms: int | None = None
    rolls_after_bytes: int | None = None
    rolls_after_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """The oldest transaction that is not over, or not everywhere."""

    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """A batch whose tombstones, or whose marker, the first pass from `horizon_ms` on drops."""

    path: str
    position: int
    base_offset: int
    last_offset: int
    is_control: bool
    horizon_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningOutlook:
    """Where a log is dirty, and what of it a pass would clean, now or at `due_ms`.

    A pass goes from the log's first segment up to `end`. The log is due when more than
    `min_ratio` of the bytes below that is dirty: `missing_bytes` more would do. `due_ms` is None
    where nothing but writing, or something that is held back, makes it due. A pass frees
    `freed_bytes`; None where that was not counted.
    """

    first_dirty: int
    warning: str | None
    end: int
    clean_bytes: int
    cleanable_bytes: int
    dirty_ratio: float
    min_ratio: float
    is_due: bool
    due_ms: int | None
    missing_bytes: int | None
    freed_bytes: int | None
    undecided: Undecided | None
    segments: tuple[SegmentOutlook, ...]
    horizons: tuple[Horizon, ...] | None = None


def outlook(
    files: Files,
    reader: PartitionReader,
    *,
    config: LogConfig,
    high_watermark: int | None,
    now_ms: int,
    details: Details = NO_DETAILS,
) -> CleaningOutlook:
    """Return what the cleaner does to a log that is compacted; CleaningFailedError for damage."""
    path = reader.source.path
    # Only a name that says a partition has checkpoints beside it; another one is just shown.
    partition = partition_of(path) or TopicPartition(TopicName(path), PartitionId(0))
    found = look(reader, partition=partition, config=config, high_watermark=high_watermark)
    facts, assessment = found.facts, assess(found.facts, now_ms)
    plan = plan_of(found, assessment, now_ms=now_ms)
    return CleaningOutlook(
        first_dirty=assessment.first_dirty.offset,
        warning=assessment.first_dirty.warning,
        end=assessment.end,
        clean_bytes=assessment.clean_bytes,
        cleanable_bytes=assessment.cleanable_bytes,
        dirty_ratio=assessment.dirty_ratio,
        min_ratio=config.min_cleanable_dirty_ratio,
        is_due=assessment.is_due,
        due_ms=when_due(facts, now_ms),
        missing_bytes=assessment.missing_bytes,
        freed_bytes=0 if plan is None else _freed(files, path, plan=plan, details=details),
        undecided=_undecided(reader, facts),
        segments=tuple(_segments(reader, facts, now_ms)),
        horizons=tuple(horizons_of(reader)) if details.has_horizons else None,
    )


def horizons_of(reader: PartitionReader) -> Iterator[Horizon]:
    """Yield the batches that have one, read from their headers, oldest first."""
    for found in reader.batches():
        header = found.header
        if header.attributes & DELETE_HORIZON_BIT:
            yield Horizon(
                path=found.path,
                position=header.position,
                base_offset=header.base_offset,
                last_offset=header.last_offset,
                is_control=header.is_control,
                horizon_ms=header.base_timestamp,
            )


def _freed(files: Files, path: str, *, plan: CleaningPlan, details: Details) -> int | None:
    """Count by how much a pass makes the log smaller."""
    size = plan.size
    if not details.is_deep and size > CHEAP_BYTES:
        return None
    job = CleaningJob(
        directory=path,
        plan=plan,
        memory_bytes=_MEMORY_BYTES,
        io_buffer_bytes=_IO_BUFFER_BYTES,
    )
    try:
        counts = count_pass(job, files, engine=engine(size), control=_Control(details.tell)).counts
    except CleaningFailedError:
        if details.is_deep:
            raise
        return None
    return counts.bytes_read - counts.bytes_kept


@dataclass(frozen=True, slots=True)
class _Control:
    """Goes along with a count, which nobody stops."""

    tell: Callable[[int], object]

    def is_stopped(self) -> bool:
        return False

    def expect(self, count: int) -> None:
        """Tell nobody: a pass is not all that there is to read."""

    def on_bytes(self, count: int) -> None:
        self.tell(count)


def _undecided(reader: PartitionReader, facts: LogFacts) -> Undecided | None:
    """Return whose records the last stable offset is held by."""
    found = reader.find(facts.last_stable) if facts.last_stable < facts.high_watermark else None
    if found is None:
        return None
    return Undecided(producer_id=found.header.producer_id, first_offset=facts.last_stable)


def _segments(reader: PartitionReader, facts: LogFacts, now_ms: int) -> Iterator[SegmentOutlook]:
    first_dirty, until_ms = find_first_dirty(facts).offset, 0
    ends = (*(each.base_offset for each in facts.segments[1:]), facts.log_end)
    for segment, end, holds in zip(facts.segments, ends, holds_of(facts, now_ms), strict=True):
        if not _LAGS.isdisjoint(holds):
            old_ms = segment.largest_timestamp + facts.config.min_compaction_lag_ms
            until_ms = max(until_ms, old_ms)
        found = SegmentOutlook(
            base_offset=segment.base_offset,
            is_clean=end <= first_dirty,
            holds=tuple(hold.value for hold in holds),
            until_ms=until_ms or None,
        )
        is_active = segment is facts.segments[-1]
        yield _rolling(found, segment, reader=reader, config=facts.config) if is_active else found


def _rolling(
    outlook: SegmentOutlook, active: SegmentSeen, *, reader: PartitionReader, config: LogConfig
) -> SegmentOutlook:
    """Say of the active segment when it is rolled."""
    first = reader.find(active.base_offset)
    first_ms = NO_TIMESTAMP if first is None else first.header.max_timestamp
    roll_ms = first_ms + config.roll_ms
    is_rolled = first_ms >= 0 and roll_ms <= INT64_MAX
    return replace(
        outlook,
        until_ms=None,
        rolls_after_bytes=max(0, config.segment_bytes - active.size),
        rolls_after_ms=roll_ms if is_rolled else None,
    )
