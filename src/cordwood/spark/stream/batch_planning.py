"""Planning of one batch of a stream: from offset ranges to packs of splits, one pack a task.

    ranges ──► reads, gaps ──► splits of 4 MiB ──► packs: as few as the bytes want
               (coverage)      (splits)           at most 4 MiB · one task
                                                  at most 32 MiB · tasks of 4 MiB
                                                  more · eight tasks, of 64 MiB at most

A task costs 10 to 30 ms for any number of records. So a small batch of many partitions is one task.
A large partition is cut within a batch. `splitBytes` sets the size of a task instead,
`minPartitions` the least number of tasks, and `maxRecordsPerPartition` the offsets of one.

The plan depends on the ranges and on the sources alone: a batch that Spark repeats reads the same
offsets.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import OffsetRange, PlannedRead, cover
from cordwood.spark.source.offset_gaps import resolve_gaps
from cordwood.spark.source.source_options import SPLIT_BYTES, Offsets, SourceOptions
from cordwood.spark.source.source_view import SourceView
from cordwood.spark.source.split_planning import cut_reads
from cordwood.spark.source.splits import Split, limit_records, pack_by_size
from cordwood.spark.stream.stream_options import StreamOptions

#: Bytes below which another task costs more than it saves.
LEAST_SPLIT_BYTES: Final = 4 << 20
#: The tasks of a batch of medium size.
_TASKS: Final = 8
#: Indexed batches cut a split unevenly, by less than this factor.
_UNEVEN: Final = 2


class BatchPlan(NamedTuple):
    """The packs of a batch, their bytes, and the number of offsets that no source has."""

    packs: list[tuple[Split, ...]]
    size: int
    gaps: Offsets


def plan_batch(
    files: Files, ranges: Sequence[OffsetRange], *, view: SourceView, options: StreamOptions
) -> BatchPlan:
    """Return the plan of a batch; apply the gap policy to offsets that no source has."""
    reads: list[PlannedRead] = []
    gaps: list[OffsetRange] = []
    for each in ranges:
        found, missing = cover(each, view.available.get(each.partition, ()))
        reads += found
        gaps += missing
    filled = resolve_gaps(files, gaps, options=options.source, topic_ids=view.topic_ids)
    reads = sorted([*reads, *filled], key=lambda read: read.range)
    lost = Counter[TopicPartition]()
    for gap in gaps:
        lost[gap.partition] += _count(gap)
    for read in filled:
        lost[read.range.partition] -= _count(read.range)
    splits = cut_reads(files, reads, options=_cut_options(options))
    total = sum(each.size for each in splits)
    size = options.source.split_bytes if options.has_split_bytes else task_bytes(total)
    if options.source.min_partitions is not None:
        size = min(size, total // options.source.min_partitions)
    pieces = [piece for each in splits for piece in _pieces(each, max(1, size))]
    packs = pack_by_size(pieces, size=max(1, size), records=options.source.max_records)
    return BatchPlan(packs, total, +lost)


def task_bytes(total: int) -> int:
    """Return the bytes of one task for a batch of `total` bytes."""
    return min(max(LEAST_SPLIT_BYTES, -(-total // _TASKS)), SPLIT_BYTES)


def _pieces(split: Split, size: int) -> list[Split]:
    """Return a split cut by offsets if its segments have no index to cut it by."""
    count = -(-split.size // size)
    return [split] if count <= _UNEVEN else limit_records([split], -(-_count(split.range) // count))


def _cut_options(options: StreamOptions) -> SourceOptions:
    """Return the options of the cut: splits are small, so that packs can be even."""
    if options.has_split_bytes:
        return options.source
    return replace(options.source, split_bytes=LEAST_SPLIT_BYTES)


def _count(each: OffsetRange) -> int:
    return each.end - each.start
