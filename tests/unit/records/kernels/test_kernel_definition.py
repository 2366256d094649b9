"""The definition of a kernel: letters for types, and the function itself without a maker."""

import pytest

from cordwood.records.kernels.interpreted import wrapping_sum
from cordwood.records.kernels.kernel_definition import (
    INT,
    SLABS,
    SOURCE,
    Kind,
    inlined,
    kernel,
    maker,
    move,
    several,
    spliced,
    together,
)


def doubled(value: int) -> int:
    return 2 * value


@pytest.mark.parametrize(
    ("kind", "letters"), ((SLABS, "(bb)"), (together(SOURCE, 3), "(rrr)"), (several(2), "(ii)"))
)
def test_tuple_has_a_letter_per_value(kind: Kind, letters: str) -> None:
    assert kind.letters == letters


def test_kernel_returns_what_its_function_returns() -> None:
    assert kernel(INT, INT)(doubled)(21) == 42


def test_function_stays_as_it_was_written_without_a_maker() -> None:
    made = [make(doubled) for make in (inlined, spliced, kernel(INT, INT))]

    assert [one is doubled for one in made] == [maker is None] * 3


def test_move_is_its_twin_without_a_maker() -> None:
    assert (move(wrapping_sum) is wrapping_sum) is (maker is None)
