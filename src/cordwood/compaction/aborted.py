"""Which transactions of a plan's segments were aborted: as the indexes say, or else the log.

Indexes are believed as long as the markers bear them out that a survey meets (`transactions`). From
where that is in doubt the log is asked, which may mean to read it (`storage.reader_transactions`):
so where an index is lost nothing is, as it would be if aborted records counted for their keys.
"""

from cordwood.compaction.plan import CleaningPlan
from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import Files
from cordwood.storage.index import ABORTED_ENTRY_SIZE, AbortedEntry, TransactionIndex
from cordwood.storage.names import TXN_INDEX
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_indexes import open_entries
from cordwood.storage.reader_listing import ListedSegment
from cordwood.storage.reader_transactions import ReaderTransactions
from cordwood.storage.source import DirectorySource


class AbortedTransactions:
    """Asks a directory that its owner may be changing."""

    __slots__ = ("_end", "_first", "_reader", "entries")

    def __init__(self, files: Files, directory: str, plan: CleaningPlan) -> None:
        self.entries: tuple[AbortedEntry, ...] = ()
        self._first = plan.segments[0].base_offset
        self._end = plan.end
        self._reader = PartitionReader(DirectorySource(files, directory))

    def indexed(self) -> tuple[AbortedEntry, ...]:
        """Return what the indexes say, in the order of the markers."""
        self.entries = self._reader.patiently(self._indexed)
        return self.entries

    def is_borne_out(self, doubtful_from: int) -> bool:
        """Look into the log from an offset on, and say whether `entries` were right."""
        sure = tuple(each for each in self.entries if each.last_offset < doubtful_from)
        told = ReaderTransactions(self._reader).aborted_between(doubtful_from, self._end)
        before, self.entries = self.entries, sure + told
        return before == self.entries

    def close(self) -> None:
        """Close what is open."""
        self._reader.close()

    def _indexed(self) -> tuple[AbortedEntry, ...]:
        return tuple(
            entry
            for each in self._reader.listed()
            if each.base_offset >= self._first
            for entry in self._entries_of(each)
            if entry.first_offset < self._end
        )

    def _entries_of(self, segment: ListedSegment) -> tuple[AbortedEntry, ...]:
        """Return the entries of one index; none of one that is damaged."""
        name = segment.name(TXN_INDEX)
        entries = open_entries(self._reader.source, name, entry_size=ABORTED_ENTRY_SIZE)
        try:
            return tuple(TransactionIndex(segment.base_offset, entries).read())
        except DamagedFileError:
            return ()
