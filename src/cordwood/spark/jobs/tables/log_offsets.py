"""Offsets of a log, for an audit: the content of each offset of a split.

    record      a record that the table must have
    aborted     a record of an aborted transaction, for a table of committed records
    marker      a transaction marker
    compacted   no record inside a batch: removed by compaction
    gap         no record between batches: removed by compaction if the log was cleaned there
    untold      no record from a broker; brokers do not report the reason, a directory does

Only offsets are decoded; the rest is in batch headers.
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
from cordwood.records.batch_header import BatchHeader
from cordwood.spark.jobs.tables.offset_comparison import OffsetKind
from cordwood.spark.jobs.tables.offset_spans import (
    Layer,
    LayerSpan,
    OffsetSpan,
    make_layer,
    merge_spans,
    pack_spans,
    stack,
    unpack_spans,
)
from cordwood.spark.runtime.arrow_scalars import integer_scalar
from cordwood.spark.source.coverage import BrokerSource
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_reader import read_split
from cordwood.spark.source.splits import Split
from cordwood.storage.reader.offset_gaps import has_lost_records, has_start_offset
from cordwood.storage.reader.path_resolution import open_reader

_ONE: Final = integer_scalar(1, pa.int64())


class SplitOffsets(NamedTuple):
    """The content of a split, packed by a task; the log is cleaned below `cleaned_to`."""

    partition: TopicPartition
    spans: Mapping[OffsetKind, bytes]
    cleaned_to: int = 0

    def parts(self) -> Iterator[LayerSpan[OffsetKind]]:
        """Yield the spans of each kind."""
        for kind, data in self.spans.items():
            yield from make_layer(unpack_spans(data), kind)


class _SplitHeaders(NamedTuple):
    """The content of a split by its batch headers."""

    markers: list[OffsetSpan]
    gaps: list[OffsetSpan]
    cleaned_to: int
    has_transactions: bool


def spans_of(offsets: pa.Array) -> list[OffsetSpan]:
    """Return the spans of offsets, which may be unordered and may repeat."""
    if not len(offsets):
        return []
    steps = _steps(offsets)
    if pc.any(pc.less(steps, _ONE)).as_py():
        offsets = offsets.take(pc.array_sort_indices(offsets))
        steps = _steps(offsets)
    ends = pc.indices_nonzero(pc.not_equal(steps, _ONE))
    lasts = [*offsets.take(ends).to_pylist(), offsets[-1].as_py()]
    firsts = [offsets[0].as_py(), *offsets[1:].take(ends).to_pylist()]
    return [OffsetSpan(first, last + 1) for first, last in zip(firsts, lasts, strict=True)]


def find_offsets(
    split: Split, advance: Callable[[int], object], *, options: SourceOptions
) -> SplitOffsets:
    """Return the content of a split of a log."""
    partition, start, end = split.range
    whole = [OffsetSpan(start, end)]
    if isinstance(split.source, BrokerSource):
        cleaned_to = 0
        layers: list[Layer[OffsetKind]] = [
            *_records(split, options),
            make_layer(whole, OffsetKind.UNTOLD),
        ]
    else:
        headers = _read_headers(split, split.source.path)
        cleaned_to = headers.cleaned_to
        # Without transactions nothing is aborted, so one read suffices.
        own = options if headers.has_transactions else replace(options, is_committed=False)
        layers = [
            *_records(split, own),
            make_layer(headers.markers, OffsetKind.MARKER),
            make_layer(headers.gaps, OffsetKind.GAP),
            make_layer(whole, OffsetKind.COMPACTED),
        ]
    advance(split.size)
    found: Layer[OffsetKind] = reduce(stack, layers)
    return SplitOffsets(partition, _by_kind(found), cleaned_to)


def _records(split: Split, options: SourceOptions) -> list[list[LayerSpan[OffsetKind]]]:
    """Return the layer of wanted records, and below it the layer of all records."""
    layers = [make_layer(_offsets(split, options), OffsetKind.RECORD)]
    if options.is_committed:
        all_of_them = _offsets(split, replace(options, is_committed=False))
        layers.append(make_layer(all_of_them, OffsetKind.ABORTED))
    return layers


def _offsets(split: Split, options: SourceOptions) -> list[OffsetSpan]:
    batches = read_split(split, ("offset",), options=options)
    return merge_spans(span for batch in batches for span in spans_of(batch.column(0)))


def _steps(offsets: pa.Array) -> pa.Array:
    return pc.subtract(offsets[1:], offsets[:-1])


def _read_headers(split: Split, path: str) -> _SplitHeaders:
    _, start, end = split.range
    with closing(open_reader(SystemFiles(), path)) as reader:
        headers = (found.header for found in reader.batches(start, end))
        return _scan_headers(
            headers, OffsetSpan(start, end), cleaned_to=reader.checkpoints().cleaned_to
        )


def _scan_headers(
    headers: Iterable[BatchHeader], span: OffsetSpan, *, cleaned_to: int
) -> _SplitHeaders:
    markers, gaps, has_transactions = list[OffsetSpan](), list[OffsetSpan](), False
    offset, end = span
    for header in headers:
        if has_start_offset(header) and header.base_offset > offset:
            gaps.append(OffsetSpan(offset, header.base_offset))
        if header.is_control:
            markers.append(OffsetSpan(max(header.base_offset, offset), header.next_offset))
        if has_lost_records(header):
            cleaned_to = max(cleaned_to, header.next_offset)
        has_transactions |= header.is_transactional
        offset = header.next_offset
    if offset < end:
        gaps.append(OffsetSpan(offset, end))
    return _SplitHeaders(markers, gaps, cleaned_to, has_transactions)


def _by_kind(parts: Iterable[LayerSpan[OffsetKind]]) -> dict[OffsetKind, bytes]:
    spans: dict[OffsetKind, list[OffsetSpan]] = {}
    for start, end, kind in parts:
        spans.setdefault(kind, []).append(OffsetSpan(start, end))
    return {kind: pack_spans(merge_spans(each)) for kind, each in spans.items()}
