"""Rebuild of a key map's memory, for more slots or fewer keys; and the marks of its keys.

Each walks over the arena, entry by entry, in memory order.
"""

from cordwood.compaction.kernels.key_entries import (
    ENTRY_HEADER,
    KEY_SIZE_AT,
    SLOT_SIZE,
    slot_of,
    slot_position,
)
from cordwood.compaction.kernels.key_hashes import hash_of
from cordwood.compaction.kernels.key_learning import (
    K_BELOW,
    K_KEYS,
    K_SEED,
    K_USED,
    K_WIDTH,
    LEARNING_WORDS,
    is_in_range,
    mark,
)
from cordwood.records.kernels.intrinsics import (
    byte_at,
    load_32,
    soon_written,
    store_8,
    store_64,
    word_at,
)
from cordwood.records.kernels.kernel_definition import (
    INT,
    NOTHING,
    SLAB,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
)

#: As many slots are fetched before the first of them is written.
AHEAD = 64


@inlined
def _size_at(arena: Bytes, entry: int) -> int:
    """The bytes of an entry."""
    return ENTRY_HEADER + load_32(arena, entry + KEY_SIZE_AT)


@inlined
def _hash_at(arena: Bytes, entry: int, seed: int) -> int:
    """The hash of an entry's key."""
    return hash_of(arena, entry + ENTRY_HEADER, load_32(arena, entry + KEY_SIZE_AT), seed)


@inlined
def _move_down(arena: Bytes, to: int, place: int, size: int) -> None:
    """Move bytes towards the arena's start, where they may overlap what they were."""
    whole = size & ~7
    for done in range(0, whole, 8):
        store_64(arena, to + done, word_at(arena, place + done))
    for done in range(whole, size):
        store_8(arena, to + done, byte_at(arena, place + done))


@inlined
def _fill_slot(slots: Bytes, key_hash: int, entry: int) -> None:
    """Write the slot of a key that has none."""
    mask = len(slots) - SLOT_SIZE
    position = slot_position(key_hash, slots)
    while word_at(slots, position) != 0:
        position = position + SLOT_SIZE & mask
    store_64(slots, position, slot_of(key_hash, entry))


@kernel(NOTHING, WORDS.of(LEARNING_WORDS), SLAB.of(SLOT_SIZE), SLAB)
def fill_slots(words: Words, slots: Bytes, arena: Bytes) -> None:
    """Write the slots of all entries, where all are free."""
    used, seed = min(words[K_USED], len(arena)), words[K_SEED]
    fetched, entry = 0, 0
    while entry < used:
        fetched = max(fetched, entry)
        for _ in range(AHEAD):
            if fetched < used:
                soon_written(slots, slot_position(_hash_at(arena, fetched, seed), slots))
                fetched += _size_at(arena, fetched)
        while entry < fetched:
            _fill_slot(slots, _hash_at(arena, entry, seed), entry)
            entry += _size_at(arena, entry)


@kernel(NOTHING, WORDS.of(LEARNING_WORDS), SLAB)
def forget_others(words: Words, arena: Bytes) -> None:
    """Take the entries of keys out of the arena that the range has not."""
    used, seed, entry, kept = min(words[K_USED], len(arena)), words[K_SEED], 0, 0
    while entry < used:
        size = _size_at(arena, entry)
        if is_in_range(_hash_at(arena, entry, seed), words[K_BELOW], words[K_WIDTH]):
            _move_down(arena, kept, entry, size)
            kept += size
        else:
            words[K_KEYS] -= 1
        entry += size
    words[K_USED] = kept


@kernel(INT, WORDS.of(LEARNING_WORDS), SLAB, SLAB, INT)
def mark_learnt(words: Words, arena: Bytes, latest: Bytes, count: int) -> int:
    """Mark the last record of each key, but of those erased, which have none; counts them."""
    used, entry, marked = min(words[K_USED], len(arena)), 0, 0
    most = min(count, 8 * len(latest))
    while entry < used:
        number = word_at(arena, entry)
        if number < most:
            mark(latest, number)
            marked += 1
        entry += _size_at(arena, entry)
    return marked
