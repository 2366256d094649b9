"""Decoder in plain Python: the oracle of the kernels, and their stand-in where there are none.

It reads every batch through `records.record_batch` and `records.legacy_batch`, collects rows, and
converts them to columns when a chunk is full.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cordwood.core.binary import INT64_MAX, Buffer
from cordwood.core.errors import CordwoodError
from cordwood.records.batch_stream import AnyBatch, batch_at, ensure_whole, flat_view
from cordwood.records.decoder import (
    HEADER_COST,
    AbortedProducers,
    BinaryColumn,
    Chunking,
    Column,
    ColumnChunk,
    FixedColumn,
    HeadersColumn,
    Numbers,
    ReadRequest,
    Selection,
    Step,
    step_of,
)
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record import Record
from cordwood.records.record_batch import RecordBatch

ABORT_TYPE: Final = 0
_NONE: Final = -1


class Row(NamedTuple):
    """A record with the fields of its batch."""

    record: Record
    partition_leader_epoch: int = _NONE
    producer_id: int = _NONE
    producer_epoch: int = _NONE


Rows: TypeAlias = Sequence[Row]


class PlainDecoder:
    """A decoder that reads record by record."""

    __slots__ = ()

    def decode(self, buffer: Buffer, request: ReadRequest) -> Iterator[ColumnChunk]:
        """Return the chunks of a buffer; see `Decoder`."""
        return _chunks(flat_view(buffer), request)


def _chunks(view: memoryview, request: ReadRequest) -> Iterator[ColumnChunk]:
    """Yield the chunks of a buffer, including those before a bad batch."""
    rows: list[Row] = []
    pages = _Pages(request)
    reading = _rows_of_batches(view, request)
    while True:
        try:
            rows = next(reading, [])
        except CordwoodError:
            yield from pages.rest()
            raise
        if not rows:
            break
        yield from pages.add(rows)
    yield from pages.rest()


class _Pages:
    """A buffer of rows that yields full chunks."""

    __slots__ = ("_bytes", "_chunking", "_request", "_rows")

    def __init__(self, request: ReadRequest) -> None:
        self._request = request
        self._chunking: Chunking = request.chunking
        self._rows: list[Row] = []
        self._bytes = 0

    def add(self, rows: Rows) -> Iterator[ColumnChunk]:
        """Add the rows of a batch; yield every chunk that becomes full."""
        costs = [row_cost(row.record, self._request.columns) for row in rows]
        if not self._fits(len(rows), sum(costs)):
            yield from self.rest()
        if self._fits(len(rows), sum(costs)):
            self._rows += rows
            self._bytes += sum(costs)
            return
        for row, cost in zip(rows, costs, strict=True):
            if not self._fits(1, cost):
                yield from self.rest()
            self._rows.append(row)
            self._bytes += cost

    def rest(self) -> Iterator[ColumnChunk]:
        """Yield the remaining rows, if any."""
        if self._rows:
            yield lay_out(self._rows, self._request)
        self._rows = []
        self._bytes = 0

    def _fits(self, rows: int, size: int) -> bool:
        return (
            len(self._rows) + rows <= self._chunking.max_rows
            and self._bytes + size <= self._chunking.max_bytes
        )


def _rows_of_batches(view: memoryview, request: ReadRequest) -> Iterator[list[Row]]:
    """Yield the rows of each batch with rows in the selection."""
    selection = request.selection
    aborted = None if selection.aborted is None else AbortedProducers(selection.aborted)
    position = 0
    while (batch := batch_at(view, position)) is not None:
        position = batch.end
        if isinstance(batch, RecordBatch) and batch.base_offset > selection.last_offset:
            return
        if rows := _rows_of_batch(batch, request, aborted):
            yield rows
        if has_sure_offset(batch) and batch.last_offset >= selection.last_offset:
            return
    if request.is_whole:
        ensure_whole(view, position)


def _rows_of_batch(
    batch: AnyBatch, request: ReadRequest, aborted: AbortedProducers | None
) -> list[Row]:
    """Return the wanted rows of a batch, after the whole batch was read."""
    if not isinstance(batch, RecordBatch):
        if is_outside(batch, request.selection):
            return []
        return _selected([Row(record) for record in read_whole(batch, request)], request)
    step = _step_of(batch, request, aborted)
    records = read_whole(batch, request) if step is not Step.SKIP else []
    if step is Step.END and aborted is not None and is_abort_marker(records):
        aborted.end(batch.producer_id)
    if step is not Step.ROWS:
        return []
    epoch, producer = batch.partition_leader_epoch, (batch.producer_id, batch.producer_epoch)
    return _selected([Row(record, epoch, *producer) for record in records], request)


def _step_of(batch: RecordBatch, request: ReadRequest, aborted: AbortedProducers | None) -> Step:
    return step_of(
        aborted,
        producer_id=batch.producer_id,
        last_offset=batch.last_offset,
        is_control=batch.is_control,
        is_transactional=batch.is_transactional,
        is_outside=request.selection.is_outside(
            batch.base_offset, batch.last_offset, max_timestamp=batch.max_timestamp
        ),
    )


def has_sure_offset(batch: AnyBatch) -> bool:
    """Return whether the header gives the last offset; a v0 wrapper or one at 0 does not."""
    if isinstance(batch, RecordBatch) or not batch.is_wrapper:
        return True
    return batch.magic == 1 and batch.last_offset != 0


def is_outside(batch: LegacyBatch, selection: Selection) -> bool:
    """Return whether a message or a wrapper is outside the selection."""
    last = batch.last_offset
    base, last = (last, last) if has_sure_offset(batch) else (0, INT64_MAX)
    return selection.is_outside(base, last, max_timestamp=batch.max_timestamp)


def read_whole(batch: AnyBatch, request: ReadRequest) -> list[Record]:
    """Return all records of a batch, or raise its error."""
    if request.check_crc:
        batch.ensure_valid()
    return list(batch.records(limit=request.limit))


def is_abort_marker(records: Sequence[Record]) -> bool:
    """Return whether the records of a control batch abort a transaction."""
    key = records[0].key if records else None
    return key is not None and len(key) >= 4 and int.from_bytes(key[2:4]) == ABORT_TYPE


def row_cost(record: Record, columns: Sequence[str]) -> int:
    """Return the bytes that a row counts against a chunk's limit."""
    cost = 0
    if "key" in columns:
        cost += len(record.key or b"")
    if "value" in columns:
        cost += len(record.value or b"")
    if "headers" in columns:
        cost += sum(
            HEADER_COST + len(key.encode()) + len(value or b"") for key, value in record.headers
        )
    return cost


