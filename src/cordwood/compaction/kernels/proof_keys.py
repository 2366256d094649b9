"""Keys of a proof in kernels: the dictionary of `key_checks`, in two arrays.

    slots   words: 0, or the position of an entry plus 1; as many as a power of two
    arena   entries of 48 bytes in native order, each with its key, up to a multiple of 8
             0  i64  hash                    |  24  i64  gone
             8  i64  left                    |  32  i64  expired
            16  i64  unexplained: twice the  |  40  i64  twice the key's size, plus 1 when a dirty
                     offset, plus 1 for a    |           record has it
                     tombstone; or -1        |

Keys are equal only if all their bytes are: a hash only selects the slot. The comparison differs
from that of the pass's key map, so that one bug cannot hide in both.
"""

from typing import Final

from cordwood.compaction.proof.key_checks import ERASED
from cordwood.records.kernels.intrinsics import byte_at, copy, store_64, word_at
from cordwood.records.kernels.kernel_definition import (
    INT,
    SLAB,
    SOURCE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
)

E_HASH: Final = 0
E_LEFT: Final = 8
E_UNEXPLAINED: Final = 16
E_GONE: Final = 24
E_EXPIRED: Final = 32
E_SIZE: Final = 40
E_KEY: Final = 48

# -- words of the table, which all kernels of a proof share with others of their own
V_USED: Final = 0  # bytes of the arena
V_KEYS: Final = 1
V_MOST_KEYS: Final = 2
V_MOST_BYTES: Final = 3
V_FIRST_DIRTY: Final = 4
V_SUPERSEDED: Final = 5
V_TOMBSTONES: Final = 6
V_UNIQUE_FROM: Final = 7  # clean records from here on are the only ones of their keys
TABLE_WORDS: Final = 8

#: The fault of a surviving or a removed record; `key_checks` words it.
RIGHT: Final = 0
STAYS_ERASED: Final = 1
STAYS: Final = 2
OLDER: Final = 3
LOST: Final = 4
TWICE: Final = 5

_NO_ENTRY: Final = -1
#: A slot is chosen by the hash's upper bits: all keys of one class have the same lower ones.
_SLOT_BITS_FROM = 32


@inlined
def has_same_bytes(one: Bytes, at: int, other: Bytes, place: int, size: int) -> bool:
    """Whether `size` bytes are the same in two places."""
    end = at + size
    while end - at >= 8:
        if word_at(one, at) != word_at(other, place):
            return False
        at += 8
        place += 8
    while at < end:
        if byte_at(one, at) != byte_at(other, place):
            return False
        at += 1
        place += 1
    return True


@inlined
def slot_of(key_hash: int, slots: Words) -> int:
    """Return the preferred slot of a key."""
    return key_hash >> _SLOT_BITS_FROM & len(slots) - 1


@inlined
def _is_key(arena: Bytes, entry: int, source: Bytes, key: int, size: int) -> bool:
    """Whether an entry's key has these bytes."""
    if word_at(arena, entry + E_SIZE) >> 1 != size:
        return False
    return has_same_bytes(arena, entry + E_KEY, source, key, size)


@inlined
def entry_of(  # noqa: PLR0913, PLR0917  # a kernel takes what it needs in order
    source: Bytes, key: int, size: int, key_hash: int, words: Words, slots: Words, arena: Bytes
) -> int:
    """Find a key's entry, or make it; -1 when there is no room for one."""
    mask = len(slots) - 1
    slot = slot_of(key_hash, slots)
    while slots[slot] != 0:
        entry = int(slots[slot]) - 1
        if word_at(arena, entry + E_HASH) == key_hash and _is_key(arena, entry, source, key, size):
            return entry
        slot = (slot + 1) & mask
    entry = int(words[V_USED])
    used = entry + E_KEY + (size + 7 & ~7)
    if words[V_KEYS] >= words[V_MOST_KEYS] or used > min(words[V_MOST_BYTES], len(arena)):
        return _NO_ENTRY
    store_64(arena, entry + E_HASH, key_hash)
    store_64(arena, entry + E_LEFT, -1)
    store_64(arena, entry + E_UNEXPLAINED, -1)
    store_64(arena, entry + E_GONE, 0)
    store_64(arena, entry + E_EXPIRED, 0)
    store_64(arena, entry + E_SIZE, size << 1)
    copy(arena, entry + E_KEY, source, key, size)
    slots[slot] = entry + 1
    words[V_USED] = used
    words[V_KEYS] += 1
    return entry


@inlined
def learn(arena: Bytes, entry: int, offset: int) -> None:
    """Remember that a record is left."""
    if offset > word_at(arena, entry + E_LEFT):
        store_64(arena, entry + E_LEFT, offset)


