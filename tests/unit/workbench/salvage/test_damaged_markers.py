"""Commit markers are found in damaged ranges by the bytes that each of them ends with."""

from cordwood.workbench.salvage.damaged_markers import find_commits
from tests.unit.workbench.salvage_samples import batch, marker


def test_commits_of_a_range_are_found_with_their_offsets() -> None:
    data = marker(5) + b"\1" * 9 + marker(9, producer_id=8)

    assert list(find_commits(memoryview(data))) == [(7, 5), (8, 9)]


def test_commit_whose_header_begins_with_damage_has_no_offset() -> None:
    assert list(find_commits(b"\1" * 26 + marker(5)[26:])) == [(7, None)]
    assert list(find_commits(marker(5)[43:])) == [(7, None)]
    assert list(find_commits(marker(5)[44:])) == []


def test_aborts_and_data_are_no_commits() -> None:
    assert list(find_commits(marker(5, is_commit=False) + batch(6))) == []
