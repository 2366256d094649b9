"""A plan of offsets is written as CSV and read again."""

import pytest

from cordwood.cli.groups.offset_plan import parse_plan, plan_lines
from cordwood.core.errors import SettingError
from tests.unit.cli.groups.group_samples import place

PLAN = {"b": {place("orders", 1): 5, place("orders", 0): 4}, "a": {place("orders", 0): 3}}


def test_plan_of_several_groups_names_them() -> None:
    lines = plan_lines(PLAN, has_group=True)

    assert lines == ["a,orders,0,3", "b,orders,0,4", "b,orders,1,5"]
    assert parse_plan("\n".join(lines), path="plan.csv", group=None) == PLAN


def test_plan_of_one_group_does_not_name_it() -> None:
    lines = plan_lines({"a": PLAN["a"]}, has_group=False)

    assert lines == ["orders,0,3"]
    assert parse_plan("orders,0,3\n\n", path="plan.csv", group="a") == {"a": PLAN["a"]}


def test_group_with_a_comma_is_quoted() -> None:
    (line,) = plan_lines({"a,b": PLAN["a"]}, has_group=True)

    assert line == '"a,b",orders,0,3'
    assert list(parse_plan(line, path="plan.csv", group=None)) == ["a,b"]


@pytest.mark.parametrize("line", ("orders,0", "a,orders,0,1", "orders,x,1"))
def test_line_of_another_form_is_rejected_with_its_number(line: str) -> None:
    with pytest.raises(SettingError, match="line 2: cannot be parsed"):
        parse_plan(f"orders,0,1\n{line}\n", path="plan.csv", group="a")
