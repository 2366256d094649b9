"""Segments are listed by file names, in every state of a swap."""

import pytest

from cordwood.storage.files.file_names import INDEX, LOG, TIME_INDEX
from cordwood.storage.reader.segment_listing import ListedSegment, list_segments, snapshot_offsets


def name(base_offset: int, ending: str) -> str:
    return f"{base_offset:020}{ending}"


def bases(*names: str, swap_ends: int = 0) -> list[tuple[int, str]]:
    return [(each.base_offset, each.suffix) for each in list_segments(names, lambda _: swap_ends)]


def test_segments_are_the_logs_in_order() -> None:
    found = bases(name(10, ".log"), name(2, ".log"), name(2, ".index"), "partition.metadata")

    assert found == [(2, ""), (10, "")]


def test_segments_leave_out_deleted_and_incomplete_ones() -> None:
    found = bases(name(0, ".log.deleted"), name(5, ".log"), name(5, ".log.cleaned"))

    assert found == [(5, "")]


def test_swap_replaces_the_segments_in_its_range() -> None:
    names = [name(at, ".log") for at in (0, 5, 10)]

    assert bases(*names, name(0, ".log.swap"), swap_ends=8) == [(0, ".swap"), (10, "")]


def test_empty_swap_replaces_no_segments() -> None:
    found = bases(name(0, ".log"), name(0, ".log.swap"), name(4, ".log"), swap_ends=0)

    assert found == [(0, ""), (4, "")]


@pytest.mark.parametrize(("cleaned", "is_used"), ((0, False), (4, False), (5, True)))
def test_swap_counts_only_below_the_lowest_that_is_being_written(
    cleaned: int, *, is_used: bool
) -> None:
    names = (name(4, ".log"), name(4, ".log.swap"), name(cleaned, ".timeindex.cleaned"))

    assert bases(*names, swap_ends=5) == [(4, ".swap" if is_used else "")]


def test_listed_segment_names_its_files() -> None:
    assert ListedSegment(7).name(LOG) == name(7, ".log")
    assert ListedSegment(7, ".swap").name(INDEX) == name(7, ".index.swap")


def test_indexes_that_a_stopped_broker_has_not_renamed_have_two_names() -> None:
    names = (name(7, ".log"), name(7, ".index"), name(7, ".timeindex.swap"), name(9, ".log"))

    found = list_segments(names, lambda _: 0)

    assert [each.index_names(INDEX) for each in found] == [
        (name(7, ".index"),),
        (name(9, ".index"),),
    ]
    assert [each.index_names(TIME_INDEX) for each in found] == [
        (name(7, ".timeindex"), name(7, ".timeindex.swap")),
        (name(9, ".timeindex"),),
    ]


def test_snapshots_are_listed_in_order_without_deleted_ones() -> None:
    names = (name(9, ".snapshot"), name(3, ".snapshot"), name(1, ".snapshot.deleted"), "x")

    assert snapshot_offsets(names) == [3, 9]
