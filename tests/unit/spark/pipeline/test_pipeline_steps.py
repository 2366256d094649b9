"""Steps of a pipeline, over rows in a session."""

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import SettingError
from cordwood.spark.pipeline.pipeline_definition import parse_pipeline
from cordwood.spark.pipeline.pipeline_steps import apply_steps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

UDF = """
from pyspark.sql.functions import udf

def twice(value):
    return value.decode() * 2

def doubled(frame):
    return frame.select(udf(twice)("value").alias("value"))
"""
COLUMNS = "topic string, partition int, offset bigint, key binary, value binary"
MODULE = """
def shouted(frame):
    return frame.selectExpr("key", "upper(string(value)) AS value")

def counted(frame):
    return frame.count()

NUMBER = 7
"""


def rows(spark: "SparkSession", *values: bytes) -> "DataFrame":
    """Return rows of a topic."""
    return spark.createDataFrame(
        [("t", 0, n, b"k", each) for n, each in enumerate(values)], COLUMNS
    )


def applied(frame: "DataFrame", *steps: dict[str, str], folder: str = ".") -> "DataFrame":
    """Return the rows after steps."""
    sink = {"format": "kafka"}
    given = {"name": "p", "source": {"path": "logs"}, "transform": steps, "sink": sink}
    return apply_steps(frame, parse_pipeline(given, folder=folder))


def test_steps_are_applied_in_their_order(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    (folder / "shop_steps.py").write_text(MODULE)

    found = applied(
        rows(spark, b"ada", b"bob"),
        {"sql": "SELECT key, value FROM input WHERE offset > 0"},
        {"function": "shop_steps:shouted"},
        folder=str(folder),
    )

    assert [row.value for row in found.collect()] == ["BOB"]


def test_module_of_the_folder_is_sent_to_tasks(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("udf")
    (folder / "udf_steps.py").write_text(UDF)

    found = applied(rows(spark, b"ada"), {"function": "udf_steps:doubled"}, folder=str(folder))

    assert [row.value for row in found.collect()] == ["adaada"]
    other = tmp_path_factory.mktemp("other")
    (other / "udf_steps.py").write_text(UDF)
    with pytest.raises(SettingError, match="udf_steps is already imported from"):
        applied(rows(spark), {"function": "udf_steps:doubled"}, folder=str(other))


def test_bad_rows_become_dead_letters(spark: "SparkSession") -> None:
    found = applied(
        rows(spark, b'{"id": 1}', b"?"),
        {"decode": "json", "columns": "id long"},
        {"encode": "json", "into": "out"},
        {"dead-letters": "dead", "topic": "good", "value": "out"},
    )

    assert [(row.topic, bytes(row.value)) for row in found.collect()] == [
        ("good", b'{"id":1}'),
        ("dead", b"?"),
    ]


@pytest.mark.parametrize(
    ("step", "error_text"),
    (
        ({"sql": "SELECT absent FROM input"}, "sql: .*absent"),
        ({"function": "absent_module:run"}, "absent_module:run cannot be imported"),
        ({"function": "json:absent"}, "json:absent cannot be imported"),
        ({"function": "os:sep"}, "os:sep is not a function"),
        ({"function": "json:dumps"}, "json:dumps cannot be called"),
        ({"decode": "yaml"}, "unknown format 'yaml'; use one of avro, json, protobuf"),
        ({"decode": "json", "colums": "a int"}, "decode json: .*colums"),
        ({"decode": "json", "columns": "id lon"}, "decode json: (.|\n)*LON"),
        ({"dead-letters": "dead", "topics": "a"}, "dead-letters dead: .*topics"),
    ),
)
def test_unusable_step_is_rejected_with_its_number(
    spark: "SparkSession", step: dict[str, str], error_text: str
) -> None:
    with pytest.raises(SettingError, match=f"transform 1: {error_text}"):
        applied(rows(spark), step)
