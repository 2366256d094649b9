"""Definitions of pipelines, from TOML files and mappings."""

from pathlib import Path
from typing import Final

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.pipeline.pipeline_definition import (
    KafkaSink,
    PipelineStep,
    TableSink,
    parse_pipeline,
    read_pipeline,
)

SOURCE: Final = {"path": "logs", "subscribe": "orders"}
KAFKA: Final = {"format": "kafka", "topic": "out", "kafka": {"bootstrap": {"servers": "a:1"}}}
DELTA: Final = {"format": "delta", "to": "lake/orders"}
WHOLE: Final = """
trigger = "5 seconds"

[source]
path = "logs"
subscribe = "orders"
maxOffsetsPerTrigger = 1000
includeHeaders = true
kafka.bootstrap.servers = "broker:9092"

[[transform]]
sql = "SELECT * FROM input"

[[transform]]
decode = "avro"
schemas = "http://registry:8081"
reader = 7

[sink]
format = "iceberg"
to = "/lake"
table = "shop.orders"
mode = "upsert"
key = "topic, key"
catalog.type = "sql"
"""


def test_file_has_all_parts_of_a_pipeline(tmp_path: Path) -> None:
    (tmp_path / "orders.toml").write_text(WHOLE)

    found = read_pipeline(str(tmp_path / "orders.toml"))

    assert (found.name, found.trigger) == ("orders", "5 seconds")
    assert found.checkpoint == f"{tmp_path}/orders.checkpoint"
    assert found.source == {
        "path": f"{tmp_path}/logs",
        "subscribe": "orders",
        "maxOffsetsPerTrigger": "1000",
        "includeHeaders": "true",
        "kafka.bootstrap.servers": "broker:9092",
    }
    avro = {"schemas": "http://registry:8081", "reader": "7"}
    assert found.steps == (
        PipelineStep(kind="sql", value="SELECT * FROM input"),
        PipelineStep(kind="decode", value="avro", options=avro),
    )
    assert found.sink == TableSink(
        format="iceberg",
        to="/lake",
        table="shop.orders",
        mode="upsert",
        key=("topic", "key"),
        catalog={"type": "sql"},
    )


def test_options_of_topics_are_those_of_the_sink() -> None:
    found = parse_pipeline({"name": "a", "source": SOURCE, "sink": KAFKA}, folder="/p")

    assert found.sink == KafkaSink(options={"topic": "out", "kafka.bootstrap.servers": "a:1"})
    assert found.checkpoint == "/p/a.checkpoint"
    assert found.trigger == "available-now"


@pytest.mark.parametrize(
    ("changed", "error_text"),
    (
        ({"sinks": {}}, r"unknown option of the pipeline: sinks; did you mean sink\?"),
        ({"source": None}, "source is missing"),
        ({"source": {"path": ["a"]}}, "path: a list cannot be an option"),
        ({"name": 7}, "name: 7 is not a text"),
        ({"transform": {}}, "transform: not a list of steps"),
        ({"transform": [{}]}, "transform 1 has no kind"),
        ({"transform": [{"sql": "a", "function": "b"}]}, "transform 1 has sql and function"),
        ({"transform": [{"sql": "a", "reader": 7}]}, "transform 1: unknown option reader"),
        (
            {"transform": [{"encode": "json"}, {"dead-letters": "dead", "topic": "a"}]},
            "transform 2: an encode before it replaces value",
        ),
        (
            {"transform": [{"dead-letters": "dead", "topic": "a"}]},
            "transform 1: dead-letters names a topic, and the sink is a table",
        ),
        (
            {"transform": [{"dead-letters": "dead", "topic": "a"}], "sink": KAFKA},
            "transform 1: the option topic of the sink sends dead letters to it",
        ),
        ({"sink": {}}, "sink: format is not set"),
        ({"sink": {"format": "hudi"}}, "sink: format 'hudi' is unknown"),
        ({"sink": {"format": "delta"}}, "sink: to is not set"),
        (
            {"sink": {**DELTA, "mood": "append"}},
            r"unknown option of the sink: mood; did you mean mode\?",
        ),
        ({"sink": {**DELTA, "mode": "merge"}}, "sink: unknown mode 'merge'"),
        ({"sink": {**DELTA, "mode": "upsert"}}, "an upsert needs a key"),
        ({"sink": {**DELTA, "key": "key"}}, "an append has none"),
        ({"sink": {**DELTA, "table": "a.b"}}, "an Iceberg table has a name"),
        (
            {"sink": {"format": "parquet", "to": "a", "mode": "upsert", "key": "key"}},
            "a folder of Parquet files cannot be updated",
        ),
    ),
)
def test_unusable_definition_is_rejected(changed: dict[str, object], error_text: str) -> None:
    with pytest.raises(SettingError, match=error_text):
        parse_pipeline({"name": "a", "source": SOURCE, "sink": DELTA, **changed})


@pytest.mark.parametrize("paths", (["logs", "/old"], '["logs", "/old"]'))
def test_each_path_of_a_list_is_in_the_folder(paths: object) -> None:
    source = {"paths": paths, "GAPTABLE": "gaps"}

    found = parse_pipeline({"name": "a", "source": source, "sink": KAFKA}, folder="/p")

    assert found.source == {"paths": '["/p/logs", "/old"]', "GAPTABLE": "/p/gaps"}


@pytest.mark.parametrize("paths", ("logs", "7"))
def test_paths_that_are_not_a_list_are_left_to_the_source(paths: str) -> None:
    found = parse_pipeline({"name": "a", "source": {"paths": paths}, "sink": KAFKA}, folder="/p")

    assert found.source == {"paths": paths}


@pytest.mark.parametrize("address", ("s3a://bucket/a", "file:/lake/a", "/lake/a"))
def test_addresses_are_not_paths_in_the_folder(address: str) -> None:
    sink = {"format": "delta", "to": address}

    found = parse_pipeline({"name": "a", "source": SOURCE, "sink": sink}, folder="/p")

    assert isinstance(found.sink, TableSink)
    assert found.sink.to == address


@pytest.mark.parametrize("text", (None, "= 7"))
def test_unreadable_file_is_rejected(tmp_path: Path, text: str | None) -> None:
    place = tmp_path / "orders.toml"
    if text is not None:
        place.write_text(text)

    with pytest.raises(SettingError, match=r"orders\.toml: (No such file|not TOML)"):
        read_pipeline(str(place))
