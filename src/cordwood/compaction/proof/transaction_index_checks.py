"""Check of the output's transaction indexes against the markers that need an entry.

An abort marker that survives with data of its transaction, or that lost them in this pass, keeps
its entry: readers skip by it. If its index had been lost, the new entry at least names the producer
and begins at or before the data.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cordwood.compaction.proof.batch_reader import SegmentFile
from cordwood.compaction.proof.index_checks import aborted_entries
from cordwood.compaction.proof.transaction_outcomes import AbortedRange
from cordwood.compaction.proof.violations import Violation
from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import SegmentSource
from cordwood.storage.segment.transaction_index import AbortedTxn

NO_DATA: Final = "an aborted transaction without data is in the transaction index"
_WRONG: Final = "an aborted transaction is not in the transaction index as it was"


def aborted_before(source: SegmentSource, files: Sequence[SegmentFile]) -> dict[int, AbortedTxn]:
    """Return the original index entries, by marker; unreadable indexes count as empty."""
    entries: dict[int, AbortedTxn] = {}
    for file in files:
        try:
            found = list(aborted_entries(source, file))
        except DamagedFileError:
            continue
        entries.update((entry.last_offset, entry) for entry in found)
    return entries


def aborted_faults(
    needed: Mapping[int, AbortedRange],
    left: Mapping[int, AbortedTxn],
    *,
    before: Mapping[int, AbortedTxn],
) -> Iterator[Violation]:
    """Yield the missing and the superfluous entries."""
    for marker, aborted in needed.items():
        known, found = before.get(marker), left.get(marker)
        if not _is_right(aborted, known, found):
            where = f"producer {aborted.producer_id}"
            yield Violation(_WRONG, where, marker, -1, str(known or aborted), str(found))
    for marker in left.keys() - needed.keys():
        yield Violation(NO_DATA, f"producer {left[marker].producer_id}", marker)


def _is_right(  # tidy: allow[positional] as the log, the index before and the index now have it
    aborted: AbortedRange, known: AbortedTxn | None, found: AbortedTxn | None
) -> bool:
    if found is None or known is not None:
        return found == known
    is_of_producer = found.producer_id == aborted.producer_id
    return is_of_producer and found.first_offset <= aborted.first_offset
