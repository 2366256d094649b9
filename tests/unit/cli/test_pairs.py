"""NAME=VALUE has a name, and everything behind the first = is the value."""

import pytest
import typer

from cordwood.cli.pairs import pair_in, pairs_in


def test_pair_is_name_and_value() -> None:
    assert pair_in("a=b=c") == ("a", "b=c")


def test_pair_without_a_value_is_refused() -> None:
    with pytest.raises(typer.BadParameter, match="'a' is not NAME=VALUE"):
        pair_in("a")


def test_last_value_of_a_name_counts() -> None:
    assert pairs_in(["a=1", "b=2", "a=3"]) == {"a": "3", "b": "2"}
    assert pairs_in(None) == {}
