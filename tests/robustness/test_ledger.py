"""Tests of the ledger: it finds each kind of loss."""

import random

import pytest

from tests.robustness.ledger import UNKNOWN_OFFSET, Found, Ledger


def ledger_of_four() -> Ledger:
    """Return a ledger of four records; the third was given up."""
    ledger = Ledger()
    for _ in range(4):
        ledger.next_value(random.Random(1))
    ledger.record_outcome(0, 10)
    ledger.record_outcome(1, 11)
    ledger.record_outcome(2, None)
    ledger.record_outcome(3, UNKNOWN_OFFSET)
    return ledger


@pytest.mark.parametrize("numbers", ((0, 1, 3), (0, 1, 2, 3)))
def test_log_with_all_acknowledged_records_has_no_faults(
    numbers: tuple[int, ...],
) -> None:
    assert (
        ledger_of_four().compare([Found(10 + index, each) for index, each in enumerate(numbers)])
        == []
    )


@pytest.mark.parametrize(
    ("found", "fault"),
    (
        (((10, 0), (11, 1)), "1 acknowledged records are missing, the first 3"),
        (((10, 0), (11, 1), (12, 3), (13, 3)), "1 records are duplicates"),
        (((10, 0), (11, 1), (12, 3), (13, 2)), "records are out of order"),
        (((10, 0), (12, 1), (13, 3)), "1 records have another offset"),
    ),
)
def test_ledger_finds_each_kind_of_loss(found: tuple[tuple[int, int], ...], fault: str) -> None:
    faults = ledger_of_four().compare([Found(*each) for each in found])

    assert len(faults) == 1
    assert faults[0].startswith(fault)
