"""Options and errors of a run; `tests/spark` runs pipelines."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.errors import StreamingQueryException

from cordwood.core.errors import CordwoodError
from cordwood.spark.pipeline.pipeline_definition import KafkaSink, PipelineStep, parse_pipeline
from cordwood.spark.pipeline.pipeline_run import (
    STARTING,
    PipelineReport,
    cause_of,
    local_manager,
    start,
    topic_options,
)
from cordwood.spark.runtime.stream_settings import CHECKPOINT_MANAGER, LOCAL_MANAGER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DEAD = PipelineStep(kind="dead-letters", value="dead", options={"topic": "good"})


class LockedConf:
    """The settings of a session, which change only while a pipeline holds the lock."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, name: str, default: str | None) -> str | None:
        assert STARTING.locked()
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        assert STARTING.locked()
        self.values[name] = value

    def unset(self, name: str) -> None:
        assert STARTING.locked()
        self.values.pop(name, None)


@pytest.mark.parametrize(
    ("checkpoint", "used"), (("c", LOCAL_MANAGER), ("file:/c", LOCAL_MANAGER), ("s3://b/c", None))
)
def test_pipelines_start_one_after_the_other_with_their_managers(
    checkpoint: str, used: str | None
) -> None:
    conf = LockedConf()

    with local_manager(cast("SparkSession", SimpleNamespace(conf=conf)), checkpoint):
        assert conf.values.get(CHECKPOINT_MANAGER) == used

    assert not conf.values
    assert not STARTING.locked()


def test_record_of_the_sink_is_in_the_topic_of_good_rows() -> None:
    assert topic_options(KafkaSink(options={"a": "b"}), [DEAD]) == {
        "recordTopic": "good",
        "a": "b",
    }


@pytest.mark.parametrize("options", ({"topic": "out"}, {"topic": "out", "recordTopic": "other"}))
def test_topic_of_the_sink_is_kept(options: dict[str, str]) -> None:
    assert topic_options(KafkaSink(options=options), [DEAD]) == options


@pytest.mark.parametrize(
    "name",
    ("core.errors.tree.SettingError", "spark.formats.schema_source.UnknownSchemaError"),
)
def test_cause_is_the_error_of_the_package(name: str) -> None:
    words = f"Query failed\ncordwood.{name}: topic is missing; set it\n at java"

    assert cause_of(StreamingQueryException(words)) == "topic is missing; set it"
    assert cause_of(StreamingQueryException("no memory")) == "no memory"


@pytest.mark.parametrize(
    ("changed", "error_text"),
    (
        (
            {"source": {"path": "/l", "subscrib": "t"}},
            r"pipeline p does not start: unknown option: subscrib; did you mean subscribe\?",
        ),
        (
            {"transform": [{"sql": "SELECT binary('a') AS value"}]},
            "transform: the steps do not read the stream",
        ),
    ),
)
def test_definition_that_cannot_run_is_an_error_of_the_package(
    spark: "SparkSession", changed: dict[str, object], error_text: str
) -> None:
    sink = {"format": "kafka", "topic": "a", "kafka.bootstrap.servers": "127.0.0.1:1"}
    given = {"name": "p", "source": {"path": "/l", "subscribe": "t"}, "sink": sink, **changed}

    with pytest.raises(CordwoodError, match=error_text):
        start(spark, parse_pipeline(given))


@pytest.mark.parametrize(
    ("batches", "rows", "line"),
    (
        (1_000, 2_000, "orders: 2,000 rows read in 1,000 batches"),
        (1, 1, "orders: 1 row read in 1 batch"),
        (0, 0, "orders: 0 rows read in 0 batches"),
    ),
)
def test_report_is_a_line(batches: int, rows: int, line: str) -> None:
    report = PipelineReport(name="orders", query_id="q", batches=batches, rows=rows)

    assert str(report) == line
