"""Records into a key map, or looked up in it: read, hashed, and only then compared.

    notes   a line a record: place and size of its key, its number, its hash
    words   where the kernel stands in the rows, and what the map is made of: the words below

Records are noted by the thousand before the first of them is looked for, so that memory brings the
slots, then the entries, of all of them while others are dealt with. The number of a row's first
record takes the place of its checksum, which has been compared.
"""

from typing import Final

from cordwood.compaction.kernels.batch_runs import T_NUMBER, T_RETENTION, UNLEARNT, has_marks
from cordwood.compaction.kernels.key_entries import (
    ENTRY_HEADER,
    ERASED,
    KEY_SIZE_AT,
    SLOT_SIZE,
    entry_of,
    find,
    slot_of,
    slot_position,
)
from cordwood.compaction.kernels.key_hashes import hash_of
from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.common_record import any_record
from cordwood.records.kernels.header_scan import has_records
from cordwood.records.kernels.intrinsics import (
    byte_at,
    copy,
    soon_written,
    store_8,
    store_64,
    store_big_32,
    word_at,
    wrapping_sum,
)
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    INT,
    SLABS,
    SOURCE,
    TABLE,
    WORDS,
    Bytes,
    TwoSlabs,
    Words,
    inlined,
    kernel,
    spliced,
)
from cordwood.records.v2_record import SMALLEST_RECORD

#: As many records are noted as have their slots in the processor's cache together.
NOTES: Final = 1024
NOTE_WIDTH: Final = 4
N_KEY = 0
N_SIZE = 1  # twice the key's size, plus 1 for a tombstone
N_NUMBER = 2
N_HASH = 3

# -- words: where it stands
K_ROW: Final = 0
K_RECORD: Final = 1  # of the row
K_POSITION: Final = 2
K_LOWEST: Final = 3  # what the next offset delta must be at least
K_NOTED: Final = 4
K_DONE: Final = 5  # of the notes
# -- what is asked
K_IS_LEARNING: Final = 6
K_LOW: Final = 7  # offsets from here on ...
K_HIGH: Final = 8  # ... and below this
# -- the map
K_SEED: Final = 9
K_BELOW: Final = 10  # minus the first hash of the range
K_WIDTH: Final = 11  # one less than the hashes of the range, without sign
K_KEYS: Final = 12
K_MOST_KEYS: Final = 13
K_USED: Final = 14  # bytes of the arena
K_MOST_BYTES: Final = 15
K_UNKEYED: Final = 16
LEARNING_WORDS: Final = 17

DONE: Final = 0
FULL: Final = 1  # make room, then go on
BAD: Final = 2  # row K_ROW is not what it should be


@inlined
def is_in_range(key_hash: int, below: int, width: int) -> bool:
    """Whether a hash is one of the range's; both are compared without their signs."""
    return (wrapping_sum(key_hash, below) ^ INT64_MIN) <= (width ^ INT64_MIN)


@inlined
def mark(bits: Bytes, number: int) -> None:
    """Set the bit of a record; see `record_marks`."""
    place = number >> 3
    store_8(bits, place, byte_at(bits, place) | 1 << (number & 7))


@spliced
def _note_row(source: Bytes, row: Words, words: Words, notes: Words, slots: Bytes) -> bool:
    """Note the records of a batch from where it was left; False when one is not sound."""
    record, position, lowest = words[K_RECORD], words[K_POSITION], words[K_LOWEST]
    count, end, last_delta = row[at.T_COUNT], row[at.T_DATA_END], row[at.T_LAST_DELTA]
    first_number, noted, unkeyed = row[T_NUMBER], words[K_NOTED], 0
    low, high = words[K_LOW] - row[at.T_BASE_OFFSET], words[K_HIGH] - row[at.T_BASE_OFFSET]
    seed, below, width = words[K_SEED], words[K_BELOW], words[K_WIDTH]
    while record < count and noted < len(notes):
        stop, _, offset, _, key_size, key, value_size = any_record(source, position, end)
        if stop < 0 or offset < lowest or offset > last_delta:
            return False
        if low <= offset < high:
            if key_size >= 0:
                key_hash = hash_of(source, key, key_size, seed)
                notes[noted, N_KEY] = key
                notes[noted, N_SIZE] = key_size << 1 | (value_size < 0)
                notes[noted, N_NUMBER] = first_number + record
                notes[noted, N_HASH] = key_hash
                soon_written(slots, slot_position(key_hash, slots))
                noted += is_in_range(key_hash, below, width)
            else:
                unkeyed += 1
        position, lowest = stop, offset + 1
        record += 1
    words[K_RECORD], words[K_POSITION], words[K_LOWEST] = record, position, lowest
    words[K_NOTED] = noted
    words[K_UNKEYED] += unkeyed
    return bool(record < count or position == end)


