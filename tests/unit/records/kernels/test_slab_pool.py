"""Reuse of slabs: only without references; columns in one slab do not overlap."""

from itertools import pairwise

import numpy as np
import pytest

from cordwood.records.decoder import COLUMNS
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.slab_pool import KEPT, ROOMIEST, SlabLayout, SlabPool

PLACES = (
    at.P_OFFSET, at.P_TIMESTAMP, at.P_TIMESTAMP_TYPE, at.P_KEY, at.P_KEY_BITS, at.P_KEY_DATA,
    at.P_VALUE, at.P_VALUE_BITS, at.P_VALUE_DATA, at.P_HEADERS, at.P_HEADER_KEY,
    at.P_HEADER_KEY_DATA, at.P_HEADER_VALUE, at.P_HEADER_VALUE_BITS, at.P_HEADER_VALUE_DATA,
    at.P_LEADER_EPOCH, at.P_PRODUCER_ID, at.P_PRODUCER_EPOCH, at.P_SEQUENCE,
)  # fmt: skip


def carved(*columns: str, is_view: bool = False) -> tuple[dict[int, int], int]:
    """Return where each stretch begins, and the size of all."""
    plan = np.zeros(at.PLAN_WORDS, np.int64)
    size = SlabLayout(columns, is_view=is_view).carve(plan, 100, 1000)
    return {word: int(plan[word]) for word in PLACES if plan[word] >= 0}, size


def test_pool_reuses_a_slab_without_references() -> None:
    pool = SlabPool()
    slab = pool.take(100)
    address = slab.ctypes.data
    pool.give_back(slab)
    del slab

    assert pool.take(100).ctypes.data == address


def test_pool_keeps_a_slab_when_a_view_of_it_is_held() -> None:
    pool = SlabPool()
    slab = pool.take(100)
    slab[:] = 7
    held = slab[10:20]
    pool.give_back(slab)
    del slab

    pool.take(100)[:] = 9

    assert held.tolist() == [7] * 10


def test_pool_reuses_a_slab_after_its_last_view_is_released() -> None:
    pool = SlabPool()
    slab = pool.take(100)
    address = slab.ctypes.data
    held = slab[:1].view(np.int8)
    pool.give_back(slab)
    del slab
    other = pool.take(100)

    del held

    assert other.ctypes.data != address
    assert pool.take(100).ctypes.data == address


def test_pool_drops_its_slabs_when_larger_ones_are_requested() -> None:
    pool = SlabPool()
    small = pool.take(100)

    large = pool.take(200)
    pool.give_back(small)

    assert (len(small), len(large), len(pool.take(150))) == (100, 200, 200)


def test_pool_keeps_a_limited_number_of_slabs() -> None:
    pool = SlabPool()
    slabs = [pool.take(64) for _ in range(KEPT + 2)]
    addresses = [slab.ctypes.data for slab in slabs]

    for slab in slabs:
        pool.give_back(slab)
    del slabs, slab
    taken = [pool.take(64) for _ in range(KEPT)]

    assert {slab.ctypes.data for slab in taken} == set(addresses[-KEPT:])


def test_layout_without_columns_is_empty() -> None:
    assert carved() == ({}, 0)


def test_layout_has_only_selected_columns() -> None:
    places, _ = carved("offset", "value")

    assert set(places) == {at.P_OFFSET, at.P_VALUE, at.P_VALUE_BITS, at.P_VALUE_DATA}


def test_layout_of_views_has_no_data_bytes() -> None:
    places, _ = carved("key", "value", "headers", is_view=True)

    assert {at.P_KEY, at.P_KEY_BITS, at.P_HEADER_VALUE_DATA} <= set(places)
    assert not {at.P_KEY_DATA, at.P_VALUE_DATA} & set(places)


@pytest.mark.parametrize("is_view", (True, False))
def test_layout_aligns_all_columns_without_overlap(*, is_view: bool) -> None:
    places, size = carved(*COLUMNS, is_view=is_view)
    begins = sorted(places.values())

    assert all(begin % 64 == 0 for begin in begins)
    assert all(after - before >= at.SLACK for before, after in pairwise(begins))
    assert size - begins[-1] >= at.SLACK


@pytest.mark.parametrize(
    ("column", "word", "width"),
    (("offset", at.P_OFFSET, 8), ("sequence", at.P_SEQUENCE, 4), ("key", at.P_KEY_DATA, 10)),
)
def test_layout_has_enough_bytes_for_each_row(column: str, word: int, width: int) -> None:
    places, size = carved(column)
    ends = [place for place in [*places.values(), size] if place > places[word]]

    assert min(ends) - places[word] >= 100 * width + at.SLACK


def test_pool_drops_slabs_far_larger_than_requested() -> None:
    pool = SlabPool()
    pool.give_back(pool.take(ROOMIEST * 100))

    fitting, small = pool.take(100), pool.take(99)

    assert (len(fitting), len(small)) == (ROOMIEST * 100, 99)
