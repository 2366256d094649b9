"""Planning of a read on the driver, from options to splits (Spark: `partitions()`).

offset readers ──► available ranges ──► wanted ranges ──► reads ──► splits
                   per partition        in offsets        one       cut by bytes,
                                                          source    where known
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.ports import Files
from cordwood.core.system import SystemFiles
from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import (
    NO_IDS,
    AvailableRange,
    BrokerSource,
    KnownEnd,
    OffsetRange,
    OffsetReader,
    PartitionDirectory,
    PlannedRead,
    cover,
)
from cordwood.spark.source.directory_offsets import open_log
from cordwood.spark.source.offset_gaps import refill_gaps, resolve_gaps
from cordwood.spark.source.offset_resolution import (
    PartitionExtent,
    PartitionWitness,
    apply_filters,
    extent_of,
    resolve_ranges,
)
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.source_view import available_ranges_of, open_sources
from cordwood.spark.source.splits import Split, cut_log, cut_range, cut_to_count, limit_records

_NO_WITNESSES: Final[Mapping[TopicPartition, PartitionWitness]] = MappingProxyType({})


class ReadPlan(NamedTuple):
    """The extents, wanted ranges and splits of all partitions, at one point in time.

    `ranges` are those of the options; a plan that continues another read has splits after its ends.
    """

    extents: Mapping[TopicPartition, PartitionExtent]
    ranges: Mapping[TopicPartition, OffsetRange]
    splits: list[Split]
    topic_ids: Mapping[str, str] = NO_IDS
    witnesses: Mapping[TopicPartition, PartitionWitness] = _NO_WITNESSES


def plan_splits(options: SourceOptions) -> list[Split]:
    """Return the splits of a read, of about the same size."""
    return plan_read(options).splits


def plan_read(
    options: SourceOptions,
    *,
    ignores_gaps: bool = False,
    known: Mapping[TopicPartition, KnownEnd] | None = None,
) -> ReadPlan:
    """Return the plan of a read; with `ignores_gaps` the gap policy is not applied.

    With `known` the read continues an earlier one at its ends. Then the plan has witnesses, and the
    caller handles the offsets below the end that neither a source nor `refillPath` has.
    """
    files = SystemFiles()
    with open_sources(files, options) as sources:
        readers, available, extents, topic_ids = sources.view()
        ranges = apply_filters(
            resolve_ranges(extents, options, readers=readers, continued=known or ()),
            options.pushed_filters,
            readers=readers,
        )
        witnesses = _NO_WITNESSES if known is None else _witnesses(readers, available, known)
    reads: list[PlannedRead] = []
    gaps: list[OffsetRange] = []
    for each in ranges:
        end = None if known is None else known.get(each.partition)
        rest = _continued(each, end, extents[each.partition], options)
        found, missing = cover(rest, available[each.partition])
        reads += found
        gaps += missing
    if known is not None:
        filled, left = refill_gaps(files, gaps, options=options, topic_ids=topic_ids)
        reads += filled
        gaps = [gap for gap in left if gap.end > extents[gap.partition].end]
    if not ignores_gaps:
        reads += resolve_gaps(files, gaps, options=options, topic_ids=topic_ids)
    reads.sort(key=lambda read: read.range)
    splits = cut_reads(files, reads, options=options)
    wanted_ranges = {each.partition: each for each in ranges}
    return ReadPlan(extents, wanted_ranges, splits, topic_ids, witnesses)


def _continued(
    wanted: OffsetRange,
    known: KnownEnd | None,
    extent: PartitionExtent,
    options: SourceOptions,
) -> OffsetRange:
    """Return the part of a range after a known end; deleted offsets are left to `refillPath`."""
    if known is None:
        return wanted
    start = known.end if options.refill_path is not None else max(known.end, extent.first)
    return wanted._replace(start=min(start, wanted.end))


def _witnesses(
    readers: Sequence[OffsetReader],
    available: Mapping[TopicPartition, Sequence[AvailableRange]],
    known: Mapping[TopicPartition, KnownEnd],
) -> dict[TopicPartition, PartitionWitness]:
    """Return what the sources know of the partitions; a broker's end takes precedence."""
    ends = [reader.log_ends() for reader in readers]
    epochs = [reader.leader_epochs(available.keys()) for reader in readers]
    truncated = [reader.truncated_ends(known) for reader in readers]
    found = {}
    for partition, ranges in available.items():
        has_broker = any(isinstance(each.source, BrokerSource) for each in ranges)
        own_ends = [] if has_broker else [each[partition] for each in ends if partition in each]
        found[partition] = PartitionWitness(
            max([extent_of(ranges).end, *own_ends]),
            max((each[partition] for each in epochs if partition in each), default=None),
            min((each[partition] for each in truncated if partition in each), default=None),
        )
    return found


def find_witnesses(
    options: SourceOptions, known: Mapping[TopicPartition, KnownEnd]
) -> Mapping[TopicPartition, PartitionWitness]:
    """Return what `plan_read` finds about the known ends, without a plan."""
    with open_sources(SystemFiles(), options) as sources:
        readers = sources.readers()
        wanted = {each for reader in readers for each in reader.partitions()}
        return _witnesses(readers, available_ranges_of(readers, wanted), known)


def cut_reads(files: Files, reads: Sequence[PlannedRead], *, options: SourceOptions) -> list[Split]:
    """Return the splits of planned reads, with the size and number that the options set."""
    least = options.min_partitions or 0
    splits = _cut(files, reads, options.split_bytes)
    if len(splits) < least:
        size = sum(split.size for split in splits)
        splits = cut_to_count(_cut(files, reads, max(1, size // least)), least)
    return limit_records(splits, options.max_records) if options.max_records else splits


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
