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


@kernel(INT, SOURCE, WORDS, WORDS, SLAB)
def learn_batch(source: Bytes, words: Words, slots: Words, arena: Bytes) -> int:
    """Check the records of a batch that is left, and remember those whose keys are looked at."""
    count, end, last_delta = words[V_COUNT], words[V_END], words[V_LAST_DELTA]
    base_offset, base_time = words[V_BASE_OFFSET], words[V_BASE_TIME]
    position, lowest, stream = words[V_POSITION], words[V_LOWEST], words[V_STREAM]
    ended = DONE
    while words[V_RECORD] < count:
        stop, time, offset, body, key_size, key, value_size = any_record(source, position, end)
        if stop < 0 or offset < lowest or offset > last_delta:
            ended = WRONG
            break
        if key_size >= 0:
            at = base_offset + offset
            if not _learn(source, key, key_size, at, words, slots, arena):
                ended = FULL
                break
            words[V_TOMBSTONES_LEFT] += value_size < 0
        seen = words[V_STAMP] if words[V_IS_STAMPED] else wrapping_sum(base_time, time)
        hashed = record_hash(source, body, stop, base_offset + offset, seen)
        stream = stream_with(stream, hashed)
        words[V_LEFT] += 1
        words[V_RECORD] += 1
        position, lowest = stop, offset + 1
    words[V_POSITION], words[V_LOWEST], words[V_STREAM] = position, lowest, stream
    is_unsound = ended == DONE and (count < 0 or position != end)
    return WRONG if is_unsound else ended


@inlined
def _see(  # noqa: PLR0913, PLR0917  # a kernel takes what it needs in order
    source: Bytes, key: int, key_size: int, value_size: int, offset: int, is_left: int,
    words: Words, slots: Words, arena: Bytes,
) -> int:  # fmt: skip
    """Take a record that was there; says how that ended."""
    if words[V_IS_ABORTED] or key_size < 0:
        return WRONG if is_left else DONE
    is_expired = value_size < 0 and words[V_IS_EXPIRED] != 0
    if is_left and is_expired:
        return WRONG
    key_hash = hash_of(source, key, key_size, words[V_SEED])
    if key_hash & words[V_CLASSES] != words[V_CHOSEN]:
        return DONE
    entry = entry_of(source, key, key_size, key_hash, words, slots, arena)
    if entry < 0:
        return FULL
    if is_left:
        wrong = see_left(words, arena, entry, offset)
    else:
        wrong = see_gone(words, arena, entry, offset, value_size < 0, is_expired)
    return DONE if wrong == RIGHT else WRONG


@inlined
def _count(key_size: int, value_size: int, is_left: int, words: Words) -> None:
    words[V_READ] += 1
    if is_left:
        words[V_KEPT] += 1
        words[V_KEPT_TOMBSTONES] += value_size < 0
    elif words[V_IS_ABORTED]:
        words[V_ABORTED] += 1
    elif key_size < 0:
        words[V_UNKEYED] += 1
    else:
        words[V_KEYED_GONE] += 1


@kernel(INT, SOURCE, SOURCE, WORDS, WORDS, SLAB)
def judge_batch(source: Bytes, left: Bytes, words: Words, slots: Words, arena: Bytes) -> int:
    """Hold the records of a batch against those that are left of it."""
    count, end, last_delta = words[V_COUNT], words[V_END], words[V_LAST_DELTA]
    left_end, shift = words[V_LEFT_END], wrapping_sum(words[V_LEFT_BASE_TIME], -words[V_BASE_TIME])
    position, lowest = words[V_POSITION], words[V_LOWEST]
    left_at = words[V_LEFT_POSITION]
    left_stop, left_time, left_offset, left_body = -1, 0, -1, 0
    if words[V_LEFT_RECORD] < words[V_LEFT_COUNT]:
        left_stop, left_time, left_offset, left_body, _, _, _ = any_record(left, left_at, left_end)
    while words[V_RECORD] < count:
        stop, time, offset, body, key_size, key, value_size = any_record(source, position, end)
        if stop < 0 or offset < lowest or offset > last_delta:
            return WRONG
        is_left = offset == left_offset
        if is_left:
            size = stop - body
            is_timed = words[V_IS_STAMPED] != 0 or wrapping_sum(left_time, shift) == time
            if not is_timed or left_stop - left_body != size:
                return WRONG
            if not has_same_bytes(source, body, left, left_body, size):
                return WRONG
        at = words[V_BASE_OFFSET] + offset
        ended = _see(source, key, key_size, value_size, at, is_left, words, slots, arena)
        if ended != DONE:
            words[V_POSITION], words[V_LOWEST], words[V_LEFT_POSITION] = position, lowest, left_at
            return ended
        _count(key_size, value_size, is_left, words)
        if is_left:
            words[V_LATEST] = max(words[V_LATEST], wrapping_sum(words[V_BASE_TIME], time))
            words[V_LEFT_RECORD] += 1
            left_at, left_offset = left_stop, -1
            if words[V_LEFT_RECORD] < words[V_LEFT_COUNT]:
                left_stop, left_time, left_offset, left_body, _, _, _ = any_record(
                    left, left_at, left_end
                )
        words[V_RECORD] += 1
        position, lowest = stop, offset + 1
    is_whole = position == end and words[V_LEFT_RECORD] == words[V_LEFT_COUNT]
    return DONE if is_whole and left_at == left_end else WRONG
