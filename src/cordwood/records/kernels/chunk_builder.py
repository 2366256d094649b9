"""Builder of one chunk after the other: its slab, the words for the kernels, and its completion."""

from typing import Final

import numpy as np
from numpy.typing import DTypeLike

from cordwood.records.decoder import (
    BinaryColumn,
    Column,
    ColumnChunk,
    FixedColumn,
    HeadersColumn,
    Numbers,
    ReadRequest,
    ViewColumn,
)
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.block import new_block
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.kernels.slab_pool import SlabLayout, SlabPool

_DTYPES: Final[dict[str, tuple[int, DTypeLike]]] = {
    "offset": (at.P_OFFSET, np.int64),
    "timestamp": (at.P_TIMESTAMP, np.int64),
    "timestamp_type": (at.P_TIMESTAMP_TYPE, np.int8),
    "partition_leader_epoch": (at.P_LEADER_EPOCH, np.int32),
    "producer_id": (at.P_PRODUCER_ID, np.int64),
    "producer_epoch": (at.P_PRODUCER_EPOCH, np.int16),
    "sequence": (at.P_SEQUENCE, np.int32),
}
#: A view addresses 31 bits.
_WINDOW: Final = (1 << 31) - 1
#: A chunk that uses less than this fraction of its slab is copied out of it.
SMALL_PART: Final = 16
#: The size of a row without its bytes: its numbers, and the ends of its bytes.
_ROW_BYTES: Final = 64


