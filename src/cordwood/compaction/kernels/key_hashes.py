"""The hashes of `compaction.key_hash` in kernels: the same numbers, as words with a sign."""

from typing import Final

from cordwood.compaction import key_hash
from cordwood.records.kernels.intrinsics import (
    byte_at,
    folded_product,
    load_32,
    load_64,
    wrapping_product,
    wrapping_sum,
)
from cordwood.records.kernels.kernel_definition import Bytes, inlined


def signed_word(word: int) -> int:
    """A word without sign as the machine's signed number of the same bits."""
    return word - (word >> 63 << 64)


SEED_SALT: Final = signed_word(key_hash.SEED_SALT)
SALT_FACTOR: Final = signed_word(key_hash.SALT_FACTOR)
STATE_SALT: Final = signed_word(key_hash.STATE_SALT)
OFFSET_SALT: Final = signed_word(key_hash.OFFSET_SALT)
TIME_SALT: Final = signed_word(key_hash.TIME_SALT)
END_FACTOR: Final = signed_word(key_hash.END_FACTOR)
STREAM_FACTOR: Final = signed_word(key_hash.STREAM_FACTOR)

_LOW_32 = 0xFFFFFFFF


@inlined
def _short_hash(source: Bytes, at: int, size: int, salt: int, state: int) -> int:
    """The last words of fewer than 8 bytes."""
    first, last = 0, 0
    if size >= 4:
        first = load_32(source, at) & _LOW_32
        last = load_32(source, at + size - 4) & _LOW_32
    else:
        for place in range(at, at + size):
            first = first << 8 | byte_at(source, place)
    return folded_product(first ^ salt, last ^ state)


@inlined
def hash_of(source: Bytes, at: int, size: int, seed: int) -> int:
    """The hash of `size` bytes."""
    salt = folded_product(seed ^ SEED_SALT, SALT_FACTOR)
    state = seed ^ STATE_SALT
    end = at + size
    if size < 8:
        state = _short_hash(source, at, size, salt, state)
    else:
        while end - at > 16:
            state = folded_product(load_64(source, at) ^ salt, load_64(source, at + 8) ^ state)
            at += 16
        first = max(end - 16, end - size)
        state = folded_product(load_64(source, first) ^ salt, load_64(source, end - 8) ^ state)
    return folded_product(state ^ size, END_FACTOR)


@inlined
def record_hash(source: Bytes, body: int, end: int, offset: int, timestamp: int) -> int:
    """The hash of a record whose body lies from its key's length to its end."""
    seed = folded_product(offset ^ OFFSET_SALT, timestamp ^ TIME_SALT)
    return hash_of(source, body, end - body, seed)


@inlined
def stream_with(stream: int, record: int) -> int:
    """The stream's hash after one more record."""
    return wrapping_sum(wrapping_product(stream, STREAM_FACTOR), record)
