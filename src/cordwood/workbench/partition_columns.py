"""Records of a partition as Arrow record batches, or as chunks of columns without Arrow.

Each run of batches is decoded separately, so a scan takes the memory of one run and one chunk. With
read_committed the scan ends at the last stable offset, and the decoder receives the transactions
that were aborted in each run. If retention deletes offsets during the scan, a callback
(`LossFiller`) may provide their rows from another place.

The decoder verifies checksums. A batch that fails is read again from the end of the one before it,
since a cleaner may have replaced its file during the scan. After `MAX_READS` failures it is damage.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, TypeVar

from cordwood.core.binary import INT64_MAX, INT64_MIN, Buffer
from cordwood.core.errors import BadRecordsError
from cordwood.records.decoder import (
    AbortedTransaction,
    Chunking,
    ColumnChunk,
    Decoder,
    ReadRequest,
    Selection,
)
from cordwood.storage.files.header_scan import headers
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.reader_segment import with_location
from cordwood.storage.reader.segment_walk import SegmentBatchRun
from cordwood.storage.reader.transaction_reader import TransactionLookahead, TransactionReader

if TYPE_CHECKING:
    import pyarrow as pa

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

#: Yields the rows of offsets that the log has lost, from the first up to but not including the
#: second argument.
LossFiller: TypeAlias = Callable[[int, int], Iterator["pa.RecordBatch"]]

#: Receives each run of batches before its rows are yielded.
OnRun: TypeAlias = Callable[[SegmentBatchRun], object]

#: A batch that cannot be decoded this many times in a row is damaged.
MAX_READS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsRequest:
    """The columns to read, and the range: `end` is exclusive, both timestamps are inclusive.

    With `is_decided` the caller guarantees that no transaction is open before `end`, which saves
    the lookup.
    """

    columns: tuple[str, ...]
    start: int = 0
    end: int | None = None
    min_timestamp: int = INT64_MIN
    max_timestamp: int = INT64_MAX
    is_committed: bool = False
    is_decided: bool = False
    is_view: bool = False
    chunking: Chunking = field(default_factory=Chunking)


class DecodeRun(Protocol[R_co]):
    """Decodes a run of batches into groups of rows."""

    def __call__(self, buffer: Buffer, decoder: Decoder, *, request: ReadRequest) -> Iterator[R_co]:
        """Yield the rows of a buffer; BadRecordsError after the rows before an invalid batch."""


def no_rows(_start: int, _end: int) -> Iterator["pa.RecordBatch"]:
    """Yield no rows for lost offsets."""
    yield from ()


def ignore_run(_run: SegmentBatchRun) -> None:
    """Do nothing."""


def read_partition(
    reader: PartitionReader,
    request: ColumnsRequest,
    *,
    decoder: Decoder,
    in_place_of: LossFiller = no_rows,
    on_run: OnRun = ignore_run,
) -> Iterator["pa.RecordBatch"]:
    """Yield the requested records; without an `end`, up to the current end of the log.

    When the scan reaches offsets that are before the log's start or behind its end by then, it
    yields the rows of `in_place_of` for them. A run whose rows are read again comes to `on_run`
    again. The reader's files are closed when the iterator ends or is closed.
    """
    from cordwood.records.columns import read_columns  # noqa: PLC0415  # pyarrow: 0.2 s

    decode = partial(_decode, decoder=decoder, decode_run=read_columns)
    with closing(reader):
        yield from _PartitionScan(
            reader, request, decode=decode, in_place_of=in_place_of, on_run=on_run
        ).batches()


def read_chunks(
    reader: PartitionReader,
    request: ColumnsRequest,
    *,
    decoder: Decoder,
    on_run: OnRun = ignore_run,
) -> Iterator[ColumnChunk]:
    """Do the same as `read_partition` without Arrow, which takes longer to load than many reads."""
    decode = partial(_decode, decoder=decoder, decode_run=_chunks)
    with closing(reader):
        yield from _PartitionScan(
            reader, request, decode=decode, in_place_of=lambda _start, _end: iter(()), on_run=on_run
        ).batches()


class _PartitionScan(Generic[R]):
    """One scan, and its position."""

    def __init__(
        self,
        reader: PartitionReader,
        request: ColumnsRequest,
        *,
        decode: Callable[[SegmentBatchRun, ReadRequest], Iterator[R]],
        in_place_of: Callable[[int, int], Iterator[R]],
        on_run: OnRun,
    ) -> None:
        self._reader = reader
        self._request = request
        self._decode = decode
        self._in_place_of = in_place_of
        self._on_run = on_run
        self._offset = request.start
        self._end = 0
        self._transactions: TransactionReader | TransactionLookahead | None = None
        self._is_done = False

    def batches(self) -> Iterator[R]:
        """Yield all rows; retry a batch that cannot be decoded before it is reported as damage."""
        self._find_end()
        failures = 0
        while not self._is_done:
            try:
                yield from self._attempt()
            except _UndecodableError as failed:
                failures = 1 if failed.next_offset > self._offset else failures + 1
                if failures == MAX_READS:
                    raise failed.error from failed
                self._offset = max(self._offset, failed.next_offset)
        yield from self._rest()

    def _find_end(self) -> None:
        """Set the end of the scan; with read_committed it is at most the last stable offset."""
        reader, request = self._reader, self._request
        self._end = reader.offsets().log_end if request.end is None else request.end
        if request.is_committed and request.is_decided:
            self._transactions = TransactionLookahead(reader, self._end)
        elif request.is_committed:
            self._transactions = transactions = TransactionReader(reader)
            self._end = min(self._end, transactions.last_stable_offset())

    def _attempt(self) -> Iterator[R]:
        """Continue from the current offset."""
        for run in self._reader.buffers(self._offset, self._end, is_kept=self._request.is_view):
            if run.has_transactions and self._look_ahead():
                return
            yield from self._lost_rows(self._offset, min(run.first_offset, self._log_start(run)))
            request = _decoder_request(run, self._request, self._end, self._transactions)
            self._notify(run)
            yield from self._decode(run, request)
            self._offset = run.next_offset
        self._is_done = True

    def _notify(self, run: SegmentBatchRun) -> None:
        """Call `on_run`; bytes that it rejects are read again as those that cannot be decoded."""
        try:
            self._on_run(run)
        except BadRecordsError as error:
            raise _UndecodableError(
                with_location(error, run.path, shift=run.position), run.first_offset
            ) from error

    def _look_ahead(self) -> bool:
        """Read the aborted transactions, once; return True if this call did it.

        The caller then reads the current run again. A cleaner removes aborted records together
        with their index entries, so a run that was read before the index may be too old for it.
        """
        transactions = self._transactions
        if not isinstance(transactions, TransactionLookahead) or transactions.is_read:
            return False
        transactions.read_ahead(self._offset)
        return True

    def _log_start(self, run: SegmentBatchRun) -> int:
        """Return the log start if the run begins behind the current offset, otherwise 0."""
        return self._reader.log_start() if run.first_offset > self._offset else 0

    def _rest(self) -> Iterator[R]:
        """Yield the rows of lost offsets behind the last batch."""
        if self._offset < self._end:
            bounds = self._reader.offsets()
            yield from self._lost_rows(self._offset, min(bounds.log_start, self._end))
            yield from self._lost_rows(max(self._offset, bounds.log_end), self._end)

    def _lost_rows(self, start: int, end: int) -> Iterator[R]:
        return self._in_place_of(start, end) if start < end else iter(())


class _UndecodableError(Exception):
    """The decoder rejected the batch behind the one that ends before `next_offset`."""

    def __init__(self, error: BadRecordsError, next_offset: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.next_offset = next_offset


def _chunks(buffer: Buffer, decoder: Decoder, *, request: ReadRequest) -> Iterator[ColumnChunk]:
    return decoder.decode(buffer, request)


def _decode(
    run: SegmentBatchRun, request: ReadRequest, *, decoder: Decoder, decode_run: DecodeRun[R]
) -> Iterator[R]:
    try:
        yield from decode_run(run.data, decoder, request=request)
    except BadRecordsError as error:
        position = error.position or 0
        before = list(headers(lambda length, at: run.data[at : at + length], 0, position))
        next_offset = before[-1].next_offset if before else run.first_offset
        raise _UndecodableError(
            with_location(error, run.path, shift=run.position), next_offset
        ) from error


def _decoder_request(
    run: SegmentBatchRun,
    request: ColumnsRequest,
    end: int,
    transactions: TransactionReader | TransactionLookahead | None,
) -> ReadRequest:
    aborted = None
    if transactions is not None:
        aborted = find_aborted(run, transactions)
    selection = Selection(
        first_offset=request.start,
        last_offset=end - 1,
        min_timestamp=request.min_timestamp,
        max_timestamp=request.max_timestamp,
        aborted=aborted,
    )
    return ReadRequest(
        columns=request.columns,
        selection=selection,
        chunking=request.chunking,
        is_view=request.is_view,
    )


def find_aborted(
    run: SegmentBatchRun, transactions: TransactionReader | TransactionLookahead
) -> tuple[AbortedTransaction, ...]:
    """Return the aborted transactions with batches in a run."""
    if not run.has_transactions:
        return ()
    entries = transactions.aborted_between(run.first_offset, run.next_offset)
    return tuple(AbortedTransaction(each.producer_id, each.first_offset) for each in entries)
