"""The aborted transactions of a plan's segments, from the transaction indexes or from the log.

The indexes count as long as the markers of the survey confirm them
(`cleaned_transaction_metadata`). From the first unconfirmed offset on, the aborted transactions are
read from the log (`storage.reader.transaction_reader`). So a lost index loses no data: otherwise
aborted records would supersede committed ones.
"""

from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import Files
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.files.file_names import TXN_INDEX
from cordwood.storage.reader.checked_indexes import open_entries
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.segment_listing import ListedSegment
from cordwood.storage.reader.transaction_reader import TransactionReader
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)


class AbortedTransactions:
    """The aborted transactions of one directory, which may be in use; `entries` are the latest."""

    __slots__ = ("_end", "_first", "_reader", "entries")

    def __init__(self, files: Files, directory: str, plan: CleaningPlan) -> None:
        self.entries: tuple[AbortedTxn, ...] = ()
        self._first = plan.segments[0].base_offset
        self._end = plan.end
        self._reader = PartitionReader(DirectorySource(files, directory))

    def read_indexes(self) -> tuple[AbortedTxn, ...]:
        """Return the entries of the indexes, in the order of the markers."""
        self.entries = self._reader.retry_on_change(self._indexed)
        return self.entries

    def recheck(self, unconfirmed_from: int) -> bool:
        """Read the entries from an offset on from the log; return whether `entries` were right."""
        confirmed = tuple(each for each in self.entries if each.last_offset < unconfirmed_from)
        reread = TransactionReader(self._reader).aborted_between(unconfirmed_from, self._end)
        before, self.entries = self.entries, confirmed + reread
        return before == self.entries

    def close(self) -> None:
        """Close all files."""
        self._reader.close()

    def _indexed(self) -> tuple[AbortedTxn, ...]:
        return tuple(
            entry
            for each in self._reader.list_segments()
            if each.base_offset >= self._first
            for entry in self._entries_of(each)
            if entry.first_offset < self._end
        )

    def _entries_of(self, segment: ListedSegment) -> tuple[AbortedTxn, ...]:
        """Return the entries of one index; none if it is damaged."""
        names = segment.index_names(TXN_INDEX)
        entries = open_entries(self._reader.source, names, entry_size=ABORTED_TXN_SIZE)
        try:
            return tuple(TransactionIndex(segment.base_offset, entries).read())
        except DamagedFileError:
            return ()