@inlined
def _begin_row(source: Bytes, row: Words, words: Words) -> bool:
    """Stand in front of a batch's first record; False when its numbers cannot be right."""
    if not has_records(source, row):
        return False
    words[K_RECORD], words[K_POSITION], words[K_LOWEST] = 0, row[at.T_DATA], 0
    base, last_delta, count = row[at.T_BASE_OFFSET], row[at.T_LAST_DELTA], row[at.T_COUNT]
    is_placed = base >= 0 and 0 <= last_delta <= INT64_MAX - base
    most = (row[at.T_DATA_END] - row[at.T_DATA]) // SMALLEST_RECORD
    return bool(is_placed and 0 <= count <= most)


@spliced
def note(source: Bytes, table: Words, words: Words, notes: Words, slots: Bytes) -> bool:
    """Note records of the rows until there is no room, or no row; False at a bad one."""
    while words[K_ROW] < len(table) and words[K_NOTED] < len(notes):
        row = table[words[K_ROW]]
        is_learnt = row[T_RETENTION] & UNLEARNT == 0
        if is_learnt:
            if words[K_POSITION] < 0 and not _begin_row(source, row, words):
                return False
            if not _note_row(source, row, words, notes, slots):
                return False
        if not is_learnt or words[K_RECORD] == row[at.T_COUNT]:
            words[K_ROW] += 1
            words[K_POSITION] = -1
    return True


@inlined
def _fetch_entries(words: Words, notes: Words, slots: Bytes, arena: Bytes) -> None:
    """Let memory bring the entries that the noted records' slots name."""
    for noted in range(words[K_DONE], words[K_NOTED]):
        entry = entry_of(word_at(slots, slot_position(notes[noted, N_HASH], slots)))
        soon_written(arena, entry)
        soon_written(arena, entry + 2 * ENTRY_HEADER)


@inlined
def _put(source: Bytes, note: Words, place: int, words: Words, slots: Bytes, arena: Bytes) -> None:
    """Write a key that is new into the arena, and its slot."""
    size, used = note[N_SIZE] >> 1, words[K_USED]
    store_64(arena, used, note[N_NUMBER])
    store_big_32(arena, used + KEY_SIZE_AT, size)
    copy(arena, used + ENTRY_HEADER, source, note[N_KEY], size)
    store_64(slots, place, slot_of(note[N_HASH], used))
    words[K_USED] = used + ENTRY_HEADER + size
    words[K_KEYS] += 1


@spliced
def _deal_with(
    source: Bytes, words: Words, notes: Words, memory: TwoSlabs, marks: TwoSlabs
) -> bool:
    """Learn the noted records, or look them up; False when there is no room for one more key."""
    slots, arena = memory
    latest, tombstones = marks
    for noted in range(words[K_DONE], words[K_NOTED]):
        note = notes[noted]
        size, number = note[N_SIZE] >> 1, note[N_NUMBER]
        entry, place = find(source, note[N_KEY], size, note[N_HASH], slots, arena)
        if entry < 0 and words[K_IS_LEARNING] == 0:
            mark(latest, number)
        elif entry < 0:
            after = words[K_USED] + ENTRY_HEADER + size
            most_bytes = min(words[K_MOST_BYTES], len(arena))
            if words[K_KEYS] >= words[K_MOST_KEYS] or after > most_bytes:
                words[K_DONE] = noted
                return False
            _put(source, note, place, words, slots, arena)
        elif word_at(arena, entry) == ERASED:
            continue
        elif words[K_IS_LEARNING] != 0:
            store_64(arena, entry, number)
        if note[N_SIZE] & 1:
            mark(tombstones, number)
    return True


@inlined
def _have_marks(table: Words, words: Words, marks: TwoSlabs) -> bool:
    """Return whether the records of all rows have marks; K_ROW is the first without them."""
    for place in range(words[K_ROW], len(table)):
        if table[place, T_RETENTION] & UNLEARNT == 0 and not has_marks(table[place], marks):
            words[K_ROW] = place
            return False
    return True


@kernel(INT, SOURCE, BATCH_ROWS, WORDS.of(LEARNING_WORDS), TABLE.of(NOTE_WIDTH), SLABS, SLABS)
def go_over(
    source: Bytes, table: Words, words: Words, notes: Words, memory: TwoSlabs, marks: TwoSlabs
) -> int:
    """Learn the records of rows, or look them up, from the position in the words; return the
    status.

    `memory` is slots and arena, `marks` the bits of the latest and of tombstones.
    """
    slots, arena = memory
    if len(slots) < SLOT_SIZE or not _have_marks(table, words, marks):
        return BAD
    while True:
        _fetch_entries(words, notes, slots, arena)
        if not _deal_with(source, words, notes, memory, marks):
            return FULL
        words[K_NOTED] = words[K_DONE] = 0
        if words[K_ROW] == len(table):
            return DONE
        if not note(source, table, words, notes, slots):
            return BAD
