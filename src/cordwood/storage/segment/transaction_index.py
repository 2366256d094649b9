"""Transaction index of a segment: its aborted transactions (Kafka: `TransactionIndex`).

    .txnindex   34 bytes   0  i16  version, 0
                           2  i64  producer id              of the aborted transaction
                          10  i64  first offset             of its records
                          18  i64  last offset              of its marker
                          26  i64  last stable offset       after the abort

Entries are in the order of their markers, and a transaction is in the index of the segment that
has its marker.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import DamagedFileError
from cordwood.storage.segment.abstract_index import (
    REMEDY,
    IndexEntries,
    IndexKey,
    IndexOrderError,
    check_offset,
    check_size,
    find_last_at_most,
    read_blocks,
)

ABORTED_TXN_SIZE: Final = 34

# Kafka reads the version from the first byte of the i16 only, so the second byte is not checked.
_ENTRY: Final = Struct(">bxqqqq")
_LAST_OFFSETS: Final = IndexKey(Struct(">q"), 18, ABORTED_TXN_SIZE)


class AbortedTxn(NamedTuple):
    """A transaction that was aborted by the marker at `last_offset` (Kafka: `AbortedTxn`)."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TxnIndexSearchResult(NamedTuple):
    """The aborted transactions found in one segment (Kafka: `TxnIndexSearchResult`).

    Unless the result is complete, the search continues in the next segment.
    """

    aborted: tuple[AbortedTxn, ...]
    is_complete: bool


class TransactionIndex:
    """The aborted transactions whose markers are in one segment."""

    __slots__ = ("base_offset", "entries")

    def __init__(self, base_offset: int, entries: IndexEntries) -> None:
        self.base_offset = base_offset
        self.entries = entries

    @property
    def last(self) -> AbortedTxn | None:
        """The last entry; None if the index is empty."""
        count = self.entries.count
        return next(self.read(count - 1)) if count else None

    def read(self, first: int = 0) -> Iterator[AbortedTxn]:
        """Yield the entries from number `first` on."""
        for number, data in read_blocks(self.entries, ABORTED_TXN_SIZE, first=first):
            for step, (version, *fields) in enumerate(_ENTRY.iter_unpack(data)):
                if version:
                    raise DamagedFileError(
                        "an entry has an unknown version",
                        path=self.entries.path,
                        position=(number + step) * ABORTED_TXN_SIZE,
                        expected=0,
                        found=version,
                        remedy=REMEDY,
                    )
                yield AbortedTxn(*fields)

    def collect(self, first_offset: int, end_offset: int) -> TxnIndexSearchResult:
        """Return the transactions that a reader of [`first_offset`, `end_offset`) has to skip."""
        found: list[AbortedTxn] = []
        for entry in self.read(self.count_below(first_offset)):
            if entry.first_offset < end_offset:
                found.append(entry)
            # With everything before `end_offset` decided, a later marker cannot add a transaction.
            if entry.last_stable_offset >= end_offset:
                return TxnIndexSearchResult(tuple(found), is_complete=True)
        return TxnIndexSearchResult(tuple(found), is_complete=False)

    def count_below(self, offset: int) -> int:
        """Return the number of entries that a truncation to `offset` keeps."""
        return 1 + find_last_at_most(self.entries, _LAST_OFFSETS, target=offset - 1)

    def encode(self, entry: AbortedTxn) -> bytes:
        """Return the bytes of an entry that follows the last one."""
        last = self.last
        if last is not None and entry.last_offset <= last.last_offset:
            raise IndexOrderError(
                f"{self.entries.path}: marker {entry.last_offset} cannot follow {last.last_offset}"
            )
        return _ENTRY.pack(0, *entry)

    def sanity_check(self) -> None:
        """Raise DamagedFileError for an unknown version, a partial entry or a foreign marker."""
        check_size(self.entries, ABORTED_TXN_SIZE)
        for number, entry in enumerate(self.read()):
            position = number * ABORTED_TXN_SIZE
            check_offset(
                self.entries, entry.last_offset, base_offset=self.base_offset, position=position
            )

    def check_order(self) -> None:
        """Raise DamagedFileError for entries that no log can have, which lookups rely on.

        Markers ascend. The transactions of one producer do not overlap. No transaction begins
        behind its marker, and the last stable offset is at most the one behind it.
        """
        last_offset, ends = -1, dict[int, int]()
        for number, entry in enumerate(self.read()):
            begin = ends.get(entry.producer_id, -1) + 1
            for field, found, lowest, highest in (
                ("last offset", entry.last_offset, last_offset + 1, INT64_MAX),
                ("producer id", entry.producer_id, 0, INT64_MAX),
                ("first offset", entry.first_offset, begin, entry.last_offset),
                ("last stable offset", entry.last_stable_offset, 0, entry.last_offset + 1),
            ):
                if not lowest <= found <= highest:
                    raise self._disorder(number, field, found=found, expected=(lowest, highest))
            last_offset = ends[entry.producer_id] = entry.last_offset

    def _disorder(
        self, number: int, field: str, *, found: int, expected: tuple[int, int]
    ) -> DamagedFileError:
        return DamagedFileError(
            f"an entry with an impossible {field}",
            path=self.entries.path,
            position=number * ABORTED_TXN_SIZE,
            expected="{} to {}".format(*expected),
            found=found,
            remedy=REMEDY,
        )
