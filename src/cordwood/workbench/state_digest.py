"""SHA-256 of the producers of records and of the outcomes of their transactions.

Six streams, each with its own SHA-256; the digest is the SHA-256 of the six, in this order:

    offset, producer id        i64 each
    producer epoch, sequence   i16, i32; -1 without a producer
    in a transaction           one byte, 0 or 1
    markers                    24 bytes for each record of a control batch (`_MARKER`)

Numbers are little-endian. The first marker of a producer behind a record of its transaction is the
outcome: committed or aborted, and open without one. So a record needs no look ahead, and memory is
one number for each open transaction. A transaction that is open at the end of the range ends with a
marker behind it, which follows the others. A control batch without a record has no effect.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.core.binary import Buffer
from cordwood.core.types import NO_OFFSET
from cordwood.records.control_records import (
    ControlType,
    EndTransaction,
    control_type,
    read_control,
    read_plain_marker,
)
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import CONTROL_BIT, MAGIC, TRANSACTIONAL_BIT, RecordBatch
from cordwood.storage.producers.producer_state_entry import NO_COORDINATOR_EPOCH
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.segment_walk import SegmentBatchRun

if TYPE_CHECKING:
    from hashlib import _Hash

    import pyarrow as pa

#: The version of the streams in certificates; certificates before it have no digest of states.
STATES_VERSION: Final = 1
STATE_COLUMNS: Final = ("producer_id", "producer_epoch", "sequence")

#: Offset, producer id, producer epoch, type of the control record, coordinator epoch.
_MARKER: Final = Struct("<qqhhi")
#: Of a v2 header: base offset, size, magic, attributes, offset delta, producer id and epoch, count.
_HEADER: Final = Struct(">qi4xb4xhi16xqh4xi")
_PREFIX: Final = Struct(">8xi4xb")
_WIDTHS: Final = {"offset": 8, "producer_id": 8, "producer_epoch": 2, "sequence": 4}
_ENDS: Final = frozenset({ControlType.ABORT, ControlType.COMMIT})


class _TransactionalRange(NamedTuple):
    """Offsets of consecutive batches in transactions, both ends included."""

    first_offset: int
    last_offset: int


class _V2Header(NamedTuple):
    """The fields of a v2 header that states depend on, and the range of the batch's bytes."""

    position: int
    end: int
    base_offset: int
    attributes: int
    offset_delta: int
    producer_id: int
    producer_epoch: int
    record_count: int


class StatesSha256(NamedTuple):
    """The SHA-256 in hexadecimal digits, and the number of markers below the end of the range."""

    sha256: str
    markers: int


