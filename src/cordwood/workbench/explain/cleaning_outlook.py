"""Forecast of cleaning for a compacted log: what the cleaner does, when, and what prevents it.

The rules are the broker's (`compaction.plan.candidates`), applied to the files on disk. The due
time is for a log without further writes; the forecast also contains the number of bytes that would
make it due. The delete horizons of tombstones and markers are in the batch headers, where an
earlier pass wrote them. The freed bytes are counted by a pass that writes nothing. It reads the log
several times, so without `is_deep` it runs only for small logs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningJob
from cordwood.compaction.kernels import engine
from cordwood.compaction.passes.dry_run import dry_run
from cordwood.compaction.plan.candidates import (
    CandidateSegment,
    LogFacts,
    UncleanableReason,
    assess,
    find_first_dirty_offset,
    find_uncleanable_reasons,
    next_due_ms,
)
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.plan.directory_facts import plan_directory, read_directory_facts
from cordwood.core.binary import INT64_MAX
from cordwood.core.ports import Files
from cordwood.core.types import NO_TIMESTAMP, PartitionId, TopicName, TopicPartition
from cordwood.records.record_batch import DELETE_HORIZON_BIT
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import partition_of
from cordwood.workbench.file_window import OnBytes, ignore_bytes

#: Up to this size the freed bytes are always counted; plain Python takes less than a second.
CHEAP_BYTES: Final = 1 << 20

_MEMORY_BYTES: Final = 256 << 20
_IO_BUFFER_BYTES: Final = 4 << 20
_LAGS: Final = frozenset({UncleanableReason.MIN_COMPACTION_LAG, UncleanableReason.OLDER_SEGMENT})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainDetails:
    """Options of an explanation: with horizons; with the freed bytes, however large the log is.

    `on_bytes` receives the number of bytes read for that count.
    """

    has_horizons: bool = False
    is_deep: bool = False
    on_bytes: OnBytes = ignore_bytes


NO_DETAILS: Final = ExplainDetails()


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOutlook:
    """The forecast for a segment: a pass cleans it, unless `holds` contains reasons against that.

    A segment without dirty records `is_clean`; a pass still reads it. `until_ms` is when it and all
    segments before it are old enough. The active segment rolls after `rolls_after_bytes` more
    bytes, or at the first record later than `rolls_after_ms`.
    """

    base_offset: int
    is_clean: bool
    holds: tuple[str, ...] = ()
    until_ms: int | None = None
    rolls_after_bytes: int | None = None
    rolls_after_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """The oldest transaction that is still open, or not yet replicated to its end."""

    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """A batch with tombstones or a marker that a pass removes from `horizon_ms` on."""

    path: str
    position: int
    base_offset: int
    last_offset: int
    is_control: bool
    horizon_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningOutlook:
    """The dirty part of a log, and the forecast of the next pass.

    A pass covers the log from its first segment up to `end`. The log is due if more than
    `min_ratio` of the bytes below `end` are dirty, which takes `missing_bytes` more. `due_ms` is
    None if time alone does not make it due. `freed_bytes` is None if it was not counted.
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
    undecided: OpenTransaction | None
    segments: tuple[SegmentOutlook, ...]
    horizons: tuple[Horizon, ...] | None = None


def forecast_cleaning(
    files: Files,
    reader: PartitionReader,
    *,
    config: LogConfig,
    high_watermark: int | None,
    now_ms: int,
    details: ExplainDetails = NO_DETAILS,
) -> CleaningOutlook:
    """Return the forecast for a compacted log; raise CleaningFailedError for damage."""
    path = reader.source.path
    # A directory with another name has no checkpoint entries; its path is only displayed.
    partition = partition_of(path) or TopicPartition(TopicName(path), PartitionId(0))
    found = read_directory_facts(
        reader, partition=partition, config=config, high_watermark=high_watermark
    )
    facts, assessment = found.facts, assess(found.facts, now_ms)
    plan = plan_directory(found, assessment, now_ms=now_ms)
    return CleaningOutlook(
        first_dirty=assessment.first_dirty.offset,
        warning=assessment.first_dirty.warning,
        end=assessment.end,
        clean_bytes=assessment.clean_bytes,
        cleanable_bytes=assessment.cleanable_bytes,
        dirty_ratio=assessment.dirty_ratio,
        min_ratio=config.min_cleanable_dirty_ratio,
        is_due=assessment.is_due,
        due_ms=next_due_ms(facts, now_ms),
        missing_bytes=assessment.missing_bytes,
        freed_bytes=_count_freed_bytes(files, path, plan=plan, details=details),
        undecided=_open_transaction(reader, facts),
        segments=tuple(_segments(reader, facts, now_ms)),
        horizons=tuple(find_horizons(reader)) if details.has_horizons else None,
    )


def find_horizons(reader: PartitionReader) -> Iterator[Horizon]:
    """Yield the batches with a delete horizon in their header, oldest first."""
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


def _count_freed_bytes(
    files: Files, path: str, *, plan: CleaningPlan | None, details: ExplainDetails
) -> int | None:
    """Return how many bytes a pass frees, None if that was not counted."""
    if plan is None:
        return 0
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
        counts = dry_run(
            job, files, engine=engine(size), control=_CountMonitor(details.on_bytes)
        ).counts
    except CleaningFailedError:
        if details.is_deep:
            raise
        return None
    return counts.bytes_read - counts.bytes_kept


@dataclass(frozen=True, slots=True)
class _CountMonitor:
    """The callbacks of a count: it reports bytes, and is never stopped."""

    report: Callable[[int], object]

    def is_stopped(self) -> bool:
        return False

    def expect(self, count: int) -> None:
        """Do nothing: the caller shows no total."""

    def on_bytes(self, count: int) -> None:
        self.report(count)


def _open_transaction(reader: PartitionReader, facts: LogFacts) -> OpenTransaction | None:
    """Return the transaction that holds the last stable offset back."""
    found = reader.find(facts.last_stable) if facts.last_stable < facts.high_watermark else None
    if found is None:
        return None
    return OpenTransaction(producer_id=found.header.producer_id, first_offset=facts.last_stable)


def _segments(reader: PartitionReader, facts: LogFacts, now_ms: int) -> Iterator[SegmentOutlook]:
    first_dirty, until_ms = find_first_dirty_offset(facts).offset, 0
    ends = (*(each.base_offset for each in facts.segments[1:]), facts.log_end)
    for segment, end, holds in zip(
        facts.segments, ends, find_uncleanable_reasons(facts, now_ms), strict=True
    ):
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
        yield _with_roll(found, segment, reader=reader, config=facts.config) if is_active else found


def _with_roll(
    outlook: SegmentOutlook, active: CandidateSegment, *, reader: PartitionReader, config: LogConfig
) -> SegmentOutlook:
    """Return the forecast of the active segment with its roll."""
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
