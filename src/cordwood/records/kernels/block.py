"""Block: the fields of a few hundred records between reading and copying.

    stretch          a word of 64 bits for each record of the block
    B_TIMESTAMP      timestamp delta, zigzagged as it was read
    B_OFFSET         offset delta, zigzagged too
    B_KEY            key: its end ...
    B_KEY + 1        ... and twice its size, or 1 for null
    B_VALUE          value, likewise; headers begin at its end
    B_VALUE + 1
    B_HEADER_COST    the bytes that the headers count in a chunk

One loop only reads records, one loop per column only copies. Each has the processor's registers to
itself, and the block stays in the first-level cache.
"""

from typing import Final

import numpy as np

from cordwood.records.kernels.intrinsics import store_64, word_at
from cordwood.records.kernels.kernel_definition import Bytes, inlined

BLOCK_ROWS: Final = 128
B_TIMESTAMP: Final = 0
B_OFFSET: Final = 1
B_KEY: Final = 2
B_VALUE: Final = 4
B_HEADER_COST: Final = 6
BLOCK_WORDS: Final = 7
STRETCH: Final = 8 * BLOCK_ROWS

LOW_63 = (1 << 63) - 1


def new_block() -> Bytes:
    """Return an empty block."""
    return np.zeros(BLOCK_WORDS * STRETCH, np.uint8)


@inlined
def noted(block: Bytes, word: int, row: int) -> int:
    """Return one word of one record."""
    return word_at(block, STRETCH * word + 8 * row)


@inlined
def note(block: Bytes, word: int, row: int, value: int) -> None:
    """Write one word of one record."""
    store_64(block, STRETCH * word + 8 * row, value)


@inlined
def signed(raw: int) -> int:
    """Return the number of a zigzagged one."""
    return ((raw >> 1) & LOW_63) ^ -(raw & 1)


@inlined
def zigzagged(number: int) -> int:
    """Return a number as varints encode it."""
    return (number << 1) ^ (number >> 63)
