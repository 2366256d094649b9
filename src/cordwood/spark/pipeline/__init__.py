"""Pipelines: read a stream, transform it, and write it exactly once to topics or to a table.

    from cordwood.spark.pipeline import read_pipeline, run_pipeline
    run_pipeline(spark, read_pipeline("orders.toml"))

A pipeline is a value (`pipeline_definition`), from a TOML file or a mapping. The package may import
what `cordwood.spark` may.
"""

from typing import TYPE_CHECKING

from cordwood.spark.pipeline.pipeline_definition import Pipeline, parse_pipeline, read_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from cordwood.spark.pipeline.pipeline_run import PipelineReport
    from cordwood.spark.runtime.session import StreamingQuery

__all__ = ("Pipeline", "parse_pipeline", "read_pipeline", "run_pipeline", "start_pipeline")


def start_pipeline(spark: "SparkSession", pipeline: Pipeline) -> "StreamingQuery":
    """Start a pipeline; its query runs until it is stopped, or is at the end of its source."""
    from cordwood.spark.pipeline import pipeline_run  # noqa: PLC0415  # pyspark: 0.5 s

    return pipeline_run.start(spark, pipeline)


def run_pipeline(
    spark: "SparkSession",
    pipeline: Pipeline,
    *,
    on_start: "Callable[[StreamingQuery], object] | None" = None,
) -> "PipelineReport":
    """Run a pipeline until its query ends, and return its report.

    Raise SparkError if it fails; run it again to continue at its checkpoint.
    """
    from cordwood.spark.pipeline import pipeline_run  # noqa: PLC0415  # pyspark: 0.5 s

    return pipeline_run.run(spark, pipeline, on_start=on_start)
