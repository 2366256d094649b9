"""Kernels for the tests of the library: each move, and each type of argument and result."""

from cordwood.records.kernels.intrinsics import (
    byte_at,
    copy,
    copy_wide,
    crc_step_1,
    crc_step_8,
    folded_product,
    load_8,
    load_16,
    load_32,
    load_64,
    soon_written,
    store_8,
    store_16,
    store_32,
    store_64,
    store_big_16,
    store_big_32,
    store_big_64,
    word_at,
    wrapping_product,
    wrapping_sum,
)
from cordwood.records.kernels.kernel_definition import (
    INT,
    NOTHING,
    SLAB,
    SLABS,
    SOURCE,
    STARTS,
    TABLE,
    WORDS,
    Bytes,
    TwoSlabs,
    Words,
    inlined,
    kernel,
    several,
    spliced,
    together,
)


@kernel(several(6), SOURCE, INT)
def loads(source: Bytes, at: int) -> tuple[int, int, int, int, int, int]:
    return (
        byte_at(source, at),
        load_8(source, at),
        load_16(source, at),
        load_32(source, at),
        load_64(source, at),
        word_at(source, at),
    )


@kernel(NOTHING, SLAB, INT, INT)
def stores(slab: Bytes, at: int, value: int) -> None:
    soon_written(slab, at + 10**6)
    store_8(slab, at, value)
    store_16(slab, at + 1, value)
    store_32(slab, at + 3, value)
    store_64(slab, at + 7, value)
    store_big_16(slab, at + 15, value)
    store_big_32(slab, at + 17, value)
    store_big_64(slab, at + 21, value)


@kernel(NOTHING, SLAB, INT, SOURCE, INT, INT)
def copies(slab: Bytes, to: int, source: Bytes, at: int, size: int) -> None:
    copy(slab, to, source, at, size)
    copy_wide(slab, to + size, source, at)


@kernel(several(3), INT, INT)
def arithmetic(left: int, right: int) -> tuple[int, int, int]:
    return (
        wrapping_sum(left, right),
        wrapping_product(left, right),
        folded_product(left, right),
    )


@kernel(INT, INT, SOURCE, INT)
def checksum(crc: int, source: Bytes, at: int) -> int:
    return crc_step_1(crc_step_8(crc, source, at), source, at + 8)


@inlined
def doubled(value: int) -> int:
    return 2 * value


@spliced
def tripled(value: int) -> int:
    return doubled(value) + value


@kernel(INT, SLABS, WORDS, STARTS, TABLE)
def measured(slabs: TwoSlabs, words: Words, starts: Words, table: Words) -> int:
    """Return digits that show each array's size; words are changed."""
    words[0] = table[1, 2] + starts[0]
    rows, columns = table.shape
    sizes = len(slabs[0]) * 1000 + len(slabs[1]) * 100 + len(words) * 10 + len(starts)
    return tripled(sizes * 100 + rows * 10 + columns)


@kernel(INT, together(WORDS.of(3), 2), TABLE.of(12))
def sized(words: tuple[Words, Words], table: Words) -> int:
    return len(words[0]) + len(words[1]) + table.size


@kernel(INT, WORDS, INT)
def waited(words: Words, rounds: int) -> int:
    """Count until another thread changes the first word; return the rounds that it took."""
    for number in range(rounds):
        words[1] = wrapping_sum(wrapping_product(words[1], 31), number)
        if words[0]:
            return number
    return rounds


@kernel(INT, INT, INT)
def divided(value: int, by: int) -> int:
    return value // by
