"""What becomes of batches as such, decided by their headers before any key is looked at.

    DROPPED         its records go: data of an aborted transaction, a marker whose time has come
    KEPT_IF_EMPTY   its header stays when nothing else does: the last of a producer, of the pass
    NEEDS_HORIZON   a marker of a transaction of which nothing is left: its time begins to run
    CONTROL         records of brokers: they have no numbers, and no marks

Fates are bits that may come together. Hardly any batch has one, so only those are written down.
"""

from array import array
from dataclasses import dataclass, field
from enum import IntFlag

from cordwood.storage.index import AbortedEntry


class Fate(IntFlag):
    """What a batch's header decides."""

    NONE = 0
    DROPPED = 1
    KEPT_IF_EMPTY = 2
    NEEDS_HORIZON = 4
    CONTROL = 8


@dataclass(slots=True)
class SegmentSurvey:
    """What one segment's headers say: batches by their positions in it, increasing.

    `first_number` is the number of its first record, and `records` how many are numbered in it.
    `aborted` goes into the transaction index of the segment that takes its place.
    """

    base_offset: int
    first_number: int = 0
    records: int = 0
    batches: int = 0
    positions: "array[int]" = field(default_factory=lambda: array("q"))
    fates: "array[int]" = field(default_factory=lambda: array("b"))
    aborted: list[AbortedEntry] = field(default_factory=list)

    def add(self, position: int, fate: Fate) -> None:
        """Write down a batch, which lies behind those that were."""
        self.positions.append(position)
        self.fates.append(fate)
