"""Planning of a read on the driver, from options to splits (Spark: `partitions()`).

offset readers ──► available ranges ──► wanted ranges ──► reads ──► splits
                   per partition        in offsets        one       cut by bytes,
                                                          source    where known
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from cordwood.core.ports import Files
from cordwood.core.system import SystemFiles
from cordwood.core.types import TopicPartition
from cordwood.spark.source.broker_offsets import open_offset_reader
from cordwood.spark.source.coverage import (
    NO_IDS,
    AvailableRange,
    BrokerSource,
    OffsetRange,
    OffsetReader,
    PartitionDirectory,
    PlannedRead,
    cover,
)
from cordwood.spark.source.directory_offsets import find_directories, open_log
from cordwood.spark.source.offset_gaps import resolve_gaps
from cordwood.spark.source.offset_resolution import (
    PartitionExtent,
    apply_filters,
    check_requested,
    extent_of,
    resolve_ranges,
    resolve_topic_ids,
)
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.splits import Split, cut_log, cut_range, cut_to_count, limit_records


class ReadPlan(NamedTuple):
    """The extents, wanted ranges and splits of all partitions, at one point in time."""

    extents: Mapping[TopicPartition, PartitionExtent]
    ranges: Mapping[TopicPartition, OffsetRange]
    splits: list[Split]
    topic_ids: Mapping[str, str] = NO_IDS


def plan_splits(options: SourceOptions) -> list[Split]:
    """Return the splits of a read, of about the same size."""
    return plan_read(options).splits


def plan_read(options: SourceOptions, *, ignores_gaps: bool = False) -> ReadPlan:
    """Return the plan of a read; with `ignores_gaps` the gap policy is not applied."""
    files = SystemFiles()
    with _open_readers(files, options) as readers:
        topics = {name for reader in readers for name in reader.topics()}
        partitions = {each for reader in readers for each in reader.partitions()}
        check_requested(options, topics=topics, partitions=partitions)
        wanted = set(filter(options.pushed_filters.may_match, partitions))
        topic_ids = resolve_topic_ids(readers, wanted)
        available = _available(readers, wanted)
        extents = {partition: extent_of(each) for partition, each in available.items()}
        ranges = apply_filters(
            resolve_ranges(extents, options, readers=readers),
            options.pushed_filters,
            readers=readers,
        )
    reads: list[PlannedRead] = []
    gaps: list[OffsetRange] = []
    for each in ranges:
        found, missing = cover(each, available[each.partition])
        reads += found
        gaps += missing
    if not ignores_gaps:
        reads += resolve_gaps(files, gaps, options=options, topic_ids=topic_ids)
        reads.sort(key=lambda read: read.range)
    splits = cut_reads(files, reads, options=options)
    return ReadPlan(extents, {each.partition: each for each in ranges}, splits, topic_ids)


def cut_reads(files: Files, reads: Sequence[PlannedRead], *, options: SourceOptions) -> list[Split]:
    """Return the splits of planned reads, with the size and number that the options set."""
    least = options.min_partitions or 0
    splits = _cut(files, reads, options.split_bytes)
    if len(splits) < least:
        size = sum(split.size for split in splits)
        splits = cut_to_count(_cut(files, reads, max(1, size // least)), least)
    return limit_records(splits, options.max_records) if options.max_records else splits


@contextmanager
def _open_readers(files: Files, options: SourceOptions) -> Iterator[list[OffsetReader]]:
    """Yield the offset readers by preference: reading segments does not load a broker."""
    with ExitStack() as opened:
        brokers = [opened.enter_context(open_offset_reader(options))] if options.servers else []
        directories = find_directories(
            files, options.paths, choice=options.topics, is_committed=options.is_committed
        )
        yield [directories, *brokers]


def _available(
    readers: Sequence[OffsetReader], wanted: Collection[TopicPartition]
) -> Mapping[TopicPartition, list[AvailableRange]]:
    """Return the available ranges of each partition, in the order of the readers."""
    found: dict[TopicPartition, list[AvailableRange]] = {}
    for reader in readers:
        for partition, ranges in reader.available(wanted).items():
            found.setdefault(partition, []).extend(ranges)
    return found


def _cut(files: Files, reads: Sequence[PlannedRead], split_bytes: int) -> list[Split]:
    splits: list[Split] = []
    for wanted, source in reads:
        match source:
            case BrokerSource():
                splits += cut_range(wanted, split_bytes=split_bytes)
            case PartitionDirectory(path=path):
                with open_log(files, path) as reader:
                    splits += cut_log(reader, wanted, split_bytes=split_bytes)
    return splits
