"""Mistakes that are planted in salvage, and that few logs show; a log that does is named for each.

The seeds are those of logs that a salvage was once wrong with.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from cordwood.workbench.salvage import (
    batch_chain,
    batch_offsets,
    offset_doubts,
    salvage_report,
    transaction_evidence,
)
from cordwood.workbench.salvage.batch_run import SalvagedRun
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.lost_markers import LostMarkers
from cordwood.workbench.salvage.offset_witnesses import OffsetWitnesses
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch

_OUTSIDE: Final = "outside of checksums"


class RareMistake(NamedTuple):
    """A replacement of a function, and the seed and the damage of a log that shows it."""

    owner: object
    name: str
    replacement: object
    seed: int
    kinds: tuple[str, ...] = ()

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        """Make the mistake."""
        patch.setattr(self.owner, self.name, self.replacement)


def _no(*_: object, **__: object) -> bool:
    return False


def _yes(*_: object, **__: object) -> bool:
    return True


def _none(*_: object, **__: object) -> Iterator[int]:
    return iter(())


def _no_old(*_: object, **__: object) -> int:
    return -1


def _has_no_bounds(batch: SalvagedBatch, *_: object) -> bool:
    return batch.offset >= 0


RARE: Final[dict[str, RareMistake]] = {
    "epochs contradict nothing": RareMistake(
        OffsetWitnesses, "_has_epoch", _no, 15_931, (_OUTSIDE,)
    ),
    "snapshots contradict nothing": RareMistake(
        OffsetWitnesses, "_has_other_last_offset", _no, 18_301, (_OUTSIDE,)
    ),
    "witnesses do not decide between chains": RareMistake(
        FileBounds, "contradicts", _no, 30_634, (_OUTSIDE,)
    ),
    "the time of a damaged batch is that of the next one": RareMistake(
        offset_doubts, "_are_adjacent", _yes, 200_965
    ),
    "no bytes are missing between whole batches": RareMistake(
        offset_doubts, "_cut", _none, 1888, ("bytes cut out",)
    ),
    "an old message may follow a v2 batch": RareMistake(
        batch_chain, "_last_old", _no_old, 13_264, ("false abort", "burst")
    ),
    "a batch may be across the base offset": RareMistake(
        batch_offsets, "_is_possible", _has_no_bounds, 15_799, ("marker", _OUTSIDE)
    ),
    "a marker that is found is in its place": RareMistake(
        SalvagedRun, "is_displaced", property(_no), 15_396, (_OUTSIDE, "burst")
    ),
    "a damaged range hides nothing behind its batch": RareMistake(
        salvage_report, "_is_longer", _no, 219_531
    ),
    "a damaged marker ends no transaction": RareMistake(
        LostMarkers, "has_earlier_end", _no, 12_908, ("false abort", "burst")
    ),
    "a marker may be at the offset of data": RareMistake(
        transaction_evidence, "_check_data", _no, 17_034, ("false abort", "header")
    ),
}
