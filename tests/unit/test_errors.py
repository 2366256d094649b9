"""`cordwood.errors` has every error that a user can catch, and loads no large package."""

import pytest

import cordwood
from cordwood import errors
from cordwood.core import errors as tree
from tests.unit.test_cordwood import modules_after


def test_errors_are_those_of_the_tree_and_of_packages_above_it() -> None:
    assert set(errors.__all__) == {*tree.__all__, "FaultNotMetError", "UnknownSchemaError"}


@pytest.mark.parametrize("name", errors.__all__)
def test_error_is_the_class_that_is_raised(name: str) -> None:
    value = getattr(errors, name)

    assert value is getattr(errors, name)
    assert name in dir(errors)
    assert getattr(tree, name, value) is value


def test_errors_are_found_by_the_facade_too() -> None:
    assert cordwood.errors is errors


def test_errors_load_neither_asyncio_nor_spark_nor_the_fixtures() -> None:
    loaded = modules_after("import cordwood.errors")

    assert not loaded & {"asyncio", "numpy", "pyspark", "pytest"}
    assert not {each for each in loaded if each.startswith(("cordwood.spark", "cordwood.testing"))}


def test_unknown_error_is_named() -> None:
    with pytest.raises(AttributeError, match=r"'cordwood.errors' has no attribute 'NoSuchError'"):
        getattr(errors, "NoSuchError")  # noqa: B009  # the name is not there for mypy either
