"""Splits: offset ranges of one partition with about the same number of bytes.

A log is cut after batches that its offset index contains, unless a split would be too small. It is
not cut by offset numbers, because compaction and transactions leave gaps, so a number of offsets
does not predict bytes. Ranges from brokers, and ranges that the index cannot cut, are cut by
offsets if more splits are wanted. A split has offsets and not positions: offsets stay valid when a
segment is rewritten or removed after planning.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.spark.source.coverage import (
    BrokerSource,
    OffsetRange,
    PartitionDirectory,
    RecordSource,
)
from cordwood.storage.files.header_scan import headers
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.reader_segment import ReaderSegment

#: Assumed size of a record where the bytes are unknown.
RECORD_BYTES: Final = 128


class Split(NamedTuple):
    """A range of offsets for one task, its approximate size in bytes, and its source."""

    range: OffsetRange
    size: int
    source: RecordSource


class _CutPoint(NamedTuple):
    """A boundary between batches: the next offset, and the bytes before it."""

    offset: int
    size: int


def cut_range(wanted: OffsetRange, *, split_bytes: int) -> list[Split]:
    """Return the splits of a range on brokers, which do not report its size in bytes."""
    whole = Split(wanted, RECORD_BYTES * (wanted.end - wanted.start), BrokerSource())
    return limit_records([whole], max(1, split_bytes // RECORD_BYTES))


def cut_log(reader: PartitionReader, wanted: OffsetRange, *, split_bytes: int) -> list[Split]:
    """Return the splits of a range of a log, in order; an empty range has none."""
    if wanted.start >= wanted.end:
        return []
    source = PartitionDirectory(reader.source.path)
    cuts = reader.retry_on_change(lambda: list(_cuts(reader, wanted, split_bytes)))
    splits, start, before = [], wanted.start, 0
    for cut in cuts:
        splits.append(
            Split(OffsetRange(wanted.partition, start, cut.offset), cut.size - before, source)
        )
        start, before = cut.offset, cut.size
    return splits


def limit_records(splits: list[Split], most: int) -> list[Split]:
    """Return splits of at most `most` offsets each."""
    limited = []
    for split in splits:
        partition, start, end = split.range
        count = -(-(end - start) // most)
        for first in range(start, end, most):
            part = OffsetRange(partition, first, min(first + most, end))
            limited.append(split._replace(range=part, size=split.size // count))
    return limited


def pack_splits(splits: Sequence[Split], *, tasks: int) -> list[tuple[Split, ...]]:
    """Distribute splits over at most `tasks` tasks, in order, with about the same bytes each."""
    total, passed = sum(each.size for each in splits), 0
    packs: list[list[Split]] = [[] for _ in range(tasks)]
    for split in splits:
        packs[min(passed * tasks // max(total, 1), tasks - 1)].append(split)
        passed += split.size
    return [tuple(each) for each in packs if each]


def pack_by_size(
    splits: Sequence[Split], *, size: int, records: int | None = None
) -> list[tuple[Split, ...]]:
    """Return splits in packs of at most `size` bytes and `records` offsets, in order.

    A split that is larger than a limit has a pack of its own. Neighbours in a pack become one
    split.
    """
    packs: list[tuple[Split, ...]] = []
    pack: list[Split] = []
    left = size
    left_records = most_records = INT64_MAX if records is None else records
    for split in splits:
        count = split.range.end - split.range.start
        if pack and (split.size > left or count > left_records):
            packs.append(tuple(pack))
            pack, left, left_records = [], size, most_records
        _join(pack, split)
        left, left_records = left - split.size, left_records - count
    return [*packs, tuple(pack)] if pack else packs


def _join(pack: list[Split], split: Split) -> None:
    """Add a split to a pack, as a part of the last one if it continues it."""
    if pack and pack[-1].source == split.source and _continues(pack[-1].range, split.range):
        whole = pack[-1].range._replace(end=split.range.end)
        pack[-1] = pack[-1]._replace(range=whole, size=pack[-1].size + split.size)
    else:
        pack.append(split)


def _continues(before: OffsetRange, after: OffsetRange) -> bool:
    return before.partition == after.partition and before.end == after.start


def cut_to_count(splits: list[Split], least: int) -> list[Split]:
    """Return at least `least` splits if there are as many offsets, cut by offsets if necessary."""
    total = sum(split.range.end - split.range.start for split in splits)
    return splits if len(splits) >= least else limit_records(splits, max(1, total // least))


def _cuts(reader: PartitionReader, wanted: OffsetRange, split_bytes: int) -> Iterator[_CutPoint]:
    """Yield cut points with the bytes since the range's start; the last one is the range's end."""
    passed, done, due = 0, 0, split_bytes
    segments = reader.open_segments()
    ends = [each.base_offset for each in segments[1:]] + [wanted.end]
    for segment, end in zip(segments, ends, strict=True):
        if end <= wanted.start or segment.base_offset >= wanted.end:
            continue
        first, last = _positions(segment, wanted)
        while due - passed < last - first:
            cut = _after_indexed(segment, first + due - passed)
            size = passed + cut.size - first
            if wanted.start < cut.offset < wanted.end and size - done >= split_bytes // 2:
                yield _CutPoint(cut.offset, size)
                done, due = size, max(due, size)
            due += split_bytes
        passed += last - first
    yield _CutPoint(wanted.end, passed)


def _positions(segment: ReaderSegment, wanted: OffsetRange) -> tuple[int, int]:
    """Return the positions in a segment where the range begins and ends."""
    first = segment.find(wanted.start) if wanted.start > segment.base_offset else None
    last = segment.find(wanted.end)
    return (
        0 if first is None else first.position,
        segment.view.size if last is None else last.position,
    )


def _after_indexed(segment: ReaderSegment, position: int) -> _CutPoint:
    """Return the end of the last indexed batch that begins before a position."""
    view = segment.view
    entry = view.offset_index.lookup_below_position(position)
    header = next(headers(view.pread, entry.position, view.size))
    return _CutPoint(header.next_offset, header.end)