class ChunkBuilder:
    """A builder of chunks, each in a slab without other references."""

    __slots__ = ("_buffers", "_carving", "_pool", "_request", "_slab", "block", "plan", "state")

    def __init__(self, request: ReadRequest, pool: SlabPool) -> None:
        self._request = request
        self._pool = pool
        self._carving = SlabLayout(request.columns, is_view=request.is_view)
        self._buffers: list[tuple[Bytes, int]] = []
        self._slab: Bytes | None = None
        self.block: Bytes = new_block()
        self.plan: Words = np.zeros(at.PLAN_WORDS, np.int64)
        self.state: Words = np.zeros(at.STATE_WORDS, np.int64)
        selection = request.selection
        self.plan[at.P_START] = selection.first_offset
        self.plan[at.P_LAST] = selection.last_offset
        self.plan[at.P_MIN_TIMESTAMP] = selection.min_timestamp
        self.plan[at.P_MAX_TIMESTAMP] = selection.max_timestamp
        self.plan[at.P_IS_VIEW] = request.is_view
        self.plan[at.P_CHECK_CRC] = request.check_crc

    @property
    def slab(self) -> Bytes:
        """Return the slab of the present chunk, started on demand."""
        if self._slab is None:
            chunking = self._request.chunking
            self._begin(chunking.max_rows, chunking.max_bytes)
        assert self._slab is not None
        return self._slab

    @property
    def rows(self) -> int:
        """Return the rows of the present chunk."""
        return int(self.state[at.F_ROWS])

    def grow(self) -> None:
        """Enlarge the chunk for a single record that is larger than a chunk."""
        assert self.rows == 0, "only an empty chunk can grow"
        self.close()
        self._begin(1, max(int(self.state[at.F_NEEDED]), self._request.chunking.max_bytes))

    def _begin(self, max_rows: int, max_bytes: int) -> None:
        """Start an empty chunk: no row is null until a kernel marks it."""
        size = self._carving.carve(self.plan, max_rows, max_bytes)
        is_usual = max_bytes == self._request.chunking.max_bytes
        self._slab = slab = self._pool.take(size) if is_usual else np.empty(size, np.uint8)
        self.state[at.FIRST_COUNTER : at.COUNTERS_END] = 0
        headers = max_bytes // at.HEADER_COST
        for word, rows in (
            (at.P_KEY_BITS, max_rows),
            (at.P_VALUE_BITS, max_rows),
            (at.P_HEADER_VALUE_BITS, headers),
        ):
            if (begin := self.plan[word]) >= 0:
                slab[begin : begin + rows // 8 + 1] = 0xFF
        for word in (at.P_KEY, at.P_VALUE, at.P_HEADERS, at.P_HEADER_KEY, at.P_HEADER_VALUE):
            if (begin := self.plan[word]) >= 0:
                slab[begin : begin + 4] = 0

    # -- sources of views

    def bind(self, source: Bytes, position: int, end: int) -> None:
        """Make a range of `source` addressable for this chunk's views."""
        if not self._request.is_view:
            return
        for index, (known, origin) in enumerate(self._buffers):
            if known is source and origin <= position and end - origin <= _WINDOW:
                self._point(index, origin)
                return
        self._buffers.append((source, position))
        self._point(len(self._buffers) - 1, position)

    def forget(self) -> None:
        """Drop unreferenced sources of views; the chunk is empty."""
        assert self.rows == 0, "only an empty chunk has no views"
        self._buffers = []

    def _point(self, index: int, origin: int) -> None:
        self.plan[at.P_VIEW_BUFFER] = index
        self.plan[at.P_VIEW_ORIGIN] = origin

    # -- the end of a chunk

    def take(self) -> ColumnChunk:
        """Return the chunk; its slab returns to the pool once it has no references.

        A small chunk is copied, so that a reader that keeps it does not keep a whole slab.
        """
        rows, slab = self.rows, self.slab
        columns = {name: self._column(name, slab) for name in self._request.columns}
        if self._is_small():
            columns = {name: _copied(column) for name, column in columns.items()}
        self.close()
        self._buffers = []
        self.state[at.FIRST_COUNTER : at.COUNTERS_END] = 0
        return ColumnChunk(rows, columns)

    def close(self) -> None:
        """Return a started slab to the pool."""
        if self._slab is not None:
            self._pool.give_back(self._slab)
            self._slab = None

    def _is_small(self) -> bool:
        """Return whether a copy of the chunk is cheap compared with keeping the slab."""
        counts: list[int] = self.state[at.F_KEY_BYTES : at.F_KEY_NULLS].tolist()
        used = _ROW_BYTES * self.rows + at.HEADER_COST * int(self.state[at.F_HEADERS])
        return SMALL_PART * (used + sum(counts)) < len(self.slab)

    def _column(self, name: str, slab: Bytes) -> Column:
        if name == "headers":
            return self._headers(slab)
        if name == "key":
            return self._bytes(slab, at.P_KEY, self.rows, at.F_KEY_BYTES, at.F_KEY_NULLS)
        if name == "value":
            return self._bytes(slab, at.P_VALUE, self.rows, at.F_VALUE_BYTES, at.F_VALUE_NULLS)
        word, dtype = _DTYPES[name]
        begin = int(self.plan[word])
        numbers: Numbers = slab[begin : begin + self.rows * np.dtype(dtype).itemsize].view(dtype)
        return FixedColumn(numbers)

    def _bytes(
        self, slab: Bytes, word: int, rows: int, used: int, nulls: int
    ) -> BinaryColumn | ViewColumn:
        """Return a column whose starts, bits and data are in three words of the plan."""
        starts, bits, data = (int(place) for place in self.plan[word : word + 3])
        null_count = int(self.state[nulls])
        valid = slab[bits : bits + rows // 8 + 1]
        if self._request.is_view and word in (at.P_KEY, at.P_VALUE):
            views = slab[starts : starts + 16 * rows]
            buffers = tuple(source[begin : begin + _WINDOW] for source, begin in self._buffers)
            return ViewColumn(views, buffers, valid, null_count)
        filled = slab[data : data + int(self.state[used])]
        return BinaryColumn(
            slab[starts : starts + 4 * (rows + 1)].view(np.int32), filled, valid, null_count
        )

    def _headers(self, slab: Bytes) -> HeadersColumn:
        count = int(self.state[at.F_HEADERS])
        starts, keys, data = (
            int(self.plan[word]) for word in (at.P_HEADERS, at.P_HEADER_KEY, at.P_HEADER_KEY_DATA)
        )
        used = int(self.state[at.F_HEADER_KEY_BYTES])
        values = self._bytes(
            slab, at.P_HEADER_VALUE, count, at.F_HEADER_VALUE_BYTES, at.F_HEADER_NULLS
        )
        assert isinstance(values, BinaryColumn)
        return HeadersColumn(
            slab[starts : starts + 4 * (self.rows + 1)].view(np.int32),
            count,
            BinaryColumn(
                slab[keys : keys + 4 * (count + 1)].view(np.int32),
                slab[data : data + used],
                slab[:0],
                0,
            ),
            values,
        )


def _copied(column: Column) -> Column:
    """Return a column in bytes of its own; the sources of views are not copied."""
    match column:
        case FixedColumn():
            return FixedColumn(column.numbers.copy())
        case BinaryColumn():
            return _copied_bytes(column)
        case ViewColumn():
            return column._replace(views=column.views.copy(), bits=column.bits.copy())
        case HeadersColumn():
            keys, values = _copied_bytes(column.keys), _copied_bytes(column.values)
            return HeadersColumn(column.starts.copy(), column.pairs, keys, values)


def _copied_bytes(column: BinaryColumn) -> BinaryColumn:
    return BinaryColumn(column.starts.copy(), column.data.copy(), column.bits.copy(), column.nulls)
