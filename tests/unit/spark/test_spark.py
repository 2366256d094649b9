"""The package's own functions."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Self, cast

import pytest

import cordwood.spark

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


class Reader:
    """A reader that keeps its options."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}

    def format(self, _name: str) -> Self:
        return self

    def options(self, **options: str) -> Self:
        self.given |= options
        return self

    def option(self, name: str, text: str) -> Self:
        self.given[name] = text
        return self

    def load(self) -> Self:
        return self


def test_package_offers_its_functions_without_importing_spark() -> None:
    assert {"read", "register", "scan"} <= set(cordwood.spark.__all__)


@pytest.mark.spark
@pytest.mark.parametrize("columns", (["key", "offset"], "key,offset"))
@pytest.mark.parametrize("read", (cordwood.spark.read, cordwood.spark.read_stream))
def test_columns_are_a_list_or_the_text_of_the_option(
    read: "Callable[..., Reader]", columns: str | list[str]
) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    reader = Reader()
    registry = SimpleNamespace(register=lambda _source: None)
    spark = SimpleNamespace(read=reader, readStream=reader, dataSource=registry, sparkContext=None)

    read(cast("SparkSession", spark), columns=columns, subscribe="orders")

    assert reader.given == {"subscribe": "orders", "columns": "key,offset"}
