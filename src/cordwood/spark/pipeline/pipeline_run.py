"""Run of a pipeline as one query of Spark.

    read ──► steps ──► topics: the exactly-once sink
                   └─► a table: one commit for each batch

A pipeline that is stopped or killed continues at its checkpoint; no row is repeated or skipped in
what readers see. Several pipelines can run in one session.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Lock
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

import cordwood.spark
from cordwood.core.errors import SettingError, SparkError
from cordwood.spark.pipeline.pipeline_definition import (
    AVAILABLE_NOW,
    KafkaSink,
    Options,
    Pipeline,
    PipelineStep,
)
from cordwood.spark.pipeline.pipeline_steps import apply_steps
from cordwood.spark.pipeline.table_writer import TableWriter
from cordwood.spark.runtime.local_path import find_local_path
from cordwood.spark.runtime.session import DataStreamWriter, StreamingQuery
from cordwood.spark.runtime.stream_settings import CHECKPOINT_MANAGER, LOCAL_MANAGER
from cordwood.spark.runtime.task_runner import OWN_ERROR

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

#: The most time for the last events of a query.
_PATIENCE_S: Final = 30
#: Held while a query starts with a manager of its own.
STARTING: Final = Lock()
#: Options of the source that differ from those of a stream.
DEFAULTS: Final = {"startingOffsets": "earliest", "isolation.level": "read_committed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineReport:
    """The run of a pipeline: its query, batches and rows."""

    name: str
    query_id: str
    batches: int
    rows: int

    def __str__(self) -> str:
        """Return a line."""
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        batches = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
        return f"{self.name}: {rows} read in {batches}"


def start(spark: SparkSession, pipeline: Pipeline) -> StreamingQuery:
    """Start a pipeline; its query runs until it is stopped, or is at the end of its source."""
    cordwood.spark.register(spark)
    options = {**DEFAULTS, **pipeline.source}
    is_whole = pipeline.trigger == AVAILABLE_NOW
    try:
        source = spark.readStream.format("cordwood").options(**options).load()
        writer = _writer(_transformed(source, pipeline), pipeline)
        writer = (
            writer.trigger(availableNow=True)
            if is_whole
            else writer.trigger(processingTime=pipeline.trigger)
        )
        with local_manager(spark, pipeline.checkpoint):
            return writer.start()
    except PySparkException as error:
        raise SparkError(
            f"pipeline {pipeline.name} does not start: {cause_of(error)}",
            remedy="correct its definition; a name is used by one running query at a time",
        ) from error


def _transformed(source: DataFrame, pipeline: Pipeline) -> DataFrame:
    frame = apply_steps(source, pipeline)
    if not frame.isStreaming:
        raise SettingError(
            "transform: the steps do not read the stream",
            key="transform",
            remedy="let a query read the view input, and a function use its DataFrame",
        )
    return frame


def run(
    spark: SparkSession,
    pipeline: Pipeline,
    *,
    on_start: Callable[[StreamingQuery], object] | None = None,
) -> PipelineReport:
    """Run a pipeline until its query ends; raise SparkError with its cause if it fails."""
    counts = _RowCounts()
    spark.streams.addListener(counts)
    try:
        query = start(spark, pipeline)
        if on_start is not None:
            on_start(query)
        query.awaitTermination()
        counts.wait(str(query.runId))
    except StreamingQueryException as error:
        raise SparkError(
            f"pipeline {pipeline.name} has failed: {cause_of(error)}",
            remedy="correct the cause, and run it again: it continues at its checkpoint",
        ) from error
    finally:
        spark.streams.removeListener(counts)
    batches, rows = counts.of(str(query.runId))
    return PipelineReport(name=pipeline.name, query_id=str(query.id), batches=batches, rows=rows)


class _RowCounts(StreamingQueryListener):
    """Counts batches and rows of each run; Spark keeps the progress of 100 batches only."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}
        self._ended: set[str] = set()
        self._change = Condition()

    def of(self, run: str) -> tuple[int, int]:
        """Return the batches with rows of a run, and their rows."""
        rows = [each for each in self._rows.get(run, ()) if each]
        return len(rows), sum(rows)

    def wait(self, run: str) -> None:
        """Wait until all events of a run have come; Spark sends them after the query has ended."""
        with self._change:
            self._change.wait_for(lambda: run in self._ended, _PATIENCE_S)

    def onQueryStarted(self, event: "QueryStartedEvent") -> None:  # noqa: N802  # as Spark calls it
        """Do nothing."""

    def onQueryProgress(self, event: "QueryProgressEvent") -> None:  # noqa: N802  # as above
        """Count a batch."""
        progress = event.progress
        self._rows.setdefault(str(progress.runId), []).append(int(progress.numInputRows))

    def onQueryIdle(self, event: "QueryIdleEvent") -> None:  # noqa: N802  # as above
        """Do nothing."""

    def onQueryTerminated(self, event: "QueryTerminatedEvent") -> None:  # noqa: N802  # as above
        """End the wait for this run."""
        with self._change:
            self._ended.add(str(event.runId))
            self._change.notify_all()


@contextmanager
def local_manager(spark: SparkSession, checkpoint: str) -> Iterator[None]:
    """Set the manager of checkpoints on a local path for a query that starts in the block.

    The setting is the session's, so pipelines of several threads start one after the other.
    """
    with STARTING:
        before = spark.conf.get(CHECKPOINT_MANAGER, None)
        if find_local_path(checkpoint) is not None:
            spark.conf.set(CHECKPOINT_MANAGER, LOCAL_MANAGER)
        try:
            yield
        finally:
            if before is None:
                spark.conf.unset(CHECKPOINT_MANAGER)
            else:
                spark.conf.set(CHECKPOINT_MANAGER, before)


def _writer(frame: DataFrame, pipeline: Pipeline) -> DataStreamWriter:
    writer = frame.writeStream.queryName(pipeline.name)
    writer = writer.option("checkpointLocation", pipeline.checkpoint)
    if isinstance(pipeline.sink, KafkaSink):
        return writer.format("cordwood").options(**topic_options(pipeline.sink, pipeline.steps))
    return writer.foreachBatch(TableWriter(pipeline.sink, _EndOffsets(pipeline.checkpoint)))


def topic_options(sink: KafkaSink, steps: Sequence[PipelineStep]) -> Options:
    """Return the options of the sink.

    If rows name their topics, the topic of the rows without an error keys the intent record.
    """
    named = [each.options["topic"] for each in steps if "topic" in each.options]
    if "topic" in sink.options or not named:
        return sink.options
    return {"recordTopic": named[-1], **sink.options}


def cause_of(error: PySparkException) -> str:
    """Return the error of ours that Spark reports, without the words of Spark around it."""
    found = [each["words"] for each in OWN_ERROR.finditer(str(error))]
    return found[-1] if found else str(error)


class _EndOffsets:
    """Reads the offsets after a batch from the checkpoint, if that is on a local path."""

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint = checkpoint

    def __call__(self, batch_id: int) -> str | None:
        folder = find_local_path(self._checkpoint)
        if folder is None:
            return None
        path = Path(folder, "offsets", str(batch_id))
        return path.read_text().splitlines()[-1] if path.exists() else None
