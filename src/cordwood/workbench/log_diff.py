"""Comparison of two partition directories: two replicas, or a log and a copy of it.

    batches    a batch that has the same bytes in both logs is equal; base offset and leader epoch
               are outside of its checksum, and are compared too
    records    where batches differ, the records are compared by offset, in windows of offsets; a
               batch may be compressed or grouped otherwise and have the same records
    bounds     log start, log end, high watermark

The logs are only read, and brokers may use them. Control records are compared as whole batches.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import Files
from cordwood.records.decoder import Decoder
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import open_reader, read_high_watermark
from cordwood.storage.reader.segment_walk import FoundBatch
from cordwood.workbench.number_ranges import consecutive_ranges
from cordwood.workbench.partition_columns import ColumnsRequest, read_partition
from cordwood.workbench.verify.findings import offsets_text

if TYPE_CHECKING:
    import pyarrow as pa

#: The offsets whose records are compared at a time.
WINDOW: Final = 1 << 16
_COMPARED: Final = ("timestamp", "timestamp_type", "key", "value", "headers")


class OffsetSpan(NamedTuple):
    """Offsets, both ends included."""

    first: int
    last: int

    def __str__(self) -> str:
        """Return the offsets as text."""
        return offsets_text(self.first, self.last + 1)


class LogBounds(NamedTuple):
    """The bounds of a log; `high_watermark` is None without a checkpoint."""

    path: str
    log_start: int
    log_end: int
    high_watermark: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDiff:
    """The differences of two logs.

    `only_a` and `only_b` are offsets with a record in one of them. `changed` are offsets with
    another record, and `epochs` those of batches with another leader epoch. `unreadable` are errors
    of batches that could not be compared; records behind such a batch in its window are not
    compared either.
    """

    a: LogBounds
    b: LogBounds
    first_difference: int | None
    only_a: tuple[OffsetSpan, ...] = ()
    only_b: tuple[OffsetSpan, ...] = ()
    changed: tuple[OffsetSpan, ...] = ()
    epochs: tuple[OffsetSpan, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether both logs have the same records, epochs and bounds."""
        has_difference = self.first_difference is not None or bool(self.unreadable)
        return not has_difference and self.a[1:] == self.b[1:]

    def __str__(self) -> str:
        """Return the differences as lines."""
        lines = [_bounds_line("a", self.a), _bounds_line("b", self.b)]
        if self.is_same:
            return "\n".join((*lines, "same"))
        if self.first_difference is not None:
            lines.append(f"first difference: offset {self.first_difference}")
        found = {
            "only in a": self.only_a,
            "only in b": self.only_b,
            "another record": self.changed,
            "another leader epoch": self.epochs,
            "unreadable": self.unreadable,
        }
        lines += [f"{title}: {each}" for title, ranges in found.items() for each in ranges]
        for name in ("log_start", "log_end", "high_watermark"):
            values = getattr(self.a, name), getattr(self.b, name)
            if values[0] != values[1]:
                lines.append(f"another {name.replace('_', ' ')}: {values[0]} and {values[1]}")
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        named = {name: getattr(self, name)._asdict() for name in ("a", "b")}
        return json.dumps({"is_same": self.is_same, **asdict(self), **named})


@dataclass(slots=True)
class _Differences:
    """Offsets that were found to differ."""

    only_a: list[int] = field(default_factory=list)
    only_b: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    epochs: list[OffsetSpan] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def diff_logs(files: Files, a: str, *, b: str, decoder: Decoder) -> LogDiff:
    """Compare two partition directories; LogDirectoryError if one of them is not one."""
    found = _Differences()
    with closing(open_reader(files, a)) as one, closing(open_reader(files, b)) as other:
        bounds = _bounds(files, one), _bounds(files, other)
        for span in _windows(_unequal(one, other, found)):
            _compare_records(one, other, span, found, decoder=decoder)
    only_a, only_b, changed = map(_ranges, (found.only_a, found.only_b, found.changed))
    firsts = [each.first for ranges in (only_a, only_b, changed, found.epochs) for each in ranges]
    return LogDiff(
        a=bounds[0],
        b=bounds[1],
        first_difference=min(firsts, default=None),
        only_a=only_a,
        only_b=only_b,
        changed=changed,
        epochs=tuple(_joined(found.epochs)),
        unreadable=tuple(found.unreadable),
    )


def _bounds(files: Files, reader: PartitionReader) -> LogBounds:
    bounds, path = reader.offsets(), reader.source.path
    return LogBounds(path, bounds.log_start, bounds.log_end, read_high_watermark(files, path))


def _unequal(
    one: PartitionReader, other: PartitionReader, found: _Differences
) -> Iterator[OffsetSpan]:
    """Yield the offsets of batches without an equal one in the other log."""
    left, right = one.batches(), other.batches()
    first, second = next(left, None), next(right, None)
    while first is not None and second is not None:
        if first.header.base_offset == second.header.base_offset:
            if not _is_equal(one, first, other, second):
                yield _span(first)
                yield _span(second)
            elif first.header.partition_leader_epoch != second.header.partition_leader_epoch:
                found.epochs.append(_span(first))
            first, second = next(left, None), next(right, None)
        elif first.header.base_offset < second.header.base_offset:
            yield _span(first)
            first = next(left, None)
        else:
            yield _span(second)
            second = next(right, None)
    for batch, rest in ((first, left), (second, right)):
        if batch is not None:
            yield _span(batch)
            yield from map(_span, rest)


