"""A block: parallel words, consecutive columns, and numbers as varints encode them."""

import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.records.kernels import block as in_block
from cordwood.records.kernels.block import (
    BLOCK_ROWS,
    BLOCK_WORDS,
    new_block,
    note,
    noted,
    signed,
    zigzagged,
)


def test_block_holds_every_word_of_every_record() -> None:
    block = new_block()
    places = [(word, row) for word in range(BLOCK_WORDS) for row in range(BLOCK_ROWS)]

    for number, (word, row) in enumerate(places):
        note(block, word, row, -number)

    assert [noted(block, word, row) for word, row in places] == [-n for n in range(len(places))]


def test_block_has_a_range_for_each_of_its_words() -> None:
    begins = (
        in_block.B_TIMESTAMP, in_block.B_OFFSET, in_block.B_KEY, in_block.B_KEY + 1,
        in_block.B_VALUE, in_block.B_VALUE + 1, in_block.B_HEADER_COST,
    )  # fmt: skip

    assert sorted(begins) == list(range(BLOCK_WORDS))


@pytest.mark.parametrize(
    ("number", "raw"),
    ((0, 0), (-1, 1), (1, 2), (INT64_MAX, -2), (INT64_MIN, -1), (-(1 << 31), (1 << 32) - 1)),
)
def test_number_is_the_same_when_it_has_been_zigzagged(number: int, raw: int) -> None:
    block = new_block()

    note(block, 0, 0, zigzagged(number))

    assert noted(block, 0, 0) == raw
    assert signed(raw) == number
