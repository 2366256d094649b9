"""64-bit hashes of keys and of records, the same on every machine, in Python and in kernels.

    fold(a, b)   the upper half of the product of two words, xor its lower half
    state        of 16 bytes at a time; the last 16 may overlap the ones before:
                 state = fold(first word ^ salt, second word ^ state)

Words are big-endian. Fewer than 8 bytes are two words of 4 bytes, which may overlap too; fewer than
4 are one number. The salt is derived from the seed: without the seed, keys with equal hashes cannot
be constructed. Hashes only select where to look; every exact decision compares bytes.

A stream hash is a polynomial of the hashes of records, in order. So the hashes of two parts of a
stream can be joined.
"""

from typing import Final

from cordwood.core.binary import Buffer

#: The limit of seeds: every JSON reader represents smaller numbers exactly.
SEEDS: Final = 1 << 53
#: All bits of a word.
MASK: Final = (1 << 64) - 1
_BLOCK: Final = 16

#: Odd, with about half of the bits set; drawn once at random.
SEED_SALT: Final = 0x6C62D9B1F04E9A37
SALT_FACTOR: Final = 0xD1B54A83E1C6927D
STATE_SALT: Final = 0x4E5AC80D7B31F69B
OFFSET_SALT: Final = 0x3A8F05C7B962ED51
TIME_SALT: Final = 0x95E7216B4DF80AC3
END_FACTOR: Final = 0xB7C9034E5D8A61F3
STREAM_FACTOR: Final = 0xE36AB41F8C57D209


def fold(left: int, right: int) -> int:
    """Mix two words into one, so that every input bit affects every output bit."""
    product = left * right
    return (product >> 64) ^ (product & MASK)


def key_hash(key: Buffer, seed: int = 0) -> int:
    """Return the hash of bytes, from 0 to 2^64 - 1."""
    size = len(key)
    salt, state = fold(seed ^ SEED_SALT, SALT_FACTOR), seed ^ STATE_SALT
    for at in range(0, size - _BLOCK, _BLOCK):
        state = fold(_word(key, at, 8) ^ salt, _word(key, at + 8, 8) ^ state)
    first, last = _ends(key, size)
    return fold(fold(first ^ salt, last ^ state) ^ size, END_FACTOR)


def _ends(key: Buffer, size: int) -> tuple[int, int]:
    """Return the last 16 bytes as two words, or all bytes if there are fewer."""
    if size >= _BLOCK:
        return _word(key, size - _BLOCK, 8), _word(key, size - 8, 8)
    if size >= 8:
        return _word(key, 0, 8), _word(key, size - 8, 8)
    if size >= 4:
        return _word(key, 0, 4), _word(key, size - 4, 4)
    return int.from_bytes(key, "big"), 0


def _word(key: Buffer, at: int, size: int) -> int:
    return int.from_bytes(key[at : at + size], "big")


def record_hash(body: Buffer, *, offset: int, timestamp: int) -> int:
    """Return the hash of a record.

    `body` is the bytes of a v2 record from its key's length to its end; of an old message, those of
    its v2 form. `timestamp` is the one that consumers see.
    """
    return key_hash(body, fold((offset & MASK) ^ OFFSET_SALT, (timestamp & MASK) ^ TIME_SALT))


def stream_with(stream: int, record: int) -> int:
    """Return the stream hash after one more record; that of an empty stream is 0."""
    return (stream * STREAM_FACTOR + record) & MASK


def joined_streams(first: int, second: int, *, records: int) -> int:
    """Return the hash of a stream that is followed by another one of `records` records."""
    return (first * pow(STREAM_FACTOR, records, MASK + 1) + second) & MASK
