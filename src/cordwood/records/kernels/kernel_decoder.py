"""Decoder made of kernels: runs of batches are checked, decompressed and filled into chunks.

No step works record by record, and for uncompressed batches only the checksum works batch by batch.
Errors are not worded here: where a kernel stops at a batch, the plain reader reads that batch again
and raises the error.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cordwood.core.binary import INT64_MAX, Buffer
from cordwood.core.errors import CordwoodError, CorruptMessageError
from cordwood.records.batch_location import CODEC_BITS
from cordwood.records.batch_stream import batch_at, ensure_whole, flat_view
from cordwood.records.compression import Codec
from cordwood.records.decoder import AbortedProducers, ColumnChunk, ReadRequest, Step, step_of
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.arena import Arena, read_only
from cordwood.records.kernels.chunk_builder import ChunkBuilder
from cordwood.records.kernels.chunk_fill import fill
from cordwood.records.kernels.crc32c import first_wrong
from cordwood.records.kernels.header_scan import scan
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.kernels.legacy_messages import fill_messages
from cordwood.records.kernels.slab_pool import SlabPool
from cordwood.records.kernels.wrapper import Wrapper, open_wrapper, packed_messages, prepare
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.plain_decoder import is_abort_marker, is_outside, read_whole
from cordwood.records.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT

#: Size of a run: it stays in the processor's cache between checksum and decoding.
GROUP_BYTES: Final = 512 << 10
GROUP_ROWS: Final = 1024
#: Size of decompressed batches that are filled at once: less than the cache.
FILL_BYTES: Final = 768 << 10

_TXN_COLUMNS: Final = [
    at.T_ACTION,
    at.T_POSITION,
    at.T_BASE_OFFSET,
    at.T_LAST_DELTA,
    at.T_PRODUCER_ID,
    at.T_ATTRIBUTES,
]
_CODECS: Final = tuple(Codec)


class KernelDecoder:
    """A decoder with kernels; keeps its chunks and its arena between buffers."""

    __slots__ = ("_arenas", "_slabs")

    def __init__(self) -> None:
        self._slabs = SlabPool()
        self._arenas = SlabPool()

    def decode(self, buffer: Buffer, request: ReadRequest) -> Iterator[ColumnChunk]:
        """Yield the chunks of a buffer; see `Decoder`."""
        return _BufferDecoding(buffer, request, self._slabs, self._arenas).chunks()


class _BufferDecoding:
    """One pass over one buffer."""

    def __init__(
        self, buffer: Buffer, request: ReadRequest, slabs: SlabPool, arenas: SlabPool
    ) -> None:
        self._view = flat_view(buffer)
        self._source = read_only(self._view)
        self._request = request
        self._arena = Arena(arenas, request.limit)
        self._canvas = ChunkBuilder(request, slabs)
        self._table: Words = np.zeros((GROUP_ROWS, at.TABLE_WIDTH), np.int64)
        self._scanned: Words = np.zeros(at.SCAN_WORDS, np.int64)
        selection = request.selection
        self._scanned[at.S_START] = selection.first_offset
        self._scanned[at.S_LAST] = selection.last_offset
        self._scanned[at.S_MIN_TIMESTAMP] = selection.min_timestamp
        self._scanned[at.S_GROUP_BYTES] = GROUP_BYTES
        self._aborted = None if selection.aborted is None else AbortedProducers(selection.aborted)
        self._bad: int | None = None

    def chunks(self) -> Iterator[ColumnChunk]:
        """Yield every chunk; then raise the error of a bad batch, if there is one.

        Closing the iterator returns its memory to the pool.
        """
        try:
            yield from self._chunks()
        finally:
            self._canvas.close()
            self._arena.close()
        if self._bad is not None:
            self._refuse(self._bad)
        if self._request.is_whole and self._scanned[at.S_STATUS] == at.CUT:
            ensure_whole(self._view, int(self._scanned[at.S_POSITION]))

    def _chunks(self) -> Iterator[ColumnChunk]:
        """Yield the rows of run after run, up to the first bad batch."""
        status = at.MORE
        while status == at.MORE and self._bad is None:
            scan(self._source, self._table, self._scanned)
            status = int(self._scanned[at.S_STATUS])
            if count := int(self._scanned[at.S_COUNT]):
                yield from self._run(int(self._scanned[at.S_KIND]), count)
        if self._bad is None and status == at.MALFORMED:
            self._bad = int(self._scanned[at.S_POSITION])
        if self._canvas.rows:
            yield self._canvas.take()

    def _is_over(self, position: int) -> bool:
        """Return whether a bad batch was met up to here; a later one is reached later."""
        return self._bad is not None and self._bad <= position

    def _refuse(self, position: int) -> None:
        """Raise the error of the batch at `position`."""
        batch = batch_at(self._view, position)
        assert batch is not None, "a batch that is cut off is not read"
        read_whole(batch, self._request)
        raise batch.place.invalid(
            "the kernels reject a batch that the plain reader accepts",
            expected="an unsound batch",
            found="a sound one",
        )

    def _run(self, kind: int, count: int) -> Iterator[ColumnChunk]:
        """Fill the chunk from a run of batches of one kind."""
        if kind == at.LEGACY_RUN:
            yield from self._messages()
            return
        if kind == at.WRAPPER_RUN:
            yield from self._wrapper()
            return
        if self._aborted is not None:
            count = self._mark_transactions(self._aborted, count)
        if self._request.check_crc:
            count = self._checked(count)
        if kind == at.PLAIN_RUN:
            yield from self._fill(self._source, 0, count)
        else:
            yield from self._packed(count)

    # -- batch by batch, before the kernels

    def _checked(self, count: int) -> int:
        """Return the number of batches before the first wrong checksum."""
        row = first_wrong(self._source, self._table, count)
        if row < count:
            self._bad = int(self._table[row, at.T_POSITION])
        return row

    def _mark_transactions(self, aborted: AbortedProducers, count: int) -> int:
        """Mark aborted batches as yielding no rows; return the batches before a bad marker."""
        rows = () if aborted.is_idle else self._table[:count, _TXN_COLUMNS].tolist()
        for row, (action, position, base, delta, producer, attributes) in enumerate(rows):
            step = step_of(
                aborted,
                producer_id=producer,
                last_offset=base + delta,
                is_control=bool(attributes & CONTROL_BIT),
                is_transactional=bool(attributes & TRANSACTIONAL_BIT),
                is_outside=action == at.SKIP,
            )
            if step is Step.CHECK:
                self._table[row, at.T_ACTION] = at.CHECK
            if step is Step.END and not self._end_transaction(aborted, position, producer):
                return row
        return count

    def _end_transaction(self, aborted: AbortedProducers, position: int, producer: int) -> bool:
        """Read a control batch; False when it is bad."""
        batch = batch_at(self._view, position)
        assert batch is not None, "a batch that is cut off is not scanned"
        try:
            records = read_whole(batch, self._request)
        except CordwoodError:
            self._bad = position
            return False
        if is_abort_marker(records):
            aborted.end(producer)
        return True

    # -- v2

    def _fill(self, source: Bytes, first: int, last: int) -> Iterator[ColumnChunk]:
        """Fill rows `first` to `last` of the table, whose records are in `source`."""
        if first >= last:
            return
        canvas, state = self._canvas, self._canvas.state
        state[at.F_BATCH], state[at.F_BATCHES], state[at.F_POSITION] = first, last, -1
        while True:
            self._bind(source)
            status = fill(source, self._table, canvas.block, canvas.slab, canvas.plan, state)
            if status == at.DONE:
                canvas.plan[at.P_IS_SPLIT] = 0
                if state[at.F_BATCH] == last:
                    return
                state[at.F_BATCHES] = last
            elif status == at.FULL:
                yield canvas.take()
            elif status == at.GROW:
                canvas.grow()
            elif status == at.OVERSIZE and self._is_sound(source):
                canvas.plan[at.P_IS_SPLIT] = 1
                state[at.F_BATCHES] = state[at.F_BATCH] + 1
            else:
                self._bad = int(self._table[state[at.F_BATCH], at.T_POSITION])
                return

    def _bind(self, source: Bytes) -> None:
        """Register the source of the views of this batch and the following ones."""
        begin, end = 0, len(source)
        if source is self._source:
            first, last = self._canvas.state[at.F_BATCH], self._canvas.state[at.F_BATCHES]
            begin = int(self._table[first, at.T_POSITION])
            end = int(self._table[last - 1, at.T_DATA_END])
        self._canvas.bind(source, begin, end)

    def _is_sound(self, source: Bytes) -> bool:
        """Return whether a batch larger than a chunk may be split: it must be valid as a whole."""
        plan, state = _without_columns(self._canvas)
        state[at.F_BATCHES] = state[at.F_BATCH] + 1
        state[at.F_POSITION] = -1
        block, slab = self._canvas.block, self._canvas.slab
        return fill(source, self._table, block, slab, plan, state) == at.DONE

    def _packed(self, count: int) -> Iterator[ColumnChunk]:
        """Fill from compressed batches, as many at a time as fit the processor's cache."""
        arena, view, first = self._arena, self._view, 0
        cells = self._table.reshape(-1).data
        for row in range(count):
            cell = row * at.TABLE_WIDTH
            position = cells[cell + at.T_POSITION]
            if cells[cell + at.T_ACTION] == at.SKIP:
                continue
            span = None
            try:
                codec = _codec(cells[cell + at.T_ATTRIBUTES])
                packed = view[cells[cell + at.T_DATA] : cells[cell + at.T_DATA_END]]
                span = arena.unpack(codec, packed, magic=2)
                if span is None:
                    yield from self._fill(arena.source, first, row)
                    yield from self._let_go()
                    first = row
                    span = arena.unpack_alone(codec, packed, magic=2)
            except CordwoodError:
                yield from self._fill(arena.source, first, row)
                self._bad = position if self._bad is None else min(self._bad, position)
            if span is None or self._is_over(position):
                return
            cells[cell + at.T_DATA], cells[cell + at.T_DATA_END] = span
            if span[1] >= FILL_BYTES and not self._request.is_view:
                yield from self._fill(arena.source, first, row + 1)
                if self._is_over(position):
                    return
                arena.rewind()
                first = row + 1
        yield from self._fill(arena.source, first, count)
        if not self._request.is_view:
            arena.rewind()

    def _let_go(self) -> Iterator[ColumnChunk]:
        """Yield the chunk whose views point into the arena, before the arena is reused."""
        if not self._canvas.rows:
            self._canvas.forget()
        elif self._request.is_view:
            yield self._canvas.take()

    # -- v0 and v1

    def _messages(self, wrapper: Wrapper | None = None) -> Iterator[ColumnChunk]:
        """Fill from messages: those of a wrapper, or those of the run in the buffer itself."""
        canvas, state = self._canvas, self._canvas.state
        source = self._source if wrapper is None else self._arena.source
        first, last = int(self._table[0, at.T_DATA]), int(self._table[0, at.T_DATA_END])
        if wrapper is not None:
            first, last = wrapper.first, wrapper.end
        prepare(canvas.plan, wrapper, last)
        state[at.F_POSITION] = first
        while True:
            canvas.bind(source, first, last)
            status = fill_messages(source, canvas.slab, canvas.plan, state)
            if status == at.DONE:
                canvas.plan[at.P_IS_SPLIT] = 0
                return
            if status == at.FULL:
                yield canvas.take()
            elif status == at.GROW:
                canvas.grow()
            elif status == at.OVERSIZE and self._is_sound_wrapper(source):
                canvas.plan[at.P_IS_SPLIT] = 1
            else:
                self._bad = int(state[at.F_POSITION]) if wrapper is None else wrapper.position
                return

    def _is_sound_wrapper(self, source: Bytes) -> bool:
        """Return whether a wrapper larger than a chunk may be split: all of it is valid."""
        plan, state = _without_columns(self._canvas)
        return fill_messages(source, self._canvas.slab, plan, state) == at.DONE

    def _wrapper(self) -> Iterator[ColumnChunk]:
        """Fill from the one compressed message of a run."""
        batch = batch_at(self._view, int(self._table[0, at.T_POSITION]))
        assert isinstance(batch, LegacyBatch), "only the old formats have wrappers"
        if is_outside(batch, self._request.selection):
            return
        try:
            if self._request.check_crc:
                batch.ensure_valid()
            packed = packed_messages(batch)
            if not self._request.is_view:
                self._arena.rewind()
            span = self._arena.unpack(batch.codec, packed, magic=batch.magic)
            if span is None:
                yield from self._let_go()
                span = self._arena.unpack_alone(batch.codec, packed, magic=batch.magic)
            wrapper = open_wrapper(batch, self._arena.source, *span)
        except CordwoodError:
            self._bad = batch.position
            return
        yield from self._messages(wrapper)


def _codec(attributes: int) -> Codec:
    """Return the codec of a batch; the plain reader rejects an unknown one."""
    try:
        return _CODECS[attributes & CODEC_BITS]
    except IndexError:
        raise CorruptMessageError("unknown codec") from None


def _without_columns(canvas: ChunkBuilder) -> tuple[Words, Words]:
    """Return a plan and a state that check the rows of a chunk, and write none."""
    plan, state = canvas.plan.copy(), canvas.state.copy()
    plan[: at.COLUMN_WORDS] = -1
    plan[at.P_MAX_ROWS] = INT64_MAX
    return plan, state
