"""Markers are found in damaged ranges by the bytes that each of them has."""

import pytest

from cordwood.core.binary import Buffer
from cordwood.workbench.salvage.damaged_markers import (
    DamagedMarker,
    find_markers,
    has_marker_record,
)
from tests.unit.workbench.salvage_samples import batch, harmed, marker


def found(data: Buffer) -> list[tuple[int | None, int | None, bool | None]]:
    return [each[:3] for each in find_markers(data)]


def only(data: Buffer) -> DamagedMarker:
    (marker,) = find_markers(data)
    return marker


def test_markers_of_a_range_are_found_with_their_offsets_and_types() -> None:
    data = marker(5) + b"\1" * 9 + marker(9, is_commit=False, producer_id=8)

    assert found(memoryview(data)) == [(7, 5, True), (8, 9, False)]


@pytest.mark.parametrize(
    ("data", "marker"),
    (
        (b"\1" * 26 + marker(5)[26:], (7, None, True)),
        (marker(5)[43:], (7, None, True)),
        (marker(5)[44:], (None, None, True)),
        (marker(5)[:60], (7, 5, None)),
        (marker(5)[:34] + b"\xff" * 33 + marker(5)[67:], (-1, 5, True)),
        (marker(5)[:51] + b"\7" * 12 + marker(5)[63:], (7, 5, True)),
        (marker(5)[:40] + b"\7" * 38, (0x0707070707070707, 5, None)),
    ),
)
def test_damaged_marker_is_found_by_what_is_left(
    data: bytes, marker: tuple[int | None, int | None, bool | None]
) -> None:
    assert found(data)[:1] == [marker]


def test_other_batches_and_zeros_are_no_markers() -> None:
    assert found(batch(6) + bytes(78)) == []
    assert found(marker(5)[:20] + b"\7" * 57) == []


@pytest.mark.parametrize("is_commit", (True, False))
def test_checksum_proves_the_type_although_the_key_is_damaged(*, is_commit: bool) -> None:
    damaged = only(harmed(marker(5, is_commit=is_commit), 51, 52, 60, 66, 69, 75))

    assert damaged.is_commit is None
    assert damaged.proven_type(7, epochs={3, 0}, coordinator_epochs={0}) is is_commit
    assert damaged.proven_type(7, epochs={3}, coordinator_epochs={0}) is None
    assert damaged.proven_type(8, epochs={0}, coordinator_epochs={0}) is None


def test_one_of_both_timestamps_is_enough_for_a_proof() -> None:
    for at in (30, 40):
        damaged = only(harmed(marker(5), at, 69))

        assert damaged.proven_type(7, epochs=(), coordinator_epochs=()) is True


def test_damaged_checksum_proves_nothing() -> None:
    damaged = only(harmed(marker(5), 18))

    assert damaged.is_commit is True
    assert damaged.proven_type(7, epochs=(), coordinator_epochs=()) is None


def test_record_of_a_marker_is_not_data() -> None:
    data = marker(5)

    assert has_marker_record(harmed(data, 22, 45, 53))
    assert has_marker_record(marker(5, is_commit=False))
    assert not has_marker_record(harmed(data, 69))
    assert not has_marker_record(harmed(data, 62))
    assert not has_marker_record(data + b"x")
