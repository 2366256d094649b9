"""Rows with an error, sent to a topic of their own."""

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import SettingError
from cordwood.spark.formats.dead_letters import with_dead_letters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

HEADERS = "headers array<struct<key: string, value: binary>>"
SOURCE = f"topic string, partition int, offset bigint, key binary, value binary, {HEADERS}"


def test_row_with_an_error_has_the_reason_and_its_place_in_headers(spark: "SparkSession") -> None:
    own = [("h", b"1")]
    frame = spark.createDataFrame(
        [
            ("in", 0, 7, b"k", b"good", own, None, b"GOOD"),
            ("in", 1, 8, b"l", b"?", own, "bad", None),
        ],
        f"{SOURCE}, error string, out binary",
    )

    rows = with_dead_letters(frame, topic="out", dead="dead", value="out").collect()

    assert [(row.topic, bytes(row.key), bytes(row.value)) for row in rows] == [
        ("out", b"k", b"GOOD"),
        ("dead", b"l", b"?"),
    ]
    headers = [{each.key: bytes(each.value) for each in row.headers} for row in rows]
    assert headers[0] == {"h": b"1"}
    assert headers[1] == {
        "h": b"1",
        "__connect.errors.topic": b"in",
        "__connect.errors.partition": b"1",
        "__connect.errors.offset": b"8",
        "__connect.errors.exception.message": b"bad",
    }


def test_rows_without_a_column_of_errors_are_rejected(spark: "SparkSession") -> None:
    frame = spark.createDataFrame([(b"x",)], "value binary")

    with pytest.raises(SettingError, match="column error is missing"):
        with_dead_letters(frame, topic="out", dead="dead")
