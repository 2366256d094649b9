"""What one task reads: a range of offsets of one partition, cut so that tasks have as many bytes.

A log is cut behind batches that its offset index knows, if that leaves no split too small, and not
in the middle of offsets: compaction and transactions leave holes, so numbers of offsets say little
about bytes. What brokers have, and what the index cannot cut, is cut by offsets after all where
more splits are wanted. Ranges are carried as offsets, which stay true when a segment is rewritten
or removed after the cut.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from cordwood.spark.holdings import Range
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_segments import ReaderSegment
from cordwood.storage.scan import headers

#: What a record counts where its bytes are not known.
RECORD_BYTES: Final = 128


class Split(NamedTuple):
    """A range for one task, about how many bytes it has, and where: a directory, else brokers."""

    range: Range
    size: int
    path: str | None


class _Cut(NamedTuple):
    """A place between two batches: the offset before which the log may be cut, and bytes so far."""

    offset: int
    size: int


def cut_range(wanted: Range, *, split_bytes: int) -> list[Split]:
    """Return the splits of a range that brokers have, who do not say how many bytes it has."""
    whole = Split(wanted, RECORD_BYTES * (wanted.end - wanted.start), None)
    return limit_records([whole], max(1, split_bytes // RECORD_BYTES))


def cut_log(reader: PartitionReader, wanted: Range, *, split_bytes: int) -> list[Split]:
    """Return the splits of a range of a log, in order; none where it has no offsets."""
    if wanted.start >= wanted.end:
        return []
    path = reader.source.path
    cuts = reader.patiently(lambda: list(_cuts(reader, wanted, split_bytes)))
    splits, start, before = [], wanted.start, 0
    for cut in cuts:
        splits.append(Split(Range(wanted.partition, start, cut.offset), cut.size - before, path))
        start, before = cut.offset, cut.size
    return splits


def limit_records(splits: list[Split], most: int) -> list[Split]:
    """Return splits that have at most so many offsets each."""
    limited = []
    for split in splits:
        partition, start, end = split.range
        count = -(-(end - start) // most)
        for first in range(start, end, most):
            part = Range(partition, first, min(first + most, end))
            limited.append(split._replace(range=part, size=split.size // count))
    return limited


def pack(splits: Sequence[Split], *, tasks: int) -> list[tuple[Split, ...]]:
    """Return what each of at most so many tasks reads: splits in order, of much the same bytes."""
    total, passed = sum(each.size for each in splits), 0
    packs: list[list[Split]] = [[] for _ in range(tasks)]
    for split in splits:
        packs[min(passed * tasks // max(total, 1), tasks - 1)].append(split)
        passed += split.size
    return [tuple(each) for each in packs if each]


def cut_into(splits: list[Split], least: int) -> list[Split]:
    """Return at least so many splits, as far as there are offsets, cut by offsets where need be."""
    total = sum(split.range.end - split.range.start for split in splits)
    return splits if len(splits) >= least else limit_records(splits, max(1, total // least))


def _cuts(reader: PartitionReader, wanted: Range, split_bytes: int) -> Iterator[_Cut]:
    """Yield where to cut, with the bytes since the range's start; the last one is its end."""
    passed, done, due = 0, 0, split_bytes
    segments = reader.opened()
    ends = [each.base_offset for each in segments[1:]] + [wanted.end]
    for segment, end in zip(segments, ends, strict=True):
        if end <= wanted.start or segment.base_offset >= wanted.end:
            continue
        first, last = _positions(segment, wanted)
        while due - passed < last - first:
            cut = _behind_indexed(segment, first + due - passed)
            size = passed + cut.size - first
            if wanted.start < cut.offset < wanted.end and size - done >= split_bytes // 2:
                yield _Cut(cut.offset, size)
                done, due = size, max(due, size)
            due += split_bytes
        passed += last - first
    yield _Cut(wanted.end, passed)


def _positions(segment: ReaderSegment, wanted: Range) -> tuple[int, int]:
    """Return where in a segment the range begins and ends."""
    first = segment.find(wanted.start) if wanted.start > segment.base_offset else None
    last = segment.find(wanted.end)
    return (
        0 if first is None else first.position,
        segment.view.size if last is None else last.position,
    )


def _behind_indexed(segment: ReaderSegment, position: int) -> _Cut:
    """Return the place behind the last indexed batch that begins before a position."""
    view = segment.view
    entry = view.offset_index.below_position(position)
    header = next(headers(view.pread, entry.position, view.size))
    return _Cut(header.next_offset, header.end)