def _span(batch: FoundBatch) -> OffsetSpan:
    return OffsetSpan(batch.header.base_offset, batch.header.last_offset)


def _is_equal(
    one: PartitionReader, first: FoundBatch, other: PartitionReader, second: FoundBatch
) -> bool:
    """Return whether two batches have the same bytes, except for base offset and leader epoch."""
    a, b = first.header, second.header
    if (a.size, a.crc, a.magic, a.last_offset) != (b.size, b.crc, b.magic, b.last_offset):
        return False
    data, twin = _data(one, first), _data(other, second)
    return data[:_EPOCH] == twin[:_EPOCH] and data[_EPOCH + 4 :] == twin[_EPOCH + 4 :]


#: The position of the leader epoch in a batch.
_EPOCH: Final = 12


def _data(reader: PartitionReader, batch: FoundBatch) -> bytes:
    name = batch.path.rpartition("/")[2]
    return reader.source.read(name, batch.header.size, batch.header.position)


def _windows(spans: Iterator[OffsetSpan]) -> Iterator[OffsetSpan]:
    """Yield the spans, joined and cut into windows."""
    for first, last in _joined(spans):
        for start in range(first, last + 1, WINDOW):
            yield OffsetSpan(start, min(last, start + WINDOW - 1))


def _joined(spans: Iterator[OffsetSpan] | list[OffsetSpan]) -> Iterator[OffsetSpan]:
    """Yield spans in the order of their first offsets, overlapping and adjacent ones as one."""
    known: OffsetSpan | None = None
    for span in spans:
        if known is None or span.first > known.last + 1:
            if known is not None:
                yield known
            known = span
        else:
            known = OffsetSpan(known.first, max(known.last, span.last))
    if known is not None:
        yield known


def _compare_records(
    one: PartitionReader,
    other: PartitionReader,
    span: OffsetSpan,
    found: _Differences,
    *,
    decoder: Decoder,
) -> None:
    """Compare the records of a window of offsets."""
    from pyarrow import compute  # noqa: PLC0415  # 0.2 s

    a, b = (_records(each, span, found, decoder=decoder) for each in (one, other))
    in_b = compute.is_in(a["offset"], value_set=b["offset"])
    in_a = compute.is_in(b["offset"], value_set=a["offset"])
    found.only_a += a["offset"].filter(compute.invert(in_b)).to_pylist()
    found.only_b += b["offset"].filter(compute.invert(in_a)).to_pylist()
    a, b = a.filter(in_b), b.filter(in_a)
    if not a.equals(b):
        # Lists of structures have no comparison in Arrow; only differing windows come here.
        rows = zip(a.to_pylist(), b.to_pylist(), strict=True)
        found.changed += [each["offset"] for each, twin in rows if each != twin]
    markers = [_markers(each, span) for each in (one, other)]
    found.only_a += markers[0].keys() - markers[1].keys()
    found.only_b += markers[1].keys() - markers[0].keys()
    common = markers[0].keys() & markers[1].keys()
    found.changed += [each for each in common if markers[0][each] != markers[1][each]]


def _records(
    reader: PartitionReader, span: OffsetSpan, found: _Differences, *, decoder: Decoder
) -> "pa.Table":
    """Return the records of a window, up to the first batch that is damaged."""
    import pyarrow as pa  # noqa: PLC0415  # 0.2 s

    request = ColumnsRequest(columns=("offset", *_COMPARED), start=span.first, end=span.last + 1)
    rows = read_partition(reader, request, decoder=decoder)
    batches: list[pa.RecordBatch] = []
    try:
        batches.extend(rows)
    except CorruptMessageError as error:
        found.unreadable.append(str(error))
    if batches:
        return pa.Table.from_batches(batches)
    return pa.table({name: pa.array([], pa.int64()) for name in ("offset", *_COMPARED)})


def _markers(reader: PartitionReader, span: OffsetSpan) -> dict[int, bytes]:
    """Return the control batches of a window, without base offset and leader epoch."""
    batches = reader.batches(span.first, span.last + 1)
    return {
        each.header.base_offset: _data(reader, each)[_EPOCH + 4 :]
        for each in batches
        if each.header.is_control
    }


def _ranges(offsets: list[int]) -> tuple[OffsetSpan, ...]:
    return tuple(OffsetSpan(*each) for each in consecutive_ranges(sorted(offsets)))


def _bounds_line(name: str, bounds: LogBounds) -> str:
    mark = "unknown" if bounds.high_watermark is None else bounds.high_watermark
    offsets = offsets_text(bounds.log_start, bounds.log_end)
    if bounds.log_end == bounds.log_start:
        offsets = f"no offsets, ends at {bounds.log_end}"
    return f"{name}: {bounds.path}: {offsets}, high watermark {mark}"
