"""Corrected base offsets of batches, for copies of them in other files of the partition.

A copy of a segment has the same wrong base offset, and perhaps no neighbour that shows it. A batch
is the same if its checksum, its size and its base offset in the file are.
"""

from collections.abc import Iterable
from operator import attrgetter

from cordwood.records.record_batch import MAGIC
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch


class OffsetCorrections:
    """The corrected base offsets of the files read before."""

    def __init__(self) -> None:
        self._offsets: dict[tuple[int, int, int], int] = {}

    def has_copy(self, batch: SalvagedBatch) -> bool:
        """Return whether a batch is a copy of one that got another offset."""
        return self._offsets.get(_key_of(batch), batch.offset) != batch.offset

    def split(
        self, batches: Iterable[SalvagedBatch]
    ) -> tuple[list[SalvagedBatch], list[SalvagedBatch]]:
        """Return the batches of a file without copies, and the copies at their offsets, in order.

        The corrected batches of the file are added.
        """
        own, copies, found = [], [], dict[tuple[int, int, int], int]()
        for batch in batches:
            header, key = batch.header, _key_of(batch)
            if self.has_copy(batch):
                copies.append(batch._replace(offset=self._offsets[key]))
                continue
            own.append(batch)
            if header.magic == MAGIC and batch.offsets is None and batch.offset != key[2]:
                found.setdefault(key, batch.offset)
        for key, offset in found.items():
            self._offsets.setdefault(key, offset)
        return own, sorted(copies, key=attrgetter("offset"))


def _key_of(batch: SalvagedBatch) -> tuple[int, int, int]:
    return batch.header.crc, batch.header.size, batch.header.base_offset
