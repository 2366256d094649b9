"""Scan of a run of batches for the transactions of its records and for its markers.

    transactions   for each record whether it is in a transaction, by the header of its batch
    producers      for each producer in the run whether its transaction is still open at the end
    markers        24 bytes for each record of a control batch, little-endian: offset and producer
                   id (i64), producer epoch and type (i16), coordinator epoch (i32)

A batch without a record has no effect. The old formats have no producers. This is the plain twin of
`kernels.state_scan`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple, Protocol

from cordwood.core.binary import Buffer, bytes_view
from cordwood.records.control_records import (
    ControlType,
    EndTransaction,
    control_type,
    read_control,
    read_plain_marker,
)
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import CONTROL_BIT, MAGIC, TRANSACTIONAL_BIT, RecordBatch

#: The size of a marker in `StateScan.markers`.
MARKER_SIZE: Final = 24
#: The coordinator epoch of control records that end no transaction.
_NO_COORDINATOR_EPOCH: Final = -1

_MARKER: Final = Struct("<qqhhi")
#: Of a v2 header: base offset, attributes, offset delta, producer id, record count.
_HEADER: Final = Struct(">q13xhi16xq6xi")
_PREFIX: Final = Struct(">8xi4xb")
_ENDS: Final = frozenset({ControlType.ABORT, ControlType.COMMIT})


class ScanBounds(NamedTuple):
    """The offsets of a scan.

    Markers count from `start` up to but not including `end`. Batches below `next_offset` were
    scanned before: neither their markers nor their producers count again.
    """

    start: int
    end: int
    next_offset: int


class TransactionFlags(Protocol):
    """The transactional batches of a run; the records come in order."""

    def take(self, offsets: memoryview) -> Buffer:
        """Return 1 for each of the next records that is in a transaction, otherwise 0.

        The offsets are native 64-bit numbers, in bytes.
        """


class StateScan(NamedTuple):
    """The result of a scan: the producers with an open transaction, and those that have none."""

    next_offset: int
    flags: TransactionFlags
    markers: bytes
    opened: set[int]
    ended: set[int]


class StateScanner(Protocol):
    """A scanner over whole batches with rising offsets; serves one thread at a time."""

    def scan(self, data: Buffer, bounds: ScanBounds) -> StateScan:
        """Scan a run; BadRecordsError if a control record cannot be read."""


class PlainStateScanner:
    """A scanner in plain Python."""

    __slots__ = ()

    def scan(self, data: Buffer, bounds: ScanBounds) -> StateScan:
        """Scan batch by batch; see `StateScanner`."""
        view, position, states = bytes_view(data), 0, _RunStates()
        start, end, next_offset = bounds
        while position < len(view):
            size, magic = _PREFIX.unpack_from(view, position)
            begin, position = position, position + LOG_OVERHEAD + size
            if magic != MAGIC:
                states.add_messages()
                continue
            header = _V2Header._make(_HEADER.unpack_from(view, begin))
            if not header.record_count:
                continue
            offset = header.base_offset
            if not header.attributes & CONTROL_BIT:
                states.add_data(header, is_new=offset >= next_offset)
            elif max(start, next_offset) <= offset < end:
                states.add_markers(RecordBatch(view, begin))
            next_offset = max(next_offset, offset + 1)
        return states.finish(next_offset)


class _V2Header(NamedTuple):
    """The fields of a v2 header that states depend on."""

    base_offset: int
    attributes: int
    offset_delta: int
    producer_id: int
    record_count: int


class _TransactionalRange(NamedTuple):
    """Offsets of consecutive batches in transactions, both ends included."""

    first_offset: int
    last_offset: int


class _RunStates:
    """The states of the batches of a run so far."""

    __slots__ = ("_is_in_range", "_is_open", "_markers", "_ranges")

    def __init__(self) -> None:
        self._is_in_range = False
        self._is_open: dict[int, bool] = {}
        self._markers = bytearray()
        self._ranges: list[_TransactionalRange] = []

    def add_messages(self) -> None:
        """Add a batch of an old format, whose records are in no transaction."""
        self._is_in_range = False

    def add_data(self, batch: _V2Header, *, is_new: bool) -> None:
        """Add a batch of data."""
        is_transactional = bool(batch.attributes & TRANSACTIONAL_BIT)
        first, last = batch.base_offset, batch.base_offset + batch.offset_delta
        if is_transactional and self._is_in_range:
            first = self._ranges.pop().first_offset
        if is_transactional:
            self._ranges.append(_TransactionalRange(first, last))
        if is_transactional and is_new:
            self._is_open[batch.producer_id] = True
        self._is_in_range = is_transactional

    def add_markers(self, batch: RecordBatch) -> None:
        """Add the records of a control batch."""
        found = pack_markers(batch)
        self._markers += found.packed
        if found.has_end:
            self._is_open[batch.producer_id] = False

    def finish(self, next_offset: int) -> StateScan:
        """Return the result."""
        opened = {producer for producer, is_open in self._is_open.items() if is_open}
        ended = self._is_open.keys() - opened
        return StateScan(
            next_offset, _PlainFlags(self._ranges), bytes(self._markers), opened, ended
        )


class _PlainFlags:
    """The transactional batches of a run, from the one that the next record may be in."""

    __slots__ = ("_at", "_ranges")

    def __init__(self, ranges: list[_TransactionalRange]) -> None:
        self._ranges, self._at = ranges, 0

    def take(self, offsets: memoryview) -> bytearray:
        """Return the flags of the next records; see `TransactionFlags`."""
        numbers = offsets.cast("B").cast("q")
        flags = bytearray(len(numbers))
        while self._at < len(self._ranges):
            first, last = self._ranges[self._at]
            begin, end = bisect_left(numbers, first), bisect_right(numbers, last)
            flags[begin:end] = b"\1" * (end - begin)
            if end == len(numbers):
                break
            self._at += 1
        return flags


class PackedMarkers(NamedTuple):
    """The markers of a control batch; `has_end`: one of them ends a transaction."""

    packed: bytes
    has_end: bool


def pack_markers(batch: RecordBatch) -> PackedMarkers:
    """Read a control batch of any form; BadRecordsError if that is not possible."""
    controls = list(_controls(batch))
    producer = batch.producer_id, batch.producer_epoch
    packed = (_MARKER.pack(offset, *producer, kind, epoch) for offset, kind, epoch in controls)
    return PackedMarkers(b"".join(packed), any(kind in _ENDS for _, kind, _ in controls))


class EndMarker(NamedTuple):
    """A marker that ends a transaction of a producer."""

    producer_id: int
    packed: bytes


def ended_transactions(markers: bytes) -> Iterator[EndMarker]:
    """Yield those of `StateScan.markers` that end a transaction."""
    starts = range(0, len(markers), MARKER_SIZE)
    for start, (_, producer_id, _, kind, _) in zip(
        starts, _MARKER.iter_unpack(markers), strict=True
    ):
        if kind in _ENDS:
            yield EndMarker(producer_id, markers[start : start + MARKER_SIZE])


def _controls(batch: RecordBatch) -> Iterator[tuple[int, int, int]]:
    """Yield offset, type and coordinator epoch of the records of a control batch."""
    plain = read_plain_marker(batch.data)
    if plain is not None:
        kind = ControlType.COMMIT if plain.is_commit else ControlType.ABORT
        yield batch.base_offset, kind, plain.coordinator_epoch
        return
    for record in batch.records():
        control, epoch = read_control(record), _NO_COORDINATOR_EPOCH
        if isinstance(control, EndTransaction):
            epoch = control.coordinator_epoch
        yield record.offset, control_type(record.key), epoch
