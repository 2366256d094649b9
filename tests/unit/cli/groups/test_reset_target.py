"""Exactly one option sets the target of a reset."""

import pytest
import typer

from cordwood.cli.groups.offset_reset import ResetKind, ResetTarget
from cordwood.cli.groups.reset_target import Given, parse_duration, parse_target

NONE: Given = {"to-earliest": False, "to-offset": None, "by-duration": None}


@pytest.mark.parametrize(
    ("given", "target"),
    (
        ({"to-earliest": True}, ResetTarget(ResetKind.EARLIEST)),
        ({"to-latest": True}, ResetTarget(ResetKind.LATEST)),
        ({"to-current": True}, ResetTarget(ResetKind.CURRENT)),
        ({"from-file": "plan.csv"}, ResetTarget(ResetKind.FILE)),
        ({"to-offset": 0}, ResetTarget(ResetKind.OFFSET, 0)),
        ({"shift-by": -3}, ResetTarget(ResetKind.SHIFT, -3)),
        ({"to-datetime": "1970-01-01T00:00:01.500"}, ResetTarget(ResetKind.TIME, 1_500)),
        ({"by-duration": "PT1S"}, ResetTarget(ResetKind.TIME, 9_000)),
        ({"by-duration": "PT1H"}, ResetTarget(ResetKind.TIME, 0)),
    ),
    ids=str,
)
def test_target_is_that_of_the_given_option(given: Given, target: ResetTarget) -> None:
    assert parse_target({**NONE, **given}, now_ms=10_000) == target


@pytest.mark.parametrize("given", ({}, {"to-earliest": True, "to-offset": 0}), ids=str)
def test_target_is_rejected_unless_one_option_is_given(given: Given) -> None:
    with pytest.raises(typer.BadParameter, match="give one of --to-earliest"):
        parse_target({**NONE, **given}, now_ms=0)


def test_duration_is_of_iso_8601() -> None:
    assert parse_duration("P1DT0.5S") == 86_400_500

    with pytest.raises(typer.BadParameter, match="is not a duration"):
        parse_duration("1h")
