"""Proof of a single batch: an output batch is learnt, an input batch is compared with its copy.

    words   those of the table, then the kernel's position, the limits of the batch, and sums
    notes   a line per record whose key is checked: the action for it, and the key

Both kernels stop without room for a key, and continue after a resize. They accept valid batches
only: at any fault they return an error status, and the plain verifier words the error.
"""

from typing import Final

from cordwood.compaction.kernels.key_hashes import hash_of, record_hash, stream_with
from cordwood.compaction.kernels.proof_keys import (
    E_KEY,
    IS_GONE,
    IS_GONE_EXPIRED,
    IS_GONE_TOMBSTONE,
    IS_LEARNT,
    IS_LEFT,
    RIGHT,
    TABLE_WORDS,
    entry_of,
    has_same_bytes,
    slot_of,
    take,
)
from cordwood.records.kernels.common_record import any_record
from cordwood.records.kernels.intrinsics import soon_written, wrapping_sum
from cordwood.records.kernels.kernel_definition import (
    INT,
    SLAB,
    SOURCE,
    TABLE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
)
from cordwood.records.kernels.v2_record import is_inside

# -- where a kernel stands: in what was, and in what is left
V_RECORD: Final = TABLE_WORDS
V_POSITION: Final = TABLE_WORDS + 1
V_LOWEST: Final = TABLE_WORDS + 2
V_LEFT_RECORD: Final = TABLE_WORDS + 3
V_LEFT_POSITION: Final = TABLE_WORDS + 4
# -- the batch
V_COUNT: Final = TABLE_WORDS + 5
V_END: Final = TABLE_WORDS + 6
V_BASE_OFFSET: Final = TABLE_WORDS + 7
V_LAST_DELTA: Final = TABLE_WORDS + 8
V_BASE_TIME: Final = TABLE_WORDS + 9
V_IS_STAMPED: Final = TABLE_WORDS + 10  # all records have the time that follows
V_STAMP: Final = TABLE_WORDS + 11
# -- what is left of it, in the same words
V_LEFT_COUNT: Final = TABLE_WORDS + 12
V_LEFT_END: Final = TABLE_WORDS + 13
V_LEFT_BASE_TIME: Final = TABLE_WORDS + 14
# -- what counts for it
V_IS_ABORTED: Final = TABLE_WORDS + 15
V_IS_EXPIRED: Final = TABLE_WORDS + 16
# -- which keys are looked at
V_SEED: Final = TABLE_WORDS + 17
V_CLASSES: Final = TABLE_WORDS + 18  # one less than there are
V_CHOSEN: Final = TABLE_WORDS + 19
# -- sums over all batches
V_READ: Final = TABLE_WORDS + 20
V_LEFT: Final = TABLE_WORDS + 21
V_TOMBSTONES_LEFT: Final = TABLE_WORDS + 22
V_ABORTED: Final = TABLE_WORDS + 23
V_UNKEYED: Final = TABLE_WORDS + 24
V_KEYED_GONE: Final = TABLE_WORDS + 25
V_STREAM: Final = TABLE_WORDS + 26
# -- what is left of one batch
V_KEPT: Final = TABLE_WORDS + 27
V_KEPT_TOMBSTONES: Final = TABLE_WORDS + 28
V_LATEST: Final = TABLE_WORDS + 29
# -- of the notes
V_NOTED: Final = TABLE_WORDS + 30
V_DONE: Final = TABLE_WORDS + 31
PROOF_WORDS: Final = TABLE_WORDS + 32

#: Records are noted before the first of them is looked for, so that memory brings what all need.
NOTES: Final = 1024
NOTE_WIDTH: Final = 5
N_WHAT = 0
N_KEY = 1
N_SIZE = 2
N_HASH = 3
N_OFFSET = 4

DONE: Final = 0
FULL: Final = 1
WRONG: Final = 2


@inlined
def _note(  # noqa: PLR0913, PLR0917  # a kernel takes what it needs in order
    what: int, source: Bytes, key: int, size: int, offset: int,
    words: Words, notes: Words, slots: Words,
) -> None:  # fmt: skip
    """Note what is to be done with a record, if its key is looked at."""
    key_hash = hash_of(source, key, size, words[V_SEED])
    if key_hash & words[V_CLASSES] == words[V_CHOSEN]:
        note = notes[words[V_NOTED]]
        note[N_WHAT], note[N_KEY], note[N_SIZE] = what, key, size
        note[N_HASH], note[N_OFFSET] = key_hash, offset
        soon_written(slots, slot_of(key_hash, slots))
        words[V_NOTED] += 1


