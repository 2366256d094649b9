"""Tests of blocks without full collections."""

import gc

from cordwood.broker.full_collections import without_full_collections


def test_full_collections_return_after_the_last_of_overlapping_blocks() -> None:
    before = gc.get_threshold()
    first, second = without_full_collections(), without_full_collections()

    with first:
        with second:
            inside = gc.get_threshold()
        between = gc.get_threshold()

    assert inside == between == (*before[:2], inside[2])
    assert inside[2] > 1_000 * before[2]
    assert gc.get_threshold() == before
