"""A batch of what is left, learnt; a batch that was there, held against what is left of it.

    words   those of the table, then where the kernel stands, what counts for the batches, and sums

Both kernels stop where there is no room for a key, and go on from there once there is. They take
what is right alone: where anything is wrong they say so, and the plain judge finds the words.
"""

from typing import Final

from cordwood.compaction.kernels.hashes import hash_of, record_hash, stream_with
from cordwood.compaction.kernels.proof_keys import (
    RIGHT,
    TABLE_WORDS,
    entry_of,
    has_same_bytes,
    learn,
    see_gone,
    see_left,
)
from cordwood.records.kernels.door import (
    INT,
    SLAB,
    SOURCE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
)
from cordwood.records.kernels.intrinsics import wrapping_sum
from cordwood.records.kernels.usual import any_record

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
PROOF_WORDS: Final = TABLE_WORDS + 30

DONE: Final = 0
FULL: Final = 1
WRONG: Final = 2


@inlined
def _learn(  # noqa: PLR0913, PLR0917  # a kernel takes what it needs in order
    source: Bytes, key: int, size: int, offset: int, words: Words, slots: Words, arena: Bytes
) -> bool:
    """Remember that a record is left, if its key is looked at; False when there is no room."""
    key_hash = hash_of(source, key, size, words[V_SEED])
    if key_hash & words[V_CLASSES] != words[V_CHOSEN]:
        return True
    entry = entry_of(source, key, size, key_hash, words, slots, arena)
    if entry >= 0:
        learn(arena, entry, offset)
    return entry >= 0


@inlined
def learn_records(source: Bytes, words: Words, slots: Words, arena: Bytes) -> int:
    """Learn the records of a batch that is left, from where the words stand; says how it ended."""
    count, end, last_delta = words[V_COUNT], words[V_END], words[V_LAST_DELTA]
    base_offset, base_time = words[V_BASE_OFFSET], words[V_BASE_TIME]
    record, position, lowest = words[V_RECORD], words[V_POSITION], words[V_LOWEST]
    stream, ended = words[V_STREAM], DONE
    first, tombstones = record, 0
    while record < count:
        stop, time, offset, body, key_size, key, value_size = any_record(source, position, end)
        if stop < 0 or offset < lowest or offset > last_delta:
            ended = WRONG
            break
        if key_size >= 0:
            at = base_offset + offset
            if not _learn(source, key, key_size, at, words, slots, arena):
                ended = FULL
                break
            tombstones += value_size < 0
        seen = words[V_STAMP] if words[V_IS_STAMPED] else wrapping_sum(base_time, time)
        hashed = record_hash(source, body, stop, base_offset + offset, seen)
        stream = stream_with(stream, hashed)
        record += 1
        position, lowest = stop, offset + 1
    words[V_RECORD], words[V_POSITION], words[V_LOWEST] = record, position, lowest
    words[V_STREAM] = stream
    words[V_LEFT] += record - first
    words[V_TOMBSTONES_LEFT] += tombstones
    is_unsound = ended == DONE and (count < 0 or position != end)
    return WRONG if is_unsound else ended


@inlined
def _see(  # noqa: PLR0913, PLR0917  # a kernel takes what it needs in order
    source: Bytes, key: int, key_size: int, is_tombstone: int, offset: int, is_left: int,
    words: Words, slots: Words, arena: Bytes,
) -> int:  # fmt: skip
    """Take a record of a key that is looked at, if it is one; says how that ended."""
    key_hash = hash_of(source, key, key_size, words[V_SEED])
    if key_hash & words[V_CLASSES] != words[V_CHOSEN]:
        return DONE
    entry = entry_of(source, key, key_size, key_hash, words, slots, arena)
    if entry < 0:
        return FULL
    if is_left:
        wrong = see_left(words, arena, entry, offset)
    else:
        is_expired = is_tombstone and words[V_IS_EXPIRED] != 0
        wrong = see_gone(words, arena, entry, offset, is_tombstone, is_expired)
    return DONE if wrong == RIGHT else WRONG


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
    """Whether two records say the same, their times and offsets aside."""
    return left_size == size and has_same_bytes(source, body, left, left_body, size)


@inlined
def judge_records(source: Bytes, left: Bytes, words: Words, slots: Words, arena: Bytes) -> int:
    """Hold the records of a batch against what is left, from where the words stand."""
    count, end, last_delta = words[V_COUNT], words[V_END], words[V_LAST_DELTA]
    base_offset, base_time = words[V_BASE_OFFSET], words[V_BASE_TIME]
    left_end, left_count = words[V_LEFT_END], words[V_LEFT_COUNT]
    shift = wrapping_sum(words[V_LEFT_BASE_TIME], -base_time)
    is_stamped, is_aborted = words[V_IS_STAMPED] != 0, words[V_IS_ABORTED] != 0
    is_expired = words[V_IS_EXPIRED] != 0
    record, position, lowest = words[V_RECORD], words[V_POSITION], words[V_LOWEST]
    kept, left_at = words[V_LEFT_RECORD], words[V_LEFT_POSITION]
    newest, tombstones, unkeyed = words[V_LATEST], 0, 0
    first, first_kept, ended = record, kept, DONE
    left_stop, left_time, left_offset, left_body = _left_at(
        left, left_at, left_end, left_count - kept
    )
    while record < count:
        stop, time, offset, body, key_size, key, value_size = any_record(source, position, end)
        if stop < 0 or offset < lowest or offset > last_delta:
            ended = WRONG
            break
        is_left, is_tombstone = offset == left_offset, value_size < 0
        is_looked_at = key_size >= 0 and not is_aborted
        if is_left:
            is_right = is_looked_at and not (is_tombstone and is_expired)
            is_right &= is_stamped or wrapping_sum(left_time, shift) == time
            if not is_right or not _is_same(
                source, body, stop - body, left, left_body, left_stop - left_body
            ):
                ended = WRONG
                break
        if is_looked_at:
            at = base_offset + offset
            ended = _see(source, key, key_size, is_tombstone, at, is_left, words, slots, arena)
            if ended != DONE:
                break
        unkeyed += not is_looked_at
        if is_left:
            newest = max(newest, wrapping_sum(base_time, time))
            tombstones += is_tombstone
            kept, left_at = kept + 1, left_stop
            left_stop, left_time, left_offset, left_body = _left_at(
                left, left_at, left_end, left_count - kept
            )
        record, position, lowest = record + 1, stop, offset + 1
    words[V_RECORD], words[V_POSITION], words[V_LOWEST] = record, position, lowest
    words[V_LEFT_RECORD], words[V_LEFT_POSITION], words[V_LATEST] = kept, left_at, newest
    words[V_READ] += record - first
    words[V_KEPT] += kept - first_kept
    words[V_KEPT_TOMBSTONES] += tombstones
    _count_gone(record - first - kept + first_kept, unkeyed, words)
    is_whole = position == end and kept == left_count and left_at == left_end
    return WRONG if ended == DONE and not is_whole else ended


@kernel(INT, SOURCE, WORDS, WORDS, SLAB)
def learn_batch(source: Bytes, words: Words, slots: Words, arena: Bytes) -> int:
    """Check the records of a batch that is left, and remember those whose keys are looked at."""
    return int(learn_records(source, words, slots, arena))


@kernel(INT, SOURCE, SOURCE, WORDS, WORDS, SLAB)
def judge_batch(source: Bytes, left: Bytes, words: Words, slots: Words, arena: Bytes) -> int:
    """Hold the records of a batch against those that are left of it."""
    return int(judge_records(source, left, words, slots, arena))
