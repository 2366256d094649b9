"""Batches in the order of offsets, within the bounds of a file."""

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.workbench.salvage.file_bounds import FileBounds, OffsetOrder
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch
from tests.unit.workbench.salvage_samples import batch, headed


def batch_at(offset: int) -> SalvagedBatch:
    return SalvagedBatch("file", headed(batch(offset)), offset=offset)


def taken(bounds: FileBounds, *offsets: int) -> list[bool]:
    order = OffsetOrder(bounds)
    return [order.takes(batch_at(each)) for each in offsets]


def test_limit_is_the_next_file_or_the_reach_of_a_segment() -> None:
    assert FileBounds().limit == INT64_MAX
    assert FileBounds(INT64_MAX - 9).limit == INT64_MAX
    assert FileBounds(5).limit == 5 + (1 << 31)
    assert FileBounds(5, 9).limit == 9
    assert FileBounds(5, 1 << 40).limit == 5 + (1 << 31)


def test_batches_ascend_within_the_bounds() -> None:
    assert taken(FileBounds(4, 20), 4, 8, 16) == [True, True, True]
    assert taken(FileBounds(4, 20), 3) == [False]
    assert taken(FileBounds(4, 20), 4, 7) == [True, False]
    assert taken(FileBounds(4, 20), 17) == [False]


@pytest.mark.parametrize(
    ("bounds", "offsets", "is_certain"),
    (
        (FileBounds(0), (), True),
        (FileBounds(0), (0, 4), True),
        (FileBounds(0), (0, 5), False),
        (FileBounds(0, 20), (0, 5), True),
        (FileBounds(0, None, frozenset({9})), (0, 5), True),
        (FileBounds(0), (3,), False),
        (FileBounds(), (3,), True),
    ),
)
def test_last_batch_is_certain_if_it_joins_something(
    bounds: FileBounds, offsets: tuple[int, ...], is_certain: object
) -> None:
    order = OffsetOrder(bounds)

    assert all(order.takes(batch_at(each)) for each in offsets)
    assert order.is_certain is is_certain