def _selected(rows: list[Row], request: ReadRequest) -> list[Row]:
    """Return the rows in both ranges."""
    has = request.selection.has
    return [row for row in rows if has(row.record.offset, row.record.timestamp)]


# -- rows as columns


def lay_out(rows: Rows, request: ReadRequest) -> ColumnChunk:
    """Return rows as the requested columns."""
    return ColumnChunk(len(rows), {name: _LAYOUTS[name](rows) for name in request.columns})


def _fixed(dtype: DTypeLike, number: Callable[[Row], int]) -> Callable[[Rows], Column]:
    def lay(rows: Rows) -> Column:
        numbers: Numbers = np.array([number(row) for row in rows], dtype)
        return FixedColumn(numbers)

    return lay


def _starts(sizes: Sequence[int]) -> NDArray[np.int32]:
    return np.concatenate(([0], np.cumsum(np.array(sizes, np.int64)))).astype(np.int32)


def _binary(values: Sequence[bytes | None]) -> BinaryColumn:
    present = [value is not None for value in values]
    filled = [value or b"" for value in values]
    data = np.frombuffer(b"".join(filled), np.uint8)
    bits = np.packbits(np.array(present, np.bool_), bitorder="little")
    return BinaryColumn(_starts([len(value) for value in filled]), data, bits, present.count(False))


def _headers(rows: Rows) -> HeadersColumn:
    pairs = [pair for row in rows for pair in row.record.headers]
    return HeadersColumn(
        _starts([len(row.record.headers) for row in rows]),
        len(pairs),
        _binary([key.encode() for key, _ in pairs]),
        _binary([value for _, value in pairs]),
    )


_LAYOUTS: Final[dict[str, Callable[[Rows], Column]]] = {
    "offset": _fixed(np.int64, lambda row: row.record.offset),
    "timestamp": _fixed(np.int64, lambda row: row.record.timestamp),
    "timestamp_type": _fixed(np.int8, lambda row: int(row.record.timestamp_type)),
    "key": lambda rows: _binary([row.record.key for row in rows]),
    "value": lambda rows: _binary([row.record.value for row in rows]),
    "headers": _headers,
    "partition_leader_epoch": _fixed(np.int32, lambda row: row.partition_leader_epoch),
    "producer_id": _fixed(np.int64, lambda row: row.producer_id),
    "producer_epoch": _fixed(np.int16, lambda row: row.producer_epoch),
    "sequence": _fixed(np.int32, lambda row: row.record.sequence),
}
