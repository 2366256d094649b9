"""The plain twin of surveyors: batch after batch, by its header."""

from array import array
from collections.abc import Collection

from cordwood.compaction.engine import Sighting
from cordwood.core.binary import Buffer
from cordwood.records.stream import AnyBatch, batches


class PlainSurveyor:
    """Notes control batches, those of transactions, and those that end with one of the offsets."""

    __slots__ = ("_last_offsets",)

    def __init__(self, last_offsets: Collection[int] = ()) -> None:
        self._last_offsets = frozenset(last_offsets)

    def look(self, data: Buffer) -> Sighting:
        size = count = records = 0
        noted = array("q")
        for batch in batches(data):
            size, count = batch.end, count + 1
            records += numbered(batch)
            if self.notes(batch):
                noted.append(batch.position)
        return Sighting(size, count, records, noted)

    def notes(self, batch: AnyBatch) -> bool:
        """Whether a batch may have a fate."""
        is_of_producer = batch.is_control or batch.is_transactional
        return is_of_producer or batch.last_offset in self._last_offsets


def numbered(batch: AnyBatch) -> int:
    """Return how many records of a batch have a number."""
    if batch.is_control:
        return 0
    count = batch.count
    if count < 0:
        raise batch.place.invalid(
            "a record count that cannot be right", expected="at least 0", found=count
        )
    return count
