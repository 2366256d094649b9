"""Leader epochs out of order are corrected by those around them."""

import pytest

from cordwood.core.types import LeaderEpoch
from cordwood.workbench.salvage.batch_epochs import correct_epochs
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust
from tests.unit.workbench.salvage_samples import batch, headed


def corrected(
    *epochs: int, around: tuple[int | None, int | None], trust: Trust = Trust.LED
) -> list[int]:
    batches = [
        SalvagedBatch("file", headed(batch(4 * at)), offset=4 * at, epoch=epoch, trust=trust)
        for at, epoch in enumerate(epochs)
    ]
    return [each.epoch for each in correct_epochs(batches, lambda _: None, around=around)]


@pytest.mark.parametrize(
    ("around", "right"), (((1, 2), 1), ((1, 9), 5), ((-1, 2), 2), ((None, 2), 2), ((1, None), 5))
)
def test_only_epoch_of_a_file_is_compared_with_those_around_it(
    around: tuple[int | None, int | None], right: int
) -> None:
    assert corrected(5, around=around) == [right]


def test_batches_without_an_epoch_among_others_keep_none() -> None:
    assert corrected(0, -1, 0, around=(None, None)) == [0, -1, 0]
    assert corrected(-1, -1, 2, -1, around=(0, 2)) == [-1, -1, 2, -1]


@pytest.mark.parametrize(
    ("epochs", "right"),
    (
        ((1, -1, 9, -1, 1), [1, -1, 1, -1, 1]),
        ((1, 9, -1, 1), [1, 1, -1, 1]),
        ((-1, 9, -1, 1), [-1, 1, -1, 1]),
        ((1, -1, 0), [1, -1, 1]),
    ),
)
def test_epochs_next_to_batches_without_one_are_compared(
    epochs: tuple[int, ...], right: list[int]
) -> None:
    assert corrected(*epochs, around=(1, 1)) == right


def test_first_doubtful_batch_gets_the_epoch_before_the_file() -> None:
    assert corrected(17, 18, around=(1, 1), trust=Trust.REBUILT) == [1, 1]
    assert corrected(17, around=(None, 1), trust=Trust.REBUILT) == [17]


def test_first_doubtful_batch_has_no_higher_epoch_than_the_next_one() -> None:
    batches = [
        SalvagedBatch("file", headed(batch(4 * at)), offset=4 * at, epoch=epoch, trust=trust)
        for at, (epoch, trust) in enumerate(((9, Trust.MOVED), (-1, Trust.LED), (1, Trust.LED)))
    ]

    found = correct_epochs(batches, lambda _: None, around=(None, None))

    assert [each.epoch for each in found] == [1, -1, 1]


@pytest.mark.parametrize(
    ("epochs", "right"),
    (
        ((9, 1, 1), [1, 1, 1]),
        ((1, 1, 0), [1, 1, 1]),
        ((0, 1, 1), [0, 1, 1]),
        ((-9, 1, 1), [1, 1, 1]),
        ((-9,), [-1]),
    ),
)
def test_wrong_epoch_at_an_end_of_the_log_is_that_of_its_neighbour(
    epochs: tuple[int, ...], right: list[int]
) -> None:
    assert corrected(*epochs, around=(None, None)) == right


@pytest.mark.parametrize(
    ("epochs", "right"),
    (
        ((1, 9, 9, 1, 1), [1, 1, 1, 1, 1]),
        ((1, 8, 9, 1, 1), [1, 1, 1, 1, 1]),
        ((1, 9, 1, 3, 0, 3), [1, 1, 1, 3, 3, 3]),
        ((9, 9, 1, 1), [1, 1, 1, 1]),
        ((2, 2, 9), [2, 2, 9]),
    ),
)
def test_wrong_epochs_next_to_each_other_are_corrected(
    epochs: tuple[int, ...], right: list[int]
) -> None:
    assert corrected(*epochs, around=(1, 9 if right[-1] == 9 else None)) == right


def test_doubtful_batch_without_a_predecessor_has_no_negative_epoch() -> None:
    assert corrected(-234881024, around=(None, None), trust=Trust.UNJOINED) == [-1]
    assert corrected(3, around=(None, None), trust=Trust.UNJOINED) == [3]


def test_checkpoint_of_epochs_decides_between_neighbours() -> None:
    epochs = (1, 9, 9, 4, 4)
    batches = [
        SalvagedBatch("file", headed(batch(4 * at)), offset=4 * at, epoch=epoch)
        for at, epoch in enumerate(epochs)
    ]

    found = correct_epochs(
        batches, lambda offset: LeaderEpoch(4 if offset >= 8 else 1), around=(None, None)
    )

    assert [each.epoch for each in found] == [1, 1, 4, 4, 4]
