"""Layout of the keys in a key map's memory: entries in an arena, and slots with their positions.

    arena   entries in arrival order: number i64 | size u32 | the key's bytes
    slots   words, a power of two of them; 0 is free. The hash of a key selects a slot: the first
            matching or free one from there on
            bits 0-39   the position of the entry, plus one
            bits 40-63  a part of the hash, so that few other keys' bytes are compared

The number is that of the key's last record. The slots can be rebuilt from the arena alone, for more
slots or for fewer keys.
"""

from typing import Final

from cordwood.records.kernels.intrinsics import byte_at, load_32, word_at, wrapping_product
from cordwood.records.kernels.kernel_definition import Bytes, inlined

#: The size of an entry without its key.
ENTRY_HEADER: Final = 12
SLOT_SIZE: Final = 8
#: The number of a key that is erased: no record has it.
ERASED: Final = (1 << 63) - 1

KEY_SIZE_AT = 8
_SLOT_SHIFT = 3
_PLACE_BITS = 40
_PLACES = (1 << _PLACE_BITS) - 1
_TAG_FACTOR = 1 << 20
_TAGS = -1 << _PLACE_BITS


@inlined
def slot_position(key_hash: int, slots: Bytes) -> int:
    """Return the preferred slot of a key."""
    return key_hash << _SLOT_SHIFT & len(slots) - SLOT_SIZE


@inlined
def slot_of(key_hash: int, entry: int) -> int:
    """The slot of a key whose entry begins there."""
    return tag_of(key_hash) | entry + 1


@inlined
def tag_of(key_hash: int) -> int:
    """Return the part of a hash in its slot: bits that neither select the slot nor, mostly, the
    range.
    """
    return wrapping_product(key_hash, _TAG_FACTOR) & _TAGS


@inlined
def entry_of(slot: int) -> int:
    """Where the entry of a slot begins; -1 for a free one."""
    return (slot & _PLACES) - 1


@inlined
def is_same(source: Bytes, at: int, arena: Bytes, to: int, size: int) -> bool:
    """Whether two stretches of `size` bytes hold the same."""
    if size < 8:
        for place in range(size):
            if byte_at(source, at + place) != byte_at(arena, to + place):
                return False
        return True
    last = size - 8
    for place in range(0, last, 8):
        if word_at(source, at + place) != word_at(arena, to + place):
            return False
    return word_at(source, at + last) == word_at(arena, to + last)


@inlined
def find(
    source: Bytes, at: int, size: int, key_hash: int, slots: Bytes, arena: Bytes
) -> tuple[int, int]:
    """The entry of a key, or -1, and its slot's position, or that of the free one it could have."""
    tag = tag_of(key_hash)
    mask = len(slots) - SLOT_SIZE
    position = slot_position(key_hash, slots)
    while True:
        slot = word_at(slots, position)
        if slot == 0:
            return -1, position
        if slot & _TAGS == tag:
            entry = entry_of(slot)
            is_key = load_32(arena, entry + KEY_SIZE_AT) == size
            if is_key and is_same(source, at, arena, entry + ENTRY_HEADER, size):
                return entry, position
        position = position + SLOT_SIZE & mask
