"""SHA-256 of the producers of records and of the outcomes of their transactions.

Six streams, each with its own SHA-256; the digest is the SHA-256 of the six, in this order:

    offset, producer id        i64 each
    producer epoch, sequence   i16, i32; -1 without a producer
    in a transaction           one byte, 0 or 1
    markers                    24 bytes for each record of a control batch (`records.state_scan`)

Numbers are little-endian. The first marker of a producer behind a record of its transaction is the
outcome: committed or aborted, and open without one. So a record needs no look ahead, and memory is
one number for each open transaction. A transaction that is open at the end of the range ends with a
marker behind it, which follows the others. A control batch without a record has no effect.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.types import NO_OFFSET
from cordwood.records.decoder import ColumnChunk, FixedColumn
from cordwood.records.state_scan import (
    MARKER_SIZE,
    ScanBounds,
    StateScanner,
    TransactionFlags,
    ended_transactions,
)
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.segment_walk import SegmentBatchRun

if TYPE_CHECKING:
    from hashlib import _Hash

#: The version of the streams in certificates; certificates before it have no digest of states.
STATES_VERSION: Final = 1
STATE_COLUMNS: Final = ("producer_id", "producer_epoch", "sequence")

_NUMBERS: Final = ("offset", *STATE_COLUMNS)


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
    scanner: StateScanner
    markers: int = 0
    _rows: "dict[str, _Hash]" = field(default_factory=lambda: {name: sha256() for name in _NUMBERS})
    _flags: "_Hash" = field(default_factory=sha256)
    _markers: "_Hash" = field(default_factory=sha256)
    #: Producers with records since their last marker.
    _open: set[int] = field(default_factory=set)
    #: The transactional batches of the current run; None if it has none.
    _run_flags: TransactionFlags | None = None
    #: Batches below this offset have been added.
    _next_offset: int = NO_OFFSET

    def add_run(self, run: SegmentBatchRun) -> None:
        """Add the batches of a run; BadRecordsError if a control record cannot be read."""
        self._run_flags = None
        if not run.has_transactions:
            return
        found = self.scanner.scan(run.data, ScanBounds(self.start, self.end, self._next_offset))
        self._run_flags, self._next_offset = found.flags, found.next_offset
        self.markers += len(found.markers) // MARKER_SIZE
        self._markers.update(found.markers)
        self._open = self._open - found.ended | found.opened

    def add_rows(self, chunk: ColumnChunk) -> None:
        """Add rows of the last run, with the columns offset and `STATE_COLUMNS`."""
        for name, stream in self._rows.items():
            stream.update(_numbers(chunk, name))
        flags = self._run_flags
        offsets = _numbers(chunk, "offset")
        self._flags.update(bytes(chunk.rows) if flags is None else flags.take(offsets))

    def finish(self, reader: PartitionReader) -> StatesSha256:
        """Add the markers behind the range that end its transactions, and return the digest."""
        runs = reader.buffers(self.end) if self._open else iter(())
        for run in runs:
            self._add_ends(run)
            if not self._open:
                break
        streams = (*self._rows.values(), self._flags, self._markers)
        whole = sha256(b"".join(stream.digest() for stream in streams))
        return StatesSha256(whole.hexdigest(), self.markers)

    def _add_ends(self, run: SegmentBatchRun) -> None:
        """Add the markers of a run behind the range that end one of its transactions."""
        found = self.scanner.scan(run.data, ScanBounds(self.end, INT64_MAX, NO_OFFSET))
        for marker in ended_transactions(found.markers):
            if marker.producer_id in self._open:
                self._open.discard(marker.producer_id)
                self._markers.update(marker.packed)


def _numbers(chunk: ColumnChunk, name: str) -> memoryview:
    """Return the bytes of a column of numbers."""
    column = chunk.columns[name]
    assert isinstance(column, FixedColumn)
    return column.numbers.data.cast("B")
