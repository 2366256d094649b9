"""The ledger that the kill loop relies on finds each kind of loss."""

import random

import pytest

from tests.robustness.ledger import UNTOLD, Found, Ledger


def kept() -> Ledger:
    """A ledger of four records, of which the third was given up."""
    ledger = Ledger()
    for _ in range(4):
        ledger.next_value(random.Random(1))
    ledger.told(0, 10)
    ledger.told(1, 11)
    ledger.told(2, None)
    ledger.told(3, UNTOLD)
    return ledger


@pytest.mark.parametrize("numbers", ((0, 1, 3), (0, 1, 2, 3)))
def test_ledger_is_content_with_a_log_that_has_all_that_was_acknowledged(
    numbers: tuple[int, ...],
) -> None:
    assert kept().complaints([Found(10 + index, each) for index, each in enumerate(numbers)]) == []


@pytest.mark.parametrize(
    ("found", "complaint"),
    (
        (((10, 0), (11, 1)), "1 acknowledged records are missing, the first 3"),
        (((10, 0), (11, 1), (12, 3), (13, 3)), "1 records are there more than once"),
        (((10, 0), (11, 1), (12, 3), (13, 2)), "records are out of order"),
        (((10, 0), (12, 1), (13, 3)), "1 records are elsewhere than was told"),
    ),
)
def test_ledger_complains_of_each_kind_of_loss(
    found: tuple[tuple[int, int], ...], complaint: str
) -> None:
    complaints = kept().complaints([Found(*each) for each in found])

    assert len(complaints) == 1
    assert complaints[0].startswith(complaint)