@inlined
def _deal_with(source: Bytes, words: Words, notes: Words, slots: Words, arena: Bytes) -> int:
    """Execute a note; return the status."""
    for noted in range(words[V_DONE], words[V_NOTED]):
        entry = slots[slot_of(notes[noted, N_HASH], slots)] - 1
        soon_written(arena, entry)
        soon_written(arena, entry + E_KEY)
    for noted in range(words[V_DONE], words[V_NOTED]):
        note = notes[noted]
        entry = entry_of(source, note[N_KEY], note[N_SIZE], note[N_HASH], words, slots, arena)
        if entry < 0:
            words[V_DONE] = noted
            return FULL
        if take(note[N_WHAT], words, arena, entry, note[N_OFFSET]) != RIGHT:
            return WRONG
    words[V_DONE] = words[V_NOTED] = 0
    return DONE


@inlined
def _read_left(source: Bytes, words: Words, notes: Words, slots: Words) -> bool:
    """Note records that are left while there is room; False at a bad one."""
    count, end, last_delta = words[V_COUNT], words[V_END], words[V_LAST_DELTA]
    base_offset, base_time = words[V_BASE_OFFSET], words[V_BASE_TIME]
    record, position, lowest = words[V_RECORD], words[V_POSITION], words[V_LOWEST]
    stream, first, tombstones = words[V_STREAM], record, 0
    while record < count and words[V_NOTED] < len(notes):
        stop, time, offset, body, key_size, key, value_size = any_record(source, position, end)
        if stop < 0 or offset < lowest or offset > last_delta:
            return False
        if key_size >= 0:
            _note(IS_LEARNT, source, key, key_size, base_offset + offset, words, notes, slots)
            tombstones += value_size < 0
        seen = words[V_STAMP] if words[V_IS_STAMPED] else wrapping_sum(base_time, time)
        hashed = record_hash(source, body, stop, base_offset + offset, seen)
        stream = stream_with(stream, hashed)
        record, position, lowest = record + 1, stop, offset + 1
    words[V_RECORD], words[V_POSITION], words[V_LOWEST] = record, position, lowest
    words[V_STREAM] = stream
    words[V_LEFT] += record - first
    words[V_TOMBSTONES_LEFT] += tombstones
    return True


@inlined
def learn_records(source: Bytes, words: Words, notes: Words, slots: Words, arena: Bytes) -> int:
    """Learn the records of an output batch, from the position in the words; return the status."""
    if not is_inside(source, words[V_POSITION], words[V_END]):
        return WRONG
    while True:
        ended = _deal_with(source, words, notes, slots, arena)
        if ended != DONE:
            return int(ended)
        if words[V_RECORD] >= words[V_COUNT]:
            is_whole = words[V_COUNT] >= 0 and words[V_POSITION] == words[V_END]
            return DONE if is_whole else WRONG
        if not _read_left(source, words, notes, slots):
            return WRONG


@inlined
def _what_is_gone(is_tombstone: int, words: Words) -> int:
    """Return the action for a removed record."""
    if not is_tombstone:
        return IS_GONE
    return IS_GONE_EXPIRED if words[V_IS_EXPIRED] else IS_GONE_TOMBSTONE


@inlined
def _count_gone(gone: int, unkeyed: int, words: Words) -> None:
    """Count the records of a batch that are gone; of an aborted transaction all alike."""
    if words[V_IS_ABORTED]:
        words[V_ABORTED] += gone
    else:
        words[V_UNKEYED] += unkeyed
        words[V_KEYED_GONE] += gone - unkeyed


@inlined
def _left_at(left: Bytes, position: int, end: int, remaining: int) -> tuple[int, int, int, int]:
    """The next record that is left: its end, its time, its offset, its body; -1 without one."""
    if remaining <= 0:
        return -1, 0, -1, 0
    stop, time, offset, body, _, _, _ = any_record(left, position, end)
    return stop, time, offset, body


@inlined
def _is_same(
    source: Bytes, body: int, size: int, left: Bytes, left_body: int, left_size: int
) -> bool:
    """Return whether two records are equal except for time and offset."""
    return left_size == size and has_same_bytes(source, body, left, left_body, size)


