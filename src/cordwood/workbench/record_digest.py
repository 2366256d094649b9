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

from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.core.ports import Files, Lane, Pending, Worker
from cordwood.records.decoder import (
    BinaryColumn,
    Bytes,
    Column,
    ColumnChunk,
    Decoder,
    FixedColumn,
    HeadersColumn,
    Numbers,
)
from cordwood.records.state_scan import StateScanner
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.reader.partition_reader import PartitionCheckpoints, PartitionReader
from cordwood.workbench.partition_columns import ColumnsRequest, read_chunks
from cordwood.workbench.state_digest import STATE_COLUMNS, StateDigest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from hashlib import _Hash

STREAMS: Final = 11
#: The streams of the sizes of keys and of values.
_KEY_SIZES: Final = 2
_VALUE_SIZES: Final = 4
_COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers", *STATE_COLUMNS)


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
    """The readers of records, and of the states of records; they serve one thread at a time.

    A worker computes the digest of records while the next ones are read.
    """

    decoder: Decoder
    states: StateScanner
    worker: Worker | None = None


@dataclass(slots=True)
class DigestBuilder:
    """A digest that grows with the rows of a log."""

    worker: Worker | None = None
    records: int = 0
    tombstones: int = 0
    _streams: "list[_Hash]" = field(default_factory=lambda: [sha256() for _ in range(STREAMS)])
    _update: Pending[None] | None = None

    def add(self, chunk: ColumnChunk) -> None:
        """Add rows with the columns of `digest_records`."""
        columns = list(_streams_of(chunk))
        self.records += chunk.rows
        self.tombstones += int(((columns[_KEY_SIZES] >= 0) & (columns[_VALUE_SIZES] < 0)).sum())
        self._wait()
        if self.worker is None:
            self._update_streams(columns)
        else:
            update = partial(self._update_streams, columns)
            self._update = self.worker.submit(update, lane=Lane.COMPUTE)

    def finish(self) -> RecordDigest:
        """Return the digest of all rows."""
        self._wait()
        whole = sha256(b"".join(stream.digest() for stream in self._streams))
        return RecordDigest(whole.hexdigest(), self.records, self.tombstones)

    def _update_streams(self, columns: "list[Numbers | Bytes]") -> None:
        for stream, column in zip(self._streams, columns, strict=True):
            stream.update(column.data)

    def _wait(self) -> None:
        """Wait until the last rows are in the digest; raise the error of their update."""
        if self._update is not None:
            self._update.result()


def open_all_records(files: Files, path: str) -> PartitionReader:
    """Return a reader of a partition from its first segment on, below the log start too.

    A pass rewrites whole segments.
    """
    return PartitionReader(DirectorySource(files, path), PartitionCheckpoints)


def digest_records(
    reader: PartitionReader, *, start: int, end: int, readers: RecordReaders
) -> RecordDigest:
    """Return the digest of the records from `start` up to but not including `end`."""
    request = ColumnsRequest(columns=_COLUMNS, start=start, end=end)
    builder = DigestBuilder(readers.worker)
    states = StateDigest(start, end, readers.states)
    decoder = readers.decoder
    for chunk in read_chunks(reader, request, decoder=decoder, on_run=states.add_run):
        builder.add(chunk)
        states.add_rows(chunk)
    found = states.finish(reader)
    return replace(builder.finish(), states_sha256=found.sha256, markers=found.markers)


def _streams_of(chunk: ColumnChunk) -> "Iterator[Numbers | Bytes]":
    offsets, timestamps, keys, values, headers = map(chunk.columns.__getitem__, _COLUMNS[:5])
    assert isinstance(offsets, FixedColumn)
    assert isinstance(timestamps, FixedColumn)
    assert isinstance(headers, HeadersColumn)
    yield from (offsets.numbers, timestamps.numbers)
    yield from _sized(keys)
    yield from _sized(values)
    yield headers.starts[1:] - headers.starts[:-1]
    yield from _sized(headers.keys)
    yield from _sized(headers.values)


def _sized(column: Column) -> "Iterator[Numbers | Bytes]":
    """Yield the sizes and the bytes of a column; a null has the size -1."""
    assert isinstance(column, BinaryColumn)
    yield from (column.sizes(), column.content())
