"""What a task of an audit finds in a log: each offset of a split, and what is there.

    record      a record that belongs into the table
    aborted     one of an aborted transaction, where the table has committed ones
    marker      the end of a transaction
    compacted   nothing, inside of a batch: a cleaner has taken it
    gap         nothing, between batches: a cleaner has taken it too if it has been there
    untold      nothing that a broker would send; why not, its directory alone tells

Only offsets are decoded; headers say the rest.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import reduce
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from cordwood.core.system import SystemFiles
from cordwood.core.types import TopicPartition
from cordwood.records.header import BatchHeader
from cordwood.spark.jobs.audit_compare import Kind
from cordwood.spark.jobs.audit_runs import Layer, Part, Run, above, joined, layer, packed, unpacked
from cordwood.spark.options import SourceOptions
from cordwood.spark.reading import read_split
from cordwood.spark.scalars import number
from cordwood.spark.splits import Split
from cordwood.storage.reader_gaps import has_lost_records, says_start
from cordwood.storage.reader_place import open_reader

_ONE: Final = number(1, pa.int64())


class LogFound(NamedTuple):
    """What a split has, on its way from a task; a cleaner has been below `cleaned_to`."""

    partition: TopicPartition
    runs: Mapping[Kind, bytes]
    cleaned_to: int = 0

    def parts(self) -> Iterator[Part[Kind]]:
        """Yield the parts of each kind."""
        for kind, data in self.runs.items():
            yield from layer(unpacked(data), kind)


class _Holes(NamedTuple):
    """What headers say of a split."""

    markers: list[Run]
    gaps: list[Run]
    cleaned_to: int
    has_transactions: bool


def runs_of(offsets: pa.Array) -> list[Run]:
    """Return the runs of offsets, which are in any order and may come again."""
    if not len(offsets):
        return []
    steps = _steps(offsets)
    if pc.any(pc.less(steps, _ONE)).as_py():
        offsets = offsets.take(pc.array_sort_indices(offsets))
        steps = _steps(offsets)
    ends = pc.indices_nonzero(pc.not_equal(steps, _ONE))
    lasts = [*offsets.take(ends).to_pylist(), offsets[-1].as_py()]
    firsts = [offsets[0].as_py(), *offsets[1:].take(ends).to_pylist()]
    return [Run(first, last + 1) for first, last in zip(firsts, lasts, strict=True)]


def find_offsets(
    split: Split, tell: Callable[[int], object], *, options: SourceOptions
) -> LogFound:
    """Return what a split of a log has."""
    partition, start, end = split.range
    whole = [Run(start, end)]
    if split.path is None:
        cleaned_to = 0
        layers: list[Layer[Kind]] = [*_records(split, options), layer(whole, Kind.UNTOLD)]
    else:
        holes = _holes(split, split.path)
        cleaned_to = holes.cleaned_to
        told = options if holes.has_transactions else replace(options, is_committed=False)
        layers = [
            *_records(split, told),
            layer(holes.markers, Kind.MARKER),
            layer(holes.gaps, Kind.GAP),
            layer(whole, Kind.COMPACTED),
        ]
    tell(split.size)
    found: Layer[Kind] = reduce(above, layers)
    return LogFound(partition, _by_kind(found), cleaned_to)


def _records(split: Split, options: SourceOptions) -> list[list[Part[Kind]]]:
    """Return the records that are wanted, and below them all that there are."""
    layers = [layer(_offsets(split, options), Kind.RECORD)]
    if options.is_committed:
        all_of_them = _offsets(split, replace(options, is_committed=False))
        layers.append(layer(all_of_them, Kind.ABORTED))
    return layers


def _offsets(split: Split, options: SourceOptions) -> list[Run]:
    batches = read_split(split, ("offset",), options=options)
    return joined(run for batch in batches for run in runs_of(batch.column(0)))


def _steps(offsets: pa.Array) -> pa.Array:
    return pc.subtract(offsets[1:], offsets[:-1])


def _holes(split: Split, path: str) -> _Holes:
    _, start, end = split.range
    with closing(open_reader(SystemFiles(), path)) as reader:
        headers = (found.header for found in reader.batches(start, end))
        return _holes_of(headers, Run(start, end), cleaned_to=reader.beside().cleaned_to)


def _holes_of(headers: Iterable[BatchHeader], run: Run, *, cleaned_to: int) -> _Holes:
    markers, gaps, has_transactions = list[Run](), list[Run](), False
    offset, end = run
    for header in headers:
        if says_start(header) and header.base_offset > offset:
            gaps.append(Run(offset, header.base_offset))
        if header.is_control:
            markers.append(Run(max(header.base_offset, offset), header.next_offset))
        if has_lost_records(header):
            cleaned_to = max(cleaned_to, header.next_offset)
        has_transactions |= header.is_transactional
        offset = header.next_offset
    if offset < end:
        gaps.append(Run(offset, end))
    return _Holes(markers, gaps, cleaned_to, has_transactions)


def _by_kind(parts: Iterable[Part[Kind]]) -> dict[Kind, bytes]:
    runs: dict[Kind, list[Run]] = {}
    for start, end, kind in parts:
        runs.setdefault(kind, []).append(Run(start, end))
    return {kind: packed(joined(each)) for kind, each in runs.items()}
