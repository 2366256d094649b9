"""Part of many tombstones, as many as one batch takes (Kafka: `CoordinatorResult.isAtomic`).

Kafka splits what need not be atomic by `max.message.bytes`. A part is estimated from the lengths of
its names, far below the default of that setting, so that an append takes a short time too.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from cordwood.coordination.offsets.group_partition_map import GroupPartition

PART_BYTES: Final = 100_000

#: The fields of a record without its names.
_RECORD_BYTES: Final = 50
#: The most bytes of a UTF-16 unit in UTF-8.
_BYTES_PER_UNIT: Final = 3


class TombstonePart(NamedTuple):
    """The offsets to delete with one batch."""

    keys: list[GroupPartition]
    #: The bytes that are left in the batch; at or below 0 it is full.
    room: int
    is_whole: bool


def part_of(keys: Iterable[GroupPartition], *, room: int = PART_BYTES) -> TombstonePart:
    """Return the first of the keys, until the room is used, and whether they are all."""
    taken = list[GroupPartition]()
    for key in keys:
        if room <= 0:
            return TombstonePart(taken, room, is_whole=False)
        taken.append(key)
        room -= _RECORD_BYTES + _BYTES_PER_UNIT * (len(key.group_id) + len(key.topic))
    return TombstonePart(taken, room, is_whole=True)
