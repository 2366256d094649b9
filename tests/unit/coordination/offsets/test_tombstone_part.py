"""A part of tombstones is as large as a batch may be, and has one key at least."""

from cordwood.coordination.offsets.group_partition_map import GroupPartition
from cordwood.coordination.offsets.tombstone_part import part_of

KEYS = [GroupPartition("g", "orders", number) for number in range(3)]


def test_small_part_is_whole() -> None:
    part = part_of(KEYS)

    assert part.keys == KEYS
    assert part.is_whole
    assert part.room > 0


def test_part_ends_when_its_room_is_used() -> None:
    part = part_of(KEYS, room=100)

    assert part.keys == KEYS[:2]
    assert not part.is_whole


def test_part_that_ends_with_its_room_is_whole() -> None:
    assert part_of(KEYS[:2], room=100).is_whole


def test_part_takes_one_long_key() -> None:
    long = GroupPartition("g" * 100_000, "orders", 0)

    assert part_of([long, long]).keys == [long]
