"""Keys in an arena, found by slots and compared byte by byte."""

import numpy as np
import pytest

from cordwood.compaction.kernels.key_entries import (
    ENTRY_HEADER,
    KEY_SIZE_AT,
    SLOT_SIZE,
    entry_of,
    find,
    is_same,
    slot_of,
    slot_position,
)
from cordwood.records.kernels.intrinsics import store_64, store_big_32
from cordwood.records.kernels.kernel_definition import Bytes, inlined
from tests.unit.records.kernels.words import source_of

SLOTS = 8


@inlined
def same(source: Bytes, arena: Bytes, size: int) -> bool:
    return is_same(source, 1, arena, 2, size)


@inlined
def placed(key_hash: int, slots: Bytes) -> int:
    return slot_position(key_hash, slots)


@inlined
def entry_again(key_hash: int, entry: int) -> int:
    return entry_of(slot_of(key_hash, entry))


@inlined
def put(key_hash: int, size: int, slots: Bytes, arena: Bytes) -> None:
    store_big_32(arena, KEY_SIZE_AT, size)
    store_64(slots, slot_position(key_hash, slots), slot_of(key_hash, 0))


@inlined
def found(source: Bytes, key_hash: int, slots: Bytes, arena: Bytes) -> tuple[int, int]:
    return find(source, 0, len(source), key_hash, slots, arena)


def memory_with(key: bytes, key_hash: int) -> tuple[Bytes, Bytes]:
    """Return slots and an arena that hold one key."""
    slots = np.zeros(SLOTS * SLOT_SIZE, np.uint8)
    arena = np.zeros(100, np.uint8)
    arena[ENTRY_HEADER : ENTRY_HEADER + len(key)] = memoryview(key)
    put(key_hash, len(key), slots, arena)
    return slots, arena


@pytest.mark.parametrize("size", (0, 1, 7, 8, 9, 15, 16, 17, 40))
def test_byte_ranges_are_equal_only_if_each_byte_is_equal(size: int) -> None:
    data = bytes(range(size))
    arena = np.frombuffer(b".." + data, np.uint8).copy()

    assert same(source_of(b"." + data), arena, size)
    for place in range(size):
        changed = arena.copy()
        changed[2 + place] ^= 1
        assert not same(source_of(b"." + data), changed, size)


def test_slot_is_chosen_by_the_low_bits_of_a_hash() -> None:
    slots = np.zeros(SLOTS * SLOT_SIZE, np.uint8)

    assert [placed(key_hash, slots) for key_hash in (0, 1, 9, -1)] == [0, 8, 8, 56]


@pytest.mark.parametrize("key_hash", (0, -1, 1 << 62, 0x123456789ABCDEF))
def test_slot_encodes_the_position_of_its_entry(key_hash: int) -> None:
    assert entry_again(key_hash, 1 << 39) == 1 << 39


def test_key_is_found_in_its_slot() -> None:
    slots, arena = memory_with(b"key", 5)

    assert found(source_of(b"key"), 5, slots, arena) == (0, 40)


@pytest.mark.parametrize("other", (b"kez", b"keys", b"ke", b""))
def test_key_with_an_equal_hash_and_other_bytes_is_not_found(other: bytes) -> None:
    slots, arena = memory_with(b"key", 5)

    assert found(source_of(other), 5, slots, arena) == (-1, 48)


def test_search_wraps_around_after_the_last_slot() -> None:
    slots, arena = memory_with(b"key", 7)

    assert found(source_of(b"other"), 7, slots, arena) == (-1, 0)
