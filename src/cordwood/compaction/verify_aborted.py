"""The transaction indexes of what is left, held against the markers that need an entry.

An abort marker that stays with data of its transaction, or that lost them in this very pass, has
the entry that it had: readers skip by it. Where no index had it, which happens when an index was
lost, it at least names the producer and begins where the data do, or before.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cordwood.compaction.verify_indexes import aborted_entries
from cordwood.compaction.verify_reading import SegmentFile
from cordwood.compaction.verify_transactions import Aborted
from cordwood.compaction.violations import Violation
from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import SegmentSource
from cordwood.storage.index import AbortedEntry

NO_DATA: Final = "an aborted transaction without data is in the transaction index"
_WRONG: Final = "an aborted transaction is not in the transaction index as it was"


def aborted_before(source: SegmentSource, files: Sequence[SegmentFile]) -> dict[int, AbortedEntry]:
    """Return what indexes said before, by marker; what cannot be read has said nothing."""
    entries: dict[int, AbortedEntry] = {}
    for file in files:
        try:
            found = list(aborted_entries(source, file))
        except DamagedFileError:
            continue
        entries.update((entry.last_offset, entry) for entry in found)
    return entries


def aborted_faults(
    needed: Mapping[int, Aborted],
    left: Mapping[int, AbortedEntry],
    *,
    before: Mapping[int, AbortedEntry],
) -> Iterator[Violation]:
    """Yield what the indexes lack, and what they have and should not."""
    for marker, aborted in needed.items():
        known, found = before.get(marker), left.get(marker)
        if not _is_right(aborted, known, found):
            where = f"producer {aborted.producer_id}"
            yield Violation(_WRONG, where, marker, -1, str(known or aborted), str(found))
    for marker in left.keys() - needed.keys():
        yield Violation(NO_DATA, f"producer {left[marker].producer_id}", marker)


def _is_right(  # tidy: allow[positional] as the log, the index before and the index now have it
    aborted: Aborted, known: AbortedEntry | None, found: AbortedEntry | None
) -> bool:
    if found is None or known is not None:
        return found == known
    is_of_producer = found.producer_id == aborted.producer_id
    return is_of_producer and found.first_offset <= aborted.first_offset
