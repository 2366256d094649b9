"""The records of a partition as Arrow record batches, run by run.

Each run of batches is decoded on its own, so a reading takes the memory of one run and one chunk.
Under read_committed the log ends at its last stable offset, and a run with transactional batches is
given the transactions that were aborted in it. What the log loses in the middle of the reading, by
retention say, is told to whoever may know another place for it.

Checksums are checked here, by the decoder; a batch that fails is read again from where the one
before it ended, for its file may have been written anew in the middle of the reading. If it fails
once more, it is damaged.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.core.errors import BadRecordsError
from cordwood.records.chunk import AbortedTransaction, Chunking, Decoder, Request, Selection
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_segments import located
from cordwood.storage.reader_transactions import ReaderTransactions, TransactionsAhead
from cordwood.storage.reader_walk import BatchRun
from cordwood.storage.scan import headers

if TYPE_CHECKING:
    import pyarrow as pa

#: Yields what comes in place of lost offsets, from the first up to, not including, the second.
InPlaceOf: TypeAlias = Callable[[int, int], Iterator["pa.RecordBatch"]]

#: How often a batch is read before it is called damaged.
MOST_READS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsWanted:
    """What is asked for. Offsets from `start` up to, not including, `end`, and times within both.

    `is_decided` says that no transaction is open before the `end`: nobody looks that up again.
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


def nothing(_start: int, _end: int) -> Iterator["pa.RecordBatch"]:
    """Yield nothing in place of what a log has lost."""
    yield from ()


def read_partition(
    reader: PartitionReader,
    wanted: ColumnsWanted,
    *,
    decoder: Decoder,
    in_place_of: InPlaceOf = nothing,
) -> Iterator["pa.RecordBatch"]:
    """Yield the records that are wanted; without an `end` up to the log's, as it is now.

    Where offsets that are wanted are before the log's start or behind its end by the time they are
    reached, what `in_place_of` yields comes in their place. The reader's files are closed at the
    end, also when that comes early.
    """
    with closing(reader):
        yield from _Reading(reader, wanted, decoder=decoder, in_place_of=in_place_of).batches()


class _Reading:
    """One reading, and how far it has got."""

    def __init__(
        self,
        reader: PartitionReader,
        wanted: ColumnsWanted,
        *,
        decoder: Decoder,
        in_place_of: InPlaceOf,
    ) -> None:
        self._reader = reader
        self._wanted = wanted
        self._decoder = decoder
        self._in_place_of = in_place_of
        self._offset = wanted.start
        self._end = 0
        self._transactions: ReaderTransactions | TransactionsAhead | None = None
        self._is_over = False

    def batches(self) -> Iterator["pa.RecordBatch"]:
        """Yield everything; what fails to be decoded is read again before it is damage."""
        self._begin()
        failures = 0
        while not self._is_over:
            try:
                yield from self._attempt()
            except _UndecodableError as failed:
                failures = 1 if failed.next_offset > self._offset else failures + 1
                if failures == MOST_READS:
                    raise failed.error from failed
                self._offset = max(self._offset, failed.next_offset)
        yield from self._behind()

    def _begin(self) -> None:
        """Find out where it ends."""
        reader, wanted = self._reader, self._wanted
        self._end = reader.offsets().log_end if wanted.end is None else wanted.end
        if wanted.is_committed and wanted.is_decided:
            self._transactions = TransactionsAhead(reader, self._end)
        elif wanted.is_committed:
            self._transactions = transactions = ReaderTransactions(reader)
            self._end = min(self._end, transactions.last_stable_offset())

    def _attempt(self) -> Iterator["pa.RecordBatch"]:
        """Go on from where it has got to."""
        for run in self._reader.buffers(self._offset, self._end, is_kept=self._wanted.is_view):
            if run.has_transactions and self._has_looked_ahead():
                return
            yield from self._lost(self._offset, min(run.first_offset, self._log_start(run)))
            request = _request(run, self._wanted, self._end, self._transactions)
            yield from _decoded(run, self._decoder, request)
            self._offset = run.next_offset
        self._is_over = True

    def _has_looked_ahead(self) -> bool:
        """Look ahead for aborted transactions, once; say that it was now.

        A cleaner takes away what was aborted: bytes that were read before the look are too old.
        """
        transactions = self._transactions
        if not isinstance(transactions, TransactionsAhead) or transactions.is_known:
            return False
        transactions.look(self._offset)
        return True

    def _log_start(self, run: BatchRun) -> int:
        """Return where the log starts, if that matters: a run begins behind what was reached."""
        return self._reader.log_start() if run.first_offset > self._offset else 0

    def _behind(self) -> Iterator["pa.RecordBatch"]:
        """Yield what comes in place of lost offsets behind the last batch there is."""
        if self._offset < self._end:
            bounds = self._reader.offsets()
            yield from self._lost(self._offset, min(bounds.log_start, self._end))
            yield from self._lost(max(self._offset, bounds.log_end), self._end)

    def _lost(self, start: int, end: int) -> Iterator["pa.RecordBatch"]:
        return self._in_place_of(start, end) if start < end else iter(())


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
    run: BatchRun,
    wanted: ColumnsWanted,
    end: int,
    transactions: ReaderTransactions | TransactionsAhead | None,
) -> Request:
    aborted = None
    if transactions is not None:
        aborted = aborted_in(run, transactions)
    selection = Selection(
        first_offset=wanted.start,
        last_offset=end - 1,
        min_timestamp=wanted.min_timestamp,
        max_timestamp=wanted.max_timestamp,
        aborted=aborted,
    )
    return Request(
        columns=wanted.columns,
        selection=selection,
        chunking=wanted.chunking,
        is_view=wanted.is_view,
    )


def aborted_in(
    run: BatchRun, transactions: ReaderTransactions | TransactionsAhead
) -> tuple[AbortedTransaction, ...]:
    """Return the aborted transactions that have batches in a run."""
    if not run.has_transactions:
        return ()
    entries = transactions.aborted_between(run.first_offset, run.next_offset)
    return tuple(AbortedTransaction(each.producer_id, each.first_offset) for each in entries)
