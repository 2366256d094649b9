"""The new offset of a partition, for each kind of reset."""

import pytest

from cordwood.cli.groups.offset_reset import (
    OffsetChoices,
    ResetKind,
    ResetTarget,
    new_offset,
    new_offsets,
)
from cordwood.core.errors import InvalidRequestError
from tests.unit.cli.groups.group_samples import place

ORDERS = place("orders", 0)


@pytest.mark.parametrize(
    ("kind", "value", "offset"),
    (
        (ResetKind.EARLIEST, 0, 10),
        (ResetKind.LATEST, 0, 90),
        (ResetKind.CURRENT, 0, 50),
        (ResetKind.OFFSET, 42, 42),
        (ResetKind.OFFSET, 9, 10),
        (ResetKind.OFFSET, 91, 90),
        (ResetKind.SHIFT, 5, 55),
        (ResetKind.SHIFT, -5, 45),
        (ResetKind.SHIFT, -45, 10),
        (ResetKind.SHIFT, 45, 90),
        (ResetKind.TIME, 1_000, 70),
        (ResetKind.FILE, 0, 60),
    ),
    ids=str,
)
def test_new_offset_is_in_the_log(kind: ResetKind, value: int, offset: int) -> None:
    offsets = OffsetChoices(10, 90, committed=50, requested=60, at_time=70)

    assert new_offset(ResetTarget(kind, value), offsets, partition=ORDERS) == offset


@pytest.mark.parametrize("kind", (ResetKind.CURRENT, ResetKind.TIME, ResetKind.FILE))
def test_new_offset_is_the_log_end_where_there_is_none(kind: ResetKind) -> None:
    assert new_offset(ResetTarget(kind), OffsetChoices(10, 90), partition=ORDERS) == 90


@pytest.mark.parametrize(("requested", "offset"), ((9, 10), (91, 90)))
def test_offset_of_a_file_is_limited_to_the_log(requested: int, offset: int) -> None:
    offsets = OffsetChoices(10, 90, requested=requested)

    assert new_offset(ResetTarget(ResetKind.FILE), offsets, partition=ORDERS) == offset


def test_committed_offset_is_kept_outside_the_log() -> None:
    offsets = OffsetChoices(10, 90, committed=5)

    assert new_offset(ResetTarget(ResetKind.CURRENT), offsets, partition=ORDERS) == 5


def test_shift_without_a_committed_offset_is_rejected() -> None:
    with pytest.raises(InvalidRequestError, match="orders-0: has no committed offset"):
        new_offset(ResetTarget(ResetKind.SHIFT, 1), OffsetChoices(10, 90), partition=ORDERS)


def test_each_partition_has_its_own_new_offset() -> None:
    partitions = {ORDERS: OffsetChoices(1, 2), place("orders", 1): OffsetChoices(3, 4)}

    assert list(new_offsets(ResetTarget(ResetKind.LATEST), partitions).values()) == [2, 4]
