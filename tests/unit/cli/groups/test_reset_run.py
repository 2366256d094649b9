"""A reset decides for each partition, and commits on request."""

from pathlib import Path

import pytest

from cordwood.cli.groups.offset_reset import ResetKind, ResetTarget
from cordwood.cli.groups.reset_run import ResetRequest, reset
from tests.unit.cli.groups.group_samples import committed, make_group, place, running_member

P0, P1 = place("orders", 0), place("orders", 1)


def request(
    kind: ResetKind,
    value: int = 0,
    *topics: str,
    groups: tuple[str, ...] = ("billing",),
    file: str | None = None,
) -> ResetRequest:
    return ResetRequest(groups, topics, ResetTarget(kind, value), file=file, is_dry_run=False)


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


def test_all_groups_of_a_file_are_reset_also_those_that_do_not_exist(
    bootstrap: str, tmp_path: Path
) -> None:
    make_group(bootstrap, {("orders", 0): 2})
    make_group(bootstrap, {("orders", 0): 1}, group="other")
    file = tmp_path / "plan.csv"
    file.write_text("billing,orders,0,3\nnew,orders,0,4\n")

    result = reset(
        {"bootstrap.servers": bootstrap}, request(ResetKind.FILE, groups=(), file=str(file))
    )

    assert result == ({"billing": {P0: 3}, "new": {P0: 4}}, False)
    assert committed(bootstrap, "new") == {P0: 4}
    assert committed(bootstrap, "other") == {P0: 1}


def test_named_group_that_a_file_lacks_is_reported(
    bootstrap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_group(bootstrap, {("orders", 0): 2})
    file = tmp_path / "plan.csv"
    file.write_text("billing,orders,0,3\n")
    wanted = request(ResetKind.FILE, groups=("billing", "nope"), file=str(file))

    result = reset({"bootstrap.servers": bootstrap}, wanted)

    assert result == ({"billing": {P0: 3}}, True)
    assert f"group 'nope': {file} has no offsets of it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("groups", "is_partial", "message"),
    (
        (("nope",), True, "group 'nope': has no committed offsets; name the topics with --topic\n"),
        ((), False, ""),
    ),
)
def test_named_group_without_committed_offsets_is_reported(
    bootstrap: str,
    capsys: pytest.CaptureFixture[str],
    groups: tuple[str, ...],
    is_partial: bool,  # noqa: FBT001  a parameter of the test
    message: str,
) -> None:
    result = reset({"bootstrap.servers": bootstrap}, request(ResetKind.LATEST, groups=groups))

    assert not any(result.offsets.values())
    assert result.is_partial is is_partial
    assert capsys.readouterr().err == message


@pytest.mark.parametrize(
    ("kind", "value", "moved"),
    (
        (
            ResetKind.OFFSET,
            100,
            "orders-0: offset 100 is outside the log (0 to 4); it is moved to 4\n",
        ),
        (
            ResetKind.SHIFT,
            -3,
            "orders-0: offset -1 is outside the log (0 to 4); it is moved to 0\n",
        ),
        (ResetKind.SHIFT, 2, ""),
        (ResetKind.LATEST, 0, ""),
    ),
)
def test_offset_outside_the_log_is_reported(
    bootstrap: str, capsys: pytest.CaptureFixture[str], kind: ResetKind, value: int, moved: str
) -> None:
    make_group(bootstrap, {("orders", 0): 2})

    reset({"bootstrap.servers": bootstrap}, request(kind, value))

    assert capsys.readouterr().err == moved
