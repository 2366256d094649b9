"""Offsets of a log, for an audit: the content of each offset of a split.

    record      a record that the table must have
    aborted     a record of an aborted transaction, for a table of committed records
    marker      a transaction marker
    compacted   no record inside a batch: removed by compaction
    gap         no record between batches: removed by compaction if the log was cleaned there
    unknown     no record from a broker; brokers do not report the reason, a directory does

Only offsets are decoded; the rest is in batch headers.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from cordwood.core.system import SystemFiles
from cordwood.core.types import TopicPartition
from cordwood.records.batch_header import BatchHeader
from cordwood.spark.jobs.tables.offset_comparison import KindSpans, OffsetKind
from cordwood.spark.jobs.tables.offset_spans import (
    NO_SPANS,
    Offsets,
    OffsetSpans,
    find_spans,
    merge_spans,
    pack_spans,
    subtract_spans,
    unpack_spans,
)
from cordwood.spark.source.coverage import BrokerSource
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_reader import read_split
from cordwood.spark.source.splits import Split
from cordwood.storage.reader.offset_gaps import has_lost_records, has_start_offset
from cordwood.storage.reader.path_resolution import open_reader


class SplitOffsets(NamedTuple):
    """The content of a split, packed by a task.

    Offsets without a span of their own are of the kind `rest`. The log is cleaned below
    `cleaned_to`.
    """

    partition: TopicPartition
    start: int
    end: int
    spans: Mapping[OffsetKind, bytes]
    rest: OffsetKind
    cleaned_to: int = 0

    def parts(self) -> Iterator[KindSpans]:
        """Yield the spans of each kind."""
        for kind, data in self.spans.items():
            yield KindSpans.of(unpack_spans(data), kind)


class _SplitHeaders(NamedTuple):
    """The content of a split by its batch headers."""

    markers: OffsetSpans
    gaps: OffsetSpans
    cleaned_to: int
    has_transactions: bool


def offset_values(column: pa.Array) -> Offsets:
    """Return the numbers of a column of offsets without nulls, as a view."""
    values = np.frombuffer(column.buffers()[1], np.int64) if len(column) else np.empty(0, np.int64)
    return values[column.offset : column.offset + len(column)]


def find_offsets(
    split: Split, advance: Callable[[int], object], *, options: SourceOptions
) -> SplitOffsets:
    """Return the content of a split of a log."""
    partition, start, end = split.range
    if isinstance(split.source, BrokerSource):
        rest, cleaned_to, found = OffsetKind.UNKNOWN, 0, _records(split, options)
    else:
        headers = _read_headers(split, split.source.path)
        rest, cleaned_to = OffsetKind.COMPACTED, headers.cleaned_to
        # Without transactions nothing is aborted, so one read suffices.
        own = options if headers.has_transactions else replace(options, is_committed=False)
        found = _records(split, own)
        for kind, spans in (
            (OffsetKind.MARKER, headers.markers),
            (OffsetKind.GAP, headers.gaps),
        ):
            found[kind] = subtract_spans(spans.between(start, end), merge_spans(found.values()))
    advance(split.size)
    packed = {kind: pack_spans(spans) for kind, spans in found.items() if spans.count}
    return SplitOffsets(partition, start, end, packed, rest, cleaned_to)


def _records(split: Split, options: SourceOptions) -> dict[OffsetKind, OffsetSpans]:
    """Return the wanted records, and the other ones."""
    found = {OffsetKind.RECORD: _offsets(split, options)}
    if options.is_committed:
        all_of_them = _offsets(split, replace(options, is_committed=False))
        found[OffsetKind.ABORTED] = subtract_spans(all_of_them, found[OffsetKind.RECORD])
    return found


def _offsets(split: Split, options: SourceOptions) -> OffsetSpans:
    batches = read_split(split, ("offset",), options=options)
    return merge_spans(find_spans(offset_values(batch.column(0))) for batch in batches)


def _read_headers(split: Split, path: str) -> _SplitHeaders:
    _, start, end = split.range
    with closing(open_reader(SystemFiles(), path)) as reader:
        headers = (found.header for found in reader.batches(start, end))
        return _scan_headers(headers, start, end, cleaned_to=reader.checkpoints().cleaned_to)


def _scan_headers(
    headers: Iterable[BatchHeader], start: int, end: int, *, cleaned_to: int
) -> _SplitHeaders:
    markers, gaps, has_transactions = _SpanBuilder(), _SpanBuilder(), False
    offset = start
    for header in headers:
        if has_start_offset(header) and header.base_offset > offset:
            gaps.add(offset, header.base_offset)
        if header.is_control:
            markers.add(max(header.base_offset, offset), header.next_offset)
        if has_lost_records(header):
            cleaned_to = max(cleaned_to, header.next_offset)
        has_transactions |= header.is_transactional
        offset = header.next_offset
    if offset < end:
        gaps.add(offset, end)
    return _SplitHeaders(markers.spans(), gaps.spans(), cleaned_to, has_transactions)


class _SpanBuilder:
    """Spans in the order of their offsets, a few bytes each; adjacent ones become one."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts = array("q")
        self._ends = array("q")

    def add(self, start: int, end: int) -> None:
        if self._ends and self._ends[-1] == start:
            self._ends[-1] = end
        else:
            self._starts.append(start)
            self._ends.append(end)

    def spans(self) -> OffsetSpans:
        if not self._starts:
            return NO_SPANS
        return OffsetSpans(np.array(self._starts, np.int64), np.array(self._ends, np.int64))
