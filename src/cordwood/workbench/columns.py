"""The records of a partition as Arrow record batches, run by run.

Each run of batches is decoded on its own, so a reading takes the memory of one run and one chunk.
Under read_committed the log ends at its last stable offset, and a run with transactional batches is
given the transactions that were aborted in it. Checksums are checked here, by the decoder; a batch
that fails is read again from where the one before it ended, for its file may have been written anew
in the middle of the reading. If it fails once more, it is damaged.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from cordwood.core.errors import BadRecordsError
from cordwood.records.chunk import AbortedTransaction, Chunking, Decoder, Request, Selection
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_segments import located
from cordwood.storage.reader_transactions import ReaderTransactions
from cordwood.storage.reader_walk import BatchRun
from cordwood.storage.scan import headers

if TYPE_CHECKING:
    import pyarrow as pa

#: How often a batch is read before it is called damaged.
MOST_READS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsWanted:
    """What is asked for. Offsets from `start` up to, not including, `end`."""

    columns: tuple[str, ...]
    start: int = 0
    end: int | None = None
    is_committed: bool = False
    is_view: bool = False
    chunking: Chunking = field(default_factory=Chunking)


def read_partition(
    reader: PartitionReader, wanted: ColumnsWanted, *, decoder: Decoder
) -> Iterator["pa.RecordBatch"]:
    """Yield the records that are wanted; without an `end` up to the log's, as it is now.

    The reader's files are closed at the end, also when that comes early.
    """
    with closing(reader):
        yield from _read(reader, wanted, decoder)


def _read(
    reader: PartitionReader, wanted: ColumnsWanted, decoder: Decoder
) -> Iterator["pa.RecordBatch"]:
    bounds = reader.offsets()
    offset = max(wanted.start, bounds.log_start)
    end = bounds.log_end if wanted.end is None else wanted.end
    transactions = ReaderTransactions(reader) if wanted.is_committed else None
    if transactions is not None:
        end = min(end, transactions.last_stable_offset())
    is_read, failures = False, 0
    while not is_read:
        try:
            for run in reader.buffers(offset, end, is_kept=wanted.is_view):
                request = _request(run, wanted, end, transactions)
                yield from _decoded(run, decoder, request)
                offset, failures = run.next_offset, 0
            is_read = True
        except _UndecodableError as failed:
            failures = 1 if failed.next_offset > offset else failures + 1
            if failures == MOST_READS:
                raise failed.error from failed
            offset = max(offset, failed.next_offset)


class _UndecodableError(Exception):
    """A decoder has refused a batch behind the one that ends below `next_offset`."""

    def __init__(self, error: BadRecordsError, next_offset: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.next_offset = next_offset


def _decoded(run: BatchRun, decoder: Decoder, request: Request) -> Iterator["pa.RecordBatch"]:
    from cordwood.records.columns import read_columns  # noqa: PLC0415  # pyarrow: 0.2 s

    try:
        yield from read_columns(run.data, decoder, request=request)
    except BadRecordsError as error:
        position = error.position or 0
        before = list(headers(lambda length, at: run.data[at : at + length], 0, position))
        next_offset = before[-1].next_offset if before else run.first_offset
        raise _UndecodableError(
            located(error, run.path, shift=run.position), next_offset
        ) from error


def _request(
    run: BatchRun, wanted: ColumnsWanted, end: int, transactions: ReaderTransactions | None
) -> Request:
    aborted = None
    if transactions is not None:
        aborted = aborted_in(run, transactions)
    selection = Selection(first_offset=wanted.start, last_offset=end - 1, aborted=aborted)
    return Request(
        columns=wanted.columns,
        selection=selection,
        chunking=wanted.chunking,
        is_view=wanted.is_view,
    )


def aborted_in(run: BatchRun, transactions: ReaderTransactions) -> tuple[AbortedTransaction, ...]:
    """Return the aborted transactions that have batches in a run."""
    if not run.has_transactions:
        return ()
    entries = transactions.aborted_between(run.first_offset, run.next_offset)
    return tuple(AbortedTransaction(each.producer_id, each.first_offset) for each in entries)
