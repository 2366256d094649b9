"""The package's own functions."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Self, cast

import pytest

import cordwood.spark
from cordwood.core.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

READS = (cordwood.spark.read, cordwood.spark.read_stream)


class Reader:
    """A reader that keeps its options."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}

    def format(self, _name: str) -> Self:
        return self

    def options(self, **options: str) -> Self:
        self.given |= options
        return self

    def load(self) -> Self:
        return self


class Session(SimpleNamespace):
    """A session that reads nothing."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # that of a session


@pytest.fixture
def spark() -> "SparkSession":
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    reader = Reader()
    registry = SimpleNamespace(register=lambda _source: None)
    session = Session(read=reader, readStream=reader, dataSource=registry, sparkContext=None)
    return cast("SparkSession", session)


def test_package_offers_its_functions_without_importing_spark() -> None:
    assert {"explain", "read", "register", "scan"} <= set(cordwood.spark.__all__)


@pytest.mark.parametrize("columns", (["key", "offset"], "key,offset"))
@pytest.mark.parametrize("read", READS)
def test_columns_are_a_list_or_the_text_of_the_option(
    spark: "SparkSession",
    read: "Callable[..., Reader]",
    columns: str | list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)

    found = read(spark, ["logs", "/more"], columns=columns, subscribe="orders", minPartitions=4)

    assert found.given.pop("minPartitions") == "4"
    assert json.loads(found.given.pop("paths")) == [f"{tmp_path}/logs", "/more"]
    assert found.given == {"subscribe": "orders", "columns": "key,offset"}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    ("path", "options", "words"),
    (
        ("logs", {"subscrib": "orders"}, "unknown option: subscrib; did you mean subscribe"),
        ("logs", {"columns": "keys"}, "unknown column: 'keys'"),
        ("s3a://b/logs", {}, "path: s3a://b/logs is not a local path"),
        ("logs", {"PATH": "logs"}, "PATH is given twice"),
        (None, {}, "no source is given"),
    ),
)
def test_unusable_options_are_an_error_before_spark_reads(
    spark: "SparkSession",
    read: "Callable[..., Reader]",
    path: str | None,
    options: dict[str, str],
    words: str,
) -> None:
    with pytest.raises(SettingError, match=words):
        read(spark, path, **options)


def test_stream_rejects_options_of_a_batch_when_it_is_loaded(spark: "SparkSession") -> None:
    """Spark itself reports them when the query starts: it hides the kind of a read."""
    with pytest.raises(SettingError, match="endingoffsets applies to batch reads only"):
        cordwood.spark.read_stream(spark, "logs", endingOffsets="latest")
