"""Outline of a pipeline for a person."""

import pytest

from cordwood.spark.pipeline.pipeline_definition import parse_pipeline
from cordwood.spark.pipeline.pipeline_outline import pipeline_outline


def test_outline_has_every_part_and_no_password() -> None:
    pipeline = parse_pipeline(
        {
            "name": "orders",
            "source": {"subscribe": "orders", "kafka.ssl.key.password": "x1"},
            "transform": [
                {"sql": "SELECT *\n  FROM input"},
                {"decode": "avro", "schemas": "https://ada:x2@registry"},
            ],
            "sink": {"format": "delta", "to": "/lake", "mode": "upsert", "key": "key"},
        },
        folder="/p",
    )

    assert pipeline_outline(pipeline).splitlines() == [
        "pipeline    orders, trigger available-now",
        "read        subscribe=orders, kafka.ssl.key.password=***",
        "step 1      sql SELECT * FROM input",
        "step 2      decode avro (schemas=https://***@registry)",
        "write       delta table in /lake, one commit for each batch: the last row of each key",
        "checkpoint  /p/orders.checkpoint",
    ]


@pytest.mark.parametrize(
    ("given", "line"),
    (
        ({}, "exactly once: topic=out"),
        ({"delivery": "at-least-once"}, "at least once: topic=out, delivery=at-least-once"),
    ),
)
def test_outline_names_the_topics_of_a_sink(given: dict[str, str], line: str) -> None:
    sink = {"format": "kafka", "topic": "out", **given}
    pipeline = parse_pipeline({"name": "a", "source": {"path": "/l"}, "sink": sink})

    assert f"write       topics, {line}" in pipeline_outline(pipeline)
