"""The public functions of the package."""

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.spark.pipeline import parse_pipeline, pipeline_run, run_pipeline, start_pipeline

pytestmark = pytest.mark.spark


def test_functions_pass_their_arguments_on(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = {"format": "kafka", "topic": "out"}
    pipeline = parse_pipeline({"name": "a", "source": {"path": "logs"}, "sink": sink})
    spark = SimpleNamespace()
    monkeypatch.setattr(pipeline_run, "start", lambda *given: ("started", *given))
    monkeypatch.setattr(pipeline_run, "run", lambda *given, on_start: (*given, on_start))

    assert start_pipeline(spark, pipeline) == ("started", spark, pipeline)  # type: ignore[arg-type,comparison-overlap]  # a stand-in
    assert run_pipeline(spark, pipeline, on_start=print) == (spark, pipeline, print)  # type: ignore[arg-type,comparison-overlap]  # as above