@inlined
def _hold(source: Bytes, left: Bytes, words: Words, notes: Words, slots: Words) -> bool:
    """Hold records against what is left, and note them while there is room; False at a bad one."""
    count, end, last_delta = words[V_COUNT], words[V_END], words[V_LAST_DELTA]
    base_offset, base_time = words[V_BASE_OFFSET], words[V_BASE_TIME]
    left_end, left_count = words[V_LEFT_END], words[V_LEFT_COUNT]
    shift = wrapping_sum(words[V_LEFT_BASE_TIME], -base_time)
    is_stamped, is_aborted = words[V_IS_STAMPED] != 0, words[V_IS_ABORTED] != 0
    is_expired = words[V_IS_EXPIRED] != 0
    record, position, lowest = words[V_RECORD], words[V_POSITION], words[V_LOWEST]
    kept, left_at = words[V_LEFT_RECORD], words[V_LEFT_POSITION]
    newest, tombstones, unkeyed = words[V_LATEST], 0, 0
    first, first_kept = record, kept
    left_stop, left_time, left_offset, left_body = _left_at(
        left, left_at, left_end, left_count - kept
    )
    while record < count and words[V_NOTED] < len(notes):
        stop, time, offset, body, key_size, key, value_size = any_record(source, position, end)
        if stop < 0 or offset < lowest or offset > last_delta:
            return False
        is_tombstone, is_looked_at = value_size < 0, key_size >= 0 and not is_aborted
        what = _what_is_gone(is_tombstone, words)
        if offset == left_offset:
            is_right = is_looked_at and not (is_tombstone and is_expired)
            is_right &= is_stamped or wrapping_sum(left_time, shift) == time
            if not is_right or not _is_same(
                source, body, stop - body, left, left_body, left_stop - left_body
            ):
                return False
            newest = max(newest, wrapping_sum(base_time, time))
            tombstones += is_tombstone
            kept, left_at, what = kept + 1, left_stop, IS_LEFT
            left_stop, left_time, left_offset, left_body = _left_at(
                left, left_at, left_end, left_count - kept
            )
        if is_looked_at:
            _note(what, source, key, key_size, base_offset + offset, words, notes, slots)
        unkeyed += not is_looked_at
        record, position, lowest = record + 1, stop, offset + 1
    words[V_RECORD], words[V_POSITION], words[V_LOWEST] = record, position, lowest
    words[V_LEFT_RECORD], words[V_LEFT_POSITION], words[V_LATEST] = kept, left_at, newest
    words[V_READ] += record - first
    words[V_KEPT] += kept - first_kept
    words[V_KEPT_TOMBSTONES] += tombstones
    _count_gone(record - first - kept + first_kept, unkeyed, words)
    return True


@inlined
def judge_records(
    source: Bytes, left: Bytes, words: Words, notes: Words, slots: Words, arena: Bytes
) -> int:
    """Hold the records of a batch against what is left, from where the words stand."""
    if not is_inside(source, words[V_POSITION], words[V_END]):
        return WRONG
    if not is_inside(left, words[V_LEFT_POSITION], words[V_LEFT_END]):
        return WRONG
    while True:
        ended = _deal_with(source, words, notes, slots, arena)
        if ended != DONE:
            return int(ended)
        if words[V_RECORD] >= words[V_COUNT]:
            is_whole = words[V_COUNT] >= 0 and words[V_POSITION] == words[V_END]
            is_whole &= words[V_LEFT_RECORD] == words[V_LEFT_COUNT]
            is_whole &= words[V_LEFT_POSITION] == words[V_LEFT_END]
            return DONE if is_whole else WRONG
        if not _hold(source, left, words, notes, slots):
            return WRONG


@kernel(INT, SOURCE, WORDS.of(PROOF_WORDS), TABLE.of(NOTE_WIDTH), WORDS.of(1), SLAB)
def learn_batch(source: Bytes, words: Words, notes: Words, slots: Words, arena: Bytes) -> int:
    """Check the records of a batch that is left, and remember those whose keys are looked at."""
    return int(learn_records(source, words, notes, slots, arena))


@kernel(INT, SOURCE, SOURCE, WORDS.of(PROOF_WORDS), TABLE.of(NOTE_WIDTH), WORDS.of(1), SLAB)
def judge_batch(
    source: Bytes, left: Bytes, words: Words, notes: Words, slots: Words, arena: Bytes
) -> int:
    """Hold the records of a batch against those that are left of it."""
    return int(judge_records(source, left, words, notes, slots, arena))
