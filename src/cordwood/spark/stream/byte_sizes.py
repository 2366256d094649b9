"""Bytes of offset ranges, for `maxBytesPerTrigger`.

Segments answer from their offset indexes, and are cut after an indexed batch. Brokers do not report
the bytes between two offsets, so the average bytes of an offset are used (`average_sizes`).
"""

from collections.abc import Mapping, Sequence

from cordwood.core.binary import INT64_MAX
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import (
    AvailableRange,
    OffsetRange,
    PartitionDirectory,
    PlannedRead,
    cover,
)
from cordwood.spark.source.directory_offsets import open_log
from cordwood.spark.source.splits import RECORD_BYTES, cut_log


class SourceByteSizes:
    """Answers `ByteSizes` from the sources of a view."""

    def __init__(
        self,
        files: Files,
        available: Mapping[TopicPartition, Sequence[AvailableRange]],
        averages: Mapping[TopicPartition, float],
    ) -> None:
        self._files = files
        self._available = available
        self._averages = averages

    def size_of(self, wanted: OffsetRange) -> int:
        return sum(self._size(each) for each in self._reads(wanted))

    def end_within(self, wanted: OffsetRange, size: int) -> int:
        left = size
        for read in self._reads(wanted):
            own = self._size(read)
            if own > left:
                return max(self._end_within(read, max(1, left)), wanted.start + 1)
            left -= own
        return wanted.end

    def _reads(self, wanted: OffsetRange) -> list[PlannedRead]:
        reads, _ = cover(wanted, self._available[wanted.partition])
        return reads

    def _size(self, read: PlannedRead) -> int:
        match read.source:
            case PartitionDirectory(path=path):
                with open_log(self._files, path) as reader:
                    return sum(
                        each.size for each in cut_log(reader, read.range, split_bytes=INT64_MAX)
                    )
            case _:
                count = read.range.end - read.range.start
                return max(1, round(count * self._average(read.range.partition)))

    def _end_within(self, read: PlannedRead, size: int) -> int:
        start, end = read.range.start, read.range.end
        match read.source:
            case PartitionDirectory(path=path):
                with open_log(self._files, path) as reader:
                    cut = cut_log(reader, read.range, split_bytes=size)[0]
                if cut.range.end < end:
                    return cut.range.end
                return start + max(1, (end - start) * size // cut.size)  # no indexed batch
            case _:
                average = self._average(read.range.partition)
                return min(end, start + max(1, int(size / average)))

    def _average(self, partition: TopicPartition) -> float:
        return self._averages.get(partition, RECORD_BYTES)