@dataclass(slots=True)
class StateDigest:
    """A digest that grows with the runs of a log and their rows; each run comes before its rows.

    A run may come again from a later batch on, after a read that failed.
    """

    start: int
    end: int
    markers: int = 0
    _rows: "dict[str, _Hash]" = field(default_factory=lambda: {name: sha256() for name in _WIDTHS})
    _flags: "_Hash" = field(default_factory=sha256)
    _markers: "_Hash" = field(default_factory=sha256)
    #: Producers with records since their last marker.
    _open: set[int] = field(default_factory=set)
    #: The transactional batches of the current run, from the one that the next rows may have on.
    _ranges: list[_TransactionalRange] = field(default_factory=list)
    _at: int = 0
    #: Batches below this offset have been added.
    _next_offset: int = NO_OFFSET

    def add_run(self, run: SegmentBatchRun) -> None:
        """Add the batches of a run; BadRecordsError if a control record cannot be read."""
        self._ranges, self._at = [], 0
        if not run.has_transactions:
            return
        is_in_range = False
        for batch in _v2_headers(run.data):
            if not batch.record_count:
                continue
            if not batch.attributes & CONTROL_BIT:
                is_in_range = self._add_data(batch, is_in_range=is_in_range)
            elif max(self.start, self._next_offset) <= batch.base_offset < self.end:
                self.markers += self._add_markers(batch, run.data[batch.position : batch.end])
            self._next_offset = max(self._next_offset, batch.base_offset + 1)

    def add_rows(self, rows: "pa.RecordBatch") -> None:
        """Add rows of the last run, with the columns offset and `STATE_COLUMNS`."""
        for name, stream in self._rows.items():
            stream.update(number_bytes(rows[name], _WIDTHS[name]))
        offsets = number_bytes(rows["offset"], _WIDTHS["offset"]).cast("q")
        self._flags.update(self._flags_of(offsets))

    def finish(self, reader: PartitionReader) -> StatesSha256:
        """Add the markers behind the range that end its transactions, and return the digest."""
        markers = self.markers
        for found in reader.batches(self.end) if self._open else ():
            header = found.header
            is_marker = header.is_control and header.base_offset >= self.end
            if is_marker and header.record_count and header.producer_id in self._open:
                (batch,) = _v2_headers(memoryview(found.data()))
                self._add_markers(batch, found.data())
            if not self._open:
                break
        streams = (*self._rows.values(), self._flags, self._markers)
        whole = sha256(b"".join(stream.digest() for stream in streams))
        return StatesSha256(whole.hexdigest(), markers)

    def _add_data(self, batch: _V2Header, *, is_in_range: bool) -> bool:
        """Add a batch of data, and return whether it is in a transaction.

        With `is_in_range` the batch before it is.
        """
        if not batch.attributes & TRANSACTIONAL_BIT:
            return False
        if batch.base_offset >= self._next_offset:
            self._open.add(batch.producer_id)
        first, last = batch.base_offset, batch.base_offset + batch.offset_delta
        if is_in_range:
            first = self._ranges.pop().first_offset
        self._ranges.append(_TransactionalRange(first, last))
        return True

    def _add_markers(self, batch: _V2Header, data: Buffer) -> int:
        """Add the records of a control batch, and return their number."""
        controls = list(_controls(batch, data))
        for offset, kind, epoch in controls:
            producer = batch.producer_id, batch.producer_epoch
            self._markers.update(_MARKER.pack(offset, *producer, kind, epoch))
            if kind in _ENDS:
                self._open.discard(batch.producer_id)
        return len(controls)

    def _flags_of(self, offsets: memoryview) -> bytearray:
        """Return 1 for each of these offsets that is in a transaction, otherwise 0."""
        flags = bytearray(len(offsets))
        while self._at < len(self._ranges):
            first, last = self._ranges[self._at]
            begin, end = bisect_left(offsets, first), bisect_right(offsets, last)
            flags[begin:end] = b"\1" * (end - begin)
            if end == len(offsets):
                break
            self._at += 1
        return flags


def number_bytes(column: "pa.Array", width: int) -> memoryview:
    """Return the bytes of a column of numbers without nulls."""
    data = memoryview(column.buffers()[1] or b"").cast("B")
    return data[column.offset * width : (column.offset + len(column)) * width]


def _v2_headers(data: memoryview) -> Iterator[_V2Header]:
    """Yield the v2 batches of a run of whole batches; the old formats have no producers."""
    position = 0
    while position < len(data):
        size, magic = _PREFIX.unpack_from(data, position)
        end = position + LOG_OVERHEAD + size
        if magic == MAGIC:
            base_offset, _, _, *fields = _HEADER.unpack_from(data, position)
            yield _V2Header(position, end, base_offset, *fields)
        position = end


def _controls(batch: _V2Header, data: Buffer) -> Iterator[tuple[int, int, int]]:
    """Yield offset, type and coordinator epoch of the records of a control batch."""
    plain = read_plain_marker(data)
    if plain is not None:
        kind = ControlType.COMMIT if plain.is_commit else ControlType.ABORT
        yield batch.base_offset, kind, plain.coordinator_epoch
        return
    for record in RecordBatch(data).records():
        control, epoch = read_control(record), NO_COORDINATOR_EPOCH
        if isinstance(control, EndTransaction):
            epoch = control.coordinator_epoch
        yield record.offset, control_type(record.key), epoch
