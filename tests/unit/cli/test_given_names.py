"""Names are arguments, or given by an option."""

import pytest
import typer

from cordwood.cli.given_names import given_name, given_names


def test_names_of_arguments_and_of_the_option_are_taken_once() -> None:
    assert given_names(["b", "a"], ["a", "c"]) == ["b", "a", "c"]
    assert given_names(None, None) == []


@pytest.mark.parametrize(("argument", "option"), (("a", None), (None, "a"), ("a", "a")))
def test_one_name_is_the_argument_or_the_option(argument: str | None, option: str | None) -> None:
    assert given_name(argument, option, noun="thing", metavar="ID", flag="--thing") == "a"


@pytest.mark.parametrize(
    ("argument", "option", "problem"),
    (
        (None, None, "no thing is given; name it: ID, or --thing ID"),
        ("a", "b", "both 'a' and --thing 'b'; give one thing"),
    ),
)
def test_two_names_or_none_are_rejected_for_one(
    argument: str | None, option: str | None, problem: str
) -> None:
    with pytest.raises(typer.BadParameter) as raised:
        given_name(argument, option, noun="thing", metavar="ID", flag="--thing")

    assert raised.value.message == problem
