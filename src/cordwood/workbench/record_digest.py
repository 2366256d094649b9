"""SHA-256 of the records of a log, which does not depend on batches, segments and compression.

Eleven streams, each with its own SHA-256; the digest is the SHA-256 of the eleven, in this order:

    offset, timestamp     i64 each
    key, value            sizes as i32, -1 for null; then the bytes of all keys, of all values
    headers               numbers of headers as i32; key sizes as i32; bytes of the keys; value
                          sizes as i32, -1 for null; bytes of the values

Numbers are little-endian. Control records are left out; aborted and open transactions are included.
The producers of the records and the outcomes of their transactions have a digest of their own
(`state_digest`), which is computed in the same read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.core.ports import Files
from cordwood.records.decoder import Decoder
from cordwood.records.state_scan import StateScanner
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.reader.partition_reader import PartitionCheckpoints, PartitionReader
from cordwood.workbench.partition_columns import ColumnsRequest, read_partition
from cordwood.workbench.state_digest import STATE_COLUMNS, StateDigest, number_bytes

if TYPE_CHECKING:
    from hashlib import _Hash

    import pyarrow as pa

STREAMS: Final = 11
_COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers", *STATE_COLUMNS)
_I64: Final = 8
_I32: Final = 4


@dataclass(frozen=True, slots=True)
class RecordDigest:
    """The SHA-256 of records and of their states in hexadecimal digits, and numbers of records.

    `markers` counts the control records.
    """

    sha256: str
    records: int
    tombstones: int
    states_sha256: str = ""
    markers: int = 0


class RecordReaders(NamedTuple):
    """The readers of records, and of the states of records; they serve one thread at a time."""

    decoder: Decoder
    states: StateScanner


@dataclass(slots=True)
class DigestBuilder:
    """A digest that grows with the rows of a log."""

    records: int = 0
    tombstones: int = 0
    _streams: "list[_Hash]" = field(default_factory=lambda: [sha256() for _ in range(STREAMS)])

    def add(self, rows: "pa.RecordBatch") -> None:
        """Add rows with the columns of `digest_records`."""
        from pyarrow import compute  # noqa: PLC0415  # 0.2 s

        self.records += len(rows)
        is_tombstone = compute.and_(rows["key"].is_valid(), rows["value"].is_null())
        self.tombstones += compute.sum(is_tombstone).as_py() or 0
        for stream, data in zip(self._streams, _streams_of(rows), strict=True):
            stream.update(data)

    def finish(self) -> RecordDigest:
        """Return the digest of all rows."""
        whole = sha256(b"".join(stream.digest() for stream in self._streams))
        return RecordDigest(whole.hexdigest(), self.records, self.tombstones)


def open_all_records(files: Files, path: str) -> PartitionReader:
    """Return a reader of a partition from its first segment on, below the log start too.

    A pass rewrites whole segments.
    """
    return PartitionReader(DirectorySource(files, path), PartitionCheckpoints)


def digest_records(
    reader: PartitionReader, *, start: int, end: int, readers: RecordReaders
) -> RecordDigest:
    """Return the digest of the records from `start` up to but not including `end`."""
    request, builder = ColumnsRequest(columns=_COLUMNS, start=start, end=end), DigestBuilder()
    states = StateDigest(start, end, readers.states)
    decoder = readers.decoder
    for rows in read_partition(reader, request, decoder=decoder, on_run=states.add_run):
        builder.add(rows)
        states.add_rows(rows)
    found = states.finish(reader)
    return replace(builder.finish(), states_sha256=found.sha256, markers=found.markers)


def _streams_of(rows: "pa.RecordBatch") -> Iterator[memoryview]:
    from pyarrow import compute  # noqa: PLC0415  # 0.2 s

    headers = rows["headers"]
    keys, values = headers.flatten().flatten()
    yield number_bytes(rows["offset"], _I64)
    yield number_bytes(rows["timestamp"], _I64)
    yield from _sized(rows["key"])
    yield from _sized(rows["value"])
    yield number_bytes(compute.list_value_length(headers), _I32)
    yield from _sized(keys)
    yield from _sized(values)


def _sized(column: "pa.Array") -> Iterator[memoryview]:
    """Yield the sizes and the bytes of a column; a null has the size -1."""
    from pyarrow import compute  # noqa: PLC0415  # 0.2 s

    sizes = compute.binary_length(column)
    yield number_bytes(_without_nulls(sizes, b"\xff" * _I32), _I32)
    whole = _without_nulls(column, bytes(2 * _I32), b"")
    ends = _fixed_with_end(whole)
    yield memoryview(whole.buffers()[2] or b"").cast("B")[ends[0] : ends[-1]]


def _without_nulls(column: "pa.Array", *buffers: bytes) -> "pa.Array":
    """Return a column with the value that an array's buffers contain in place of its nulls.

    To convert a Python value, pyarrow imports pandas where that is installed: 0.4 s.
    """
    import pyarrow as pa  # noqa: PLC0415  # 0.2 s

    if not column.null_count:
        return column
    value = pa.Array.from_buffers(column.type, 1, [None, *map(pa.py_buffer, buffers)])
    return column.fill_null(value[0])


def _fixed_with_end(column: "pa.Array") -> memoryview:
    """Return the positions of values in the bytes of a column, and the end of the last one."""
    data = memoryview(column.buffers()[1] or bytes(_I32)).cast("B").cast("i")
    return data[column.offset : column.offset + len(column) + 1]
