"""A count of one has a noun in the singular."""

import pytest

from cordwood.core.counts import counted, first_names, offsets_of_log


@pytest.mark.parametrize(
    ("number", "text"),
    ((0, "0 records"), (1, "1 record"), (2, "2 records"), (9999, "9,999 records")),
)
def test_noun_agrees_with_its_number(number: int, text: str) -> None:
    assert counted(number, "record") == text


@pytest.mark.parametrize(
    ("names", "text"), (([], ""), (["a", "b", "c"], "a, b, c"), (["a"] * 5, "a, a, a and 2 more"))
)
def test_further_names_are_counted(names: list[str], text: str) -> None:
    assert first_names(names) == text


def test_plural_may_be_irregular() -> None:
    assert counted(2, "entry", plural="entries") == "2 entries"


def test_empty_log_has_a_next_offset_alone() -> None:
    assert offsets_of_log(5, 8) == "offsets 5 to 7"
    assert offsets_of_log(5, 5) == "no records, next offset 5"
