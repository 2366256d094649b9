"""Description of a planned read: its sources, and what is read of each partition.

Spark shows each Python data source as `BatchScan <format>[columns] (Python)`, without its reader.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from cordwood.core.counts import counted
from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import PartitionDirectory, RecordSource
from cordwood.spark.source.source_columns import selected_columns
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.splits import Split

#: Most partitions of a description.
MAX_SHOWN: Final = 200


class _PartitionPlan(NamedTuple):
    """The splits of a partition that have one source, in order."""

    partition: TopicPartition
    source: RecordSource
    splits: Sequence[Split]

    def __str__(self) -> str:
        start, end = self.splits[0].range.start, self.splits[-1].range.end
        place = self.source.path if isinstance(self.source, PartitionDirectory) else "brokers"
        return (
            f"{self.partition}: offsets {start:,} to {end - 1:,}, "
            f"{counted(len(self.splits), 'split')}, {_size(self.splits)} from {place}"
        )


def summarize_plan(options: SourceOptions, splits: Sequence[Split]) -> str:
    """Return the sources and the totals in one line."""
    partitions = {split.range.partition for split in splits}
    return (
        f"{', '.join(_sources(options))}: {counted(len(partitions), 'partition')}, "
        f"{counted(len(splits), 'split')}, {_size(splits)}"
    )


def describe_plan(options: SourceOptions, splits: Sequence[Split]) -> str:
    """Return a line with the totals, one for the columns, and one for each partition."""
    plans = list(_by_partition(splits))
    lines = [f"read of {summarize_plan(options, splits)}"]
    lines.append(f"columns: {', '.join(selected_columns(options))}")
    lines += map(str, plans[:MAX_SHOWN])
    if len(plans) > MAX_SHOWN:
        lines.append(f"and {counted(len(plans) - MAX_SHOWN, 'more partition')}")
    return "\n".join(lines)


def _sources(options: SourceOptions) -> Iterator[str]:
    yield from options.paths
    if options.servers:
        yield f"brokers {options.servers}"


def _size(splits: Sequence[Split]) -> str:
    return counted(sum(each.size for each in splits), "byte")


def _by_partition(splits: Sequence[Split]) -> Iterator[_PartitionPlan]:
    for (partition, source), group in groupby(
        splits, lambda each: (each.range.partition, each.source)
    ):
        yield _PartitionPlan(partition, source, list(group))
