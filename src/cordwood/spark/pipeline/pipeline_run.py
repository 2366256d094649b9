"""Run of a pipeline as one query of Spark.

    read ──► steps ──► topics: the exactly-once sink
                   └─► a table: one commit for each batch

A pipeline that is stopped or killed continues at its checkpoint; no row is repeated or skipped in
what readers see. Several pipelines can run in one session.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import cordwood.spark
from cordwood.core.errors import SparkError
from cordwood.spark.pipeline.pipeline_definition import (
    AVAILABLE_NOW,
    KafkaSink,
    Options,
    Pipeline,
    PipelineStep,
)
from cordwood.spark.pipeline.pipeline_steps import apply_steps
from cordwood.spark.pipeline.table_writer import TableWriter
from cordwood.spark.runtime.session import DataStreamWriter, StreamingQuery

_OWN_ERROR: Final = re.compile(r"^cordwood\.core\.errors\.[\w.]+: (.+)$", re.MULTILINE)
#: Options of the source that differ from those of a stream.
DEFAULTS: Final = {"startingOffsets": "earliest", "isolation.level": "read_committed"}
#: Writes a file of the checkpoint in a few milliseconds; right for a file system that has renames.
_MANAGER: Final = "spark.sql.streaming.checkpointFileManagerClass"
_LOCAL_MANAGER: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
#: A setting that a session has from its start: tasks of Python over unix sockets.
UNIX_SOCKETS: Final = {"spark.python.unix.domain.socket.enabled": "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineReport:
    """The run of a pipeline: its query, batches and rows."""

    name: str
    query_id: str
    batches: int
    rows: int

    def __str__(self) -> str:
        """Return a line."""
        return f"{self.name}: {self.rows:,} rows read in {self.batches:,} batches"


def start(spark: SparkSession, pipeline: Pipeline) -> StreamingQuery:
    """Start a pipeline; its query runs until it is stopped, or is at the end of its source."""
    cordwood.spark.register(spark)
    if "://" not in pipeline.checkpoint:
        spark.conf.set(_MANAGER, _LOCAL_MANAGER)
    options = {**DEFAULTS, **pipeline.source}
    source = spark.readStream.format("cordwood").options(**options).load()
    writer = _writer(apply_steps(source, pipeline), pipeline)
    if pipeline.trigger == AVAILABLE_NOW:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=pipeline.trigger).start()


def run(
    spark: SparkSession,
    pipeline: Pipeline,
    *,
    on_start: Callable[[StreamingQuery], object] | None = None,
) -> PipelineReport:
    """Run a pipeline until its query ends; raise SparkError with its cause if it fails."""
    query = start(spark, pipeline)
    if on_start is not None:
        on_start(query)
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise SparkError(
            f"pipeline {pipeline.name} has failed: {cause_of(error)}",
            remedy="correct the cause, and run it again: it continues at its checkpoint",
        ) from error
    done = [each for each in query.recentProgress if each["numInputRows"]]
    rows = sum(int(each["numInputRows"]) for each in done)
    return PipelineReport(name=pipeline.name, query_id=str(query.id), batches=len(done), rows=rows)


def _writer(frame: DataFrame, pipeline: Pipeline) -> DataStreamWriter:
    writer = frame.writeStream.queryName(pipeline.name)
    writer = writer.option("checkpointLocation", pipeline.checkpoint)
    if isinstance(pipeline.sink, KafkaSink):
        return writer.format("cordwood").options(**topic_options(pipeline.sink, pipeline.steps))
    return writer.foreachBatch(TableWriter(pipeline.sink, _EndOffsets(pipeline.checkpoint)))


def topic_options(sink: KafkaSink, steps: Sequence[PipelineStep]) -> Options:
    """Return the options of the sink; if rows name their topics, its record goes to the first."""
    named = [each.options["topic"] for each in steps if "topic" in each.options]
    if "topic" in sink.options or not named:
        return sink.options
    return {"recordTopic": named[-1], **sink.options}


def cause_of(error: StreamingQueryException) -> str:
    """Return the error of ours that a query ended with, without the words of Spark around it."""
    found = _OWN_ERROR.findall(str(error))
    return str(found[-1]) if found else str(error)


class _EndOffsets:
    """Reads the offsets after a batch from the checkpoint, if that is on a path."""

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint = checkpoint

    def __call__(self, batch_id: int) -> str | None:
        if "://" in self._checkpoint:
            return None
        lines = Path(self._checkpoint, "offsets", str(batch_id)).read_text().splitlines()
        return lines[-1]
