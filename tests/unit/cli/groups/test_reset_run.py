"""A reset decides for each partition, and commits on request."""

import pytest

from cordwood.cli.groups.offset_reset import ResetKind, ResetTarget
from cordwood.cli.groups.reset_run import ResetRequest, reset
from tests.unit.cli.groups.group_samples import committed, make_group, place, running_member

P0, P1 = place("orders", 0), place("orders", 1)


def request(kind: ResetKind, value: int = 0, *topics: str) -> ResetRequest:
    return ResetRequest(("billing",), topics, ResetTarget(kind, value), file=None, is_dry_run=False)


@pytest.mark.parametrize(
    ("kind", "value", "offset"),
    (
        (ResetKind.EARLIEST, 0, 0),
        (ResetKind.LATEST, 0, 4),
        (ResetKind.CURRENT, 0, 2),
        (ResetKind.OFFSET, 3, 3),
        (ResetKind.SHIFT, -1, 1),
        (ResetKind.TIME, 1_000, 0),
        (ResetKind.TIME, 1_001, 4),
    ),
)
def test_offset_is_committed(bootstrap: str, kind: ResetKind, value: int, offset: int) -> None:
    make_group(bootstrap, {("orders", 0): 2})

    result = reset({"bootstrap.servers": bootstrap}, request(kind, value))

    assert result == ({"billing": {P0: offset}}, False)
    assert committed(bootstrap) == {P0: offset}


def test_offsets_of_topics_are_committed_for_a_group_that_does_not_exist(bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 2}, group="other")

    reset({"bootstrap.servers": bootstrap}, request(ResetKind.LATEST, 0, "orders"))

    assert committed(bootstrap) == {P0: 4, P1: 0}


def test_group_with_members_is_left_out(bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 2})

    with running_member(bootstrap):
        result = reset({"bootstrap.servers": bootstrap}, request(ResetKind.LATEST))

    assert result == ({}, True)
    assert committed(bootstrap) == {P0: 2}
