"""A count of one has a noun in the singular."""

import pytest

from cordwood.core.counts import counted


@pytest.mark.parametrize(
    ("number", "text"),
    ((0, "0 records"), (1, "1 record"), (2, "2 records"), (9999, "9,999 records")),
)
def test_noun_agrees_with_its_number(number: int, text: str) -> None:
    assert counted(number, "record") == text


def test_plural_may_be_irregular() -> None:
    assert counted(2, "entry", plural="entries") == "2 entries"