@inlined
def see_left(words: Words, arena: Bytes, entry: int, offset: int) -> int:
    """Check a surviving record; return its fault."""
    first_dirty, left = words[V_FIRST_DIRTY], word_at(arena, entry + E_LEFT)
    if offset >= first_dirty:
        store_64(arena, entry + E_SIZE, word_at(arena, entry + E_SIZE) | 1)
    if left == ERASED:
        return STAYS_ERASED
    if offset >= left:
        return RIGHT
    if left >= first_dirty:
        return STAYS
    return RIGHT if offset < words[V_UNIQUE_FROM] else TWICE


@inlined
def see_gone(
    words: Words, arena: Bytes, entry: int, offset: int, is_tombstone: int, is_expired: int
) -> int:
    """Check a removed record; return its fault, if it is known already."""
    first_dirty, left = words[V_FIRST_DIRTY], word_at(arena, entry + E_LEFT)
    is_dirty = offset >= first_dirty
    if is_dirty:
        store_64(arena, entry + E_SIZE, word_at(arena, entry + E_SIZE) | 1)
    if left > offset and left >= first_dirty:
        words[V_SUPERSEDED] += 1
        return RIGHT
    if is_dirty:
        words[V_SUPERSEDED] += word_at(arena, entry + E_GONE)
        words[V_TOMBSTONES] -= word_at(arena, entry + E_EXPIRED)
        store_64(arena, entry + E_GONE, 0)
        store_64(arena, entry + E_EXPIRED, 0)
        store_64(arena, entry + E_UNEXPLAINED, -1)
    if left >= 0 and (is_dirty or not is_expired):
        return OLDER if left < offset else LOST
    store_64(arena, entry + E_GONE, word_at(arena, entry + E_GONE) + 1)
    if is_expired:
        store_64(arena, entry + E_EXPIRED, word_at(arena, entry + E_EXPIRED) + 1)
        words[V_TOMBSTONES] += 1
    else:
        store_64(arena, entry + E_UNEXPLAINED, offset << 1 | is_tombstone)
    return RIGHT


#: The action for one record.
IS_LEARNT: Final = 0
IS_LEFT: Final = 1
IS_GONE: Final = 2
IS_GONE_TOMBSTONE: Final = 3
IS_GONE_EXPIRED: Final = 4


@inlined
def take(what: int, words: Words, arena: Bytes, entry: int, offset: int) -> int:
    """Process a record whose key has an entry; return its fault."""
    if what == IS_LEARNT:
        learn(arena, entry, offset)
        return RIGHT
    if what == IS_LEFT:
        return see_left(words, arena, entry, offset)
    is_expired = what == IS_GONE_EXPIRED
    is_tombstone = is_expired or what == IS_GONE_TOMBSTONE
    return see_gone(words, arena, entry, offset, is_tombstone, is_expired)


@kernel(INT, INT, SOURCE, INT, INT, WORDS.of(TABLE_WORDS), WORDS.of(1), SLAB)
def see_one(  # noqa: PLR0913, PLR0917  # a kernel takes what it needs in order
    what: int, key: Bytes, key_hash: int, offset: int, words: Words, slots: Words, arena: Bytes
) -> int:
    """Take one record, whose key is all of `key`; -1 when there is no room for it."""
    entry = entry_of(key, 0, len(key), key_hash, words, slots, arena)
    return _NO_ENTRY if entry < 0 else int(take(what, words, arena, entry, offset))


@inlined
def _after(arena: Bytes, entry: int) -> int:
    """Where the next entry lies."""
    return entry + E_KEY + ((word_at(arena, entry + E_SIZE) >> 1) + 7 & ~7)


@kernel(INT, WORDS.of(TABLE_WORDS), WORDS.of(1), SLAB)
def fill_slots(words: Words, slots: Words, arena: Bytes) -> int:
    """Enter all entries into slots that are empty; returns how many there are."""
    mask, entry, count = len(slots) - 1, 0, 0
    used = min(words[V_USED], len(arena))
    while entry < used:
        slot = slot_of(word_at(arena, entry + E_HASH), slots)
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = entry + 1
        entry = _after(arena, entry)
        count += 1
    return count


@kernel(INT, WORDS.of(TABLE_WORDS), SLAB, WORDS.of(1))
def settle(words: Words, arena: Bytes, lost: Words) -> int:
    """Count the keys that dirty records have; write down unexplained losses, their number first."""
    entry, dirty, found = 0, 0, 0
    used = min(words[V_USED], len(arena))
    while entry < used:
        if word_at(arena, entry + E_LEFT) != ERASED:
            dirty += word_at(arena, entry + E_SIZE) & 1
        unexplained = word_at(arena, entry + E_UNEXPLAINED)
        if unexplained >= 0:
            found += 1
            if found < len(lost):
                lost[found] = unexplained
        entry = _after(arena, entry)
    lost[0] = found
    return dirty
