"""Views of the sources at one point in time: topics, ranges and ids of the selected partitions.

A batch read takes one view. A stream keeps its sources open and takes a view per trigger: clients
of brokers hold their connections, and directories are listed again.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.spark.source.broker_offsets import Brokers, broker_offset_reader, open_brokers
from cordwood.spark.source.coverage import AvailableRange, OffsetReader
from cordwood.spark.source.high_watermarks import CountsOf
from cordwood.spark.source.offset_resolution import (
    PartitionExtent,
    check_requested,
    extent_of,
    resolve_topic_ids,
)
from cordwood.spark.source.replica_directories import find_replicas
from cordwood.spark.source.source_options import SourceOptions


class SourceView(NamedTuple):
    """The selected partitions; `readers` answer as long as the sources are open."""

    readers: Sequence[OffsetReader]
    available: Mapping[TopicPartition, Sequence[AvailableRange]]
    extents: Mapping[TopicPartition, PartitionExtent]
    topic_ids: Mapping[str, str]


class OpenSources(NamedTuple):
    """The sources of some options; `brokers` is None for directories alone.

    `counts_of` keeps the replica counts of directories from view to view.
    """

    files: Files
    options: SourceOptions
    brokers: Brokers | None
    counts_of: CountsOf | None = None

    def readers(self) -> list[OffsetReader]:
        """Return offset readers by preference: reading segments does not load a broker."""
        readers: list[OffsetReader] = [
            *find_replicas(self.files, self.options, counts_of=self.counts_of)
        ]
        if self.brokers is not None:
            readers.append(broker_offset_reader(self.brokers, self.options))
        return readers

    def view(self, *, is_checked: bool = True) -> SourceView:
        """Return the present view; `is_checked` rejects requested partitions that do not exist."""
        readers = self.readers()
        partitions = {each for reader in readers for each in reader.partitions()}
        if is_checked:
            topics = {name for reader in readers for name in reader.topics()}
            check_requested(self.options, topics=topics, partitions=partitions)
        wanted = set(filter(self.options.pushed_filters.may_match, partitions))
        topic_ids = resolve_topic_ids(readers, wanted)
        available = available_ranges_of(readers, wanted)
        extents = {partition: extent_of(each) for partition, each in available.items()}
        return SourceView(readers, available, extents, topic_ids)


@contextmanager
def open_sources(
    files: Files, options: SourceOptions, *, counts_of: CountsOf | None = None
) -> Iterator[OpenSources]:
    """Yield the sources; clients of brokers are open during the block."""
    with open_brokers(options) if options.servers else nullcontext() as brokers:
        yield OpenSources(files, options, brokers, counts_of)


def available_ranges_of(
    readers: Sequence[OffsetReader], wanted: Collection[TopicPartition]
) -> Mapping[TopicPartition, list[AvailableRange]]:
    """Return the available ranges of each partition, in the order of the readers."""
    found: dict[TopicPartition, list[AvailableRange]] = {}
    for reader in readers:
        for partition, ranges in reader.available(wanted).items():
            found.setdefault(partition, []).extend(ranges)
    return found
