"""The writers of an exactly-once write, which Spark calls, for streams and for batch jobs.

driver, before a batch   prepare: fence, finish the last decision, abort orphans
task                     write in a transaction, and leave it open
driver, after a batch    commit: decide, then make the rows visible; or abort

Spark builds the writer of a stream in both processes of the driver. Only the process that plans the
tasks prepares a batch; the other one gets the preparation back with the messages.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from uuid import UUID

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from cordwood.core.errors import SettingError, SparkError
from cordwood.core.system import SystemClock
from cordwood.spark.runtime.short_errors import short_errors
from cordwood.spark.runtime.worker_preparation import prepare_worker
from cordwood.spark.sink.exactly_once.batch_abort import abort_batch
from cordwood.spark.sink.exactly_once.batch_commit import commit_batch
from cordwood.spark.sink.exactly_once.batch_preparation import (
    PreparedBatch,
    SinkPlan,
    prepare_batch,
)
from cordwood.spark.sink.exactly_once.sink_client import SinkClient, sink_client
from cordwood.spark.sink.exactly_once.sink_identity import (
    job_names,
    job_query_id,
    stream_names,
)
from cordwood.spark.sink.exactly_once.sink_names import SinkNames
from cordwood.spark.sink.exactly_once.task_outcome import TaskOutcome
from cordwood.spark.sink.exactly_once.task_transaction import BatchDigest, TaskTransaction
from cordwood.spark.sink.exactly_once.task_write import TaskContent, write_task
from cordwood.spark.sink.exactly_once.transactional_ids import TaskPlace, TransactionalIds
from cordwood.spark.sink.sink_options import SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ID: Final = "streaming.sql.batchId"
_QUERY_ID: Final = "sql.streaming.queryId"
#: The module of PySpark that plans the tasks of a write, in a process of its own.
_PLANNING: Final = "pyspark.sql.worker.write_into_data_source"
_FIRST_BATCH: Final = 0


@dataclass(frozen=True, slots=True)
class ExactlyOnceMessage(WriterCommitMessage):
    """The commit message of a task: its outcome, and the preparation that it belongs to."""

    prepared: PreparedBatch
    outcome: TaskOutcome


class StreamWriter(DataSourceStreamArrowWriter):
    """One batch of a stream; `prepared` is None in the process that commits."""

    def __init__(self, options: SinkOptions, prepared: PreparedBatch | None) -> None:
        self._options = options
        self._prepared = prepared

    @short_errors()
    def write(self, iterator: "Iterator[pa.RecordBatch]") -> ExactlyOnceMessage:
        """Write the rows of a task."""
        context = _attempt()
        batch, query = context.getLocalProperty(_BATCH_ID), context.getLocalProperty(_QUERY_ID)
        if batch is None or query is None or self._prepared is None:
            raise SparkError(
                f"Spark does not pass {_BATCH_ID} and {_QUERY_ID} to tasks, or plans them in"
                " another process than before",
                remedy="use the version of PySpark that this package requires",
            )
        task = TaskContent(int(batch), UUID(query), _place_of(context))
        return write_rows(self._prepared, self._options, batches=iterator, task=task)

    @short_errors()
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Decide the batch, and make its rows visible."""
        commit_messages(self._options, messages, batch=batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Abort the batch, unless it is decided."""
        abort_messages(self._options, messages, batch=batchId)


class JobWriter(DataSourceArrowWriter):
    """A batch write; Spark pickles it from the planning process to tasks and commit."""

    def __init__(self, options: SinkOptions, prepared: PreparedBatch, query_id: UUID) -> None:
        self._options = options
        self._prepared = prepared
        self._query_id = query_id

    @short_errors()
    def write(self, iterator: "Iterator[pa.RecordBatch]") -> ExactlyOnceMessage:
        """Write the rows of a task."""
        task = TaskContent(_FIRST_BATCH, self._query_id, _place_of(_attempt()))
        return write_rows(self._prepared, self._options, batches=iterator, task=task)

    @short_errors()
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Decide the write, and make its rows visible."""
        commit_messages(self._options, messages, batch=_FIRST_BATCH)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Abort the write, unless it is decided."""
        abort_messages(self._options, messages, batch=_FIRST_BATCH)


def make_stream_writer(options: SinkOptions) -> StreamWriter:
    """Return the writer of the next batch of a stream, prepared if this process plans its tasks."""
    if not is_planning():
        return StreamWriter(options, None)
    return StreamWriter(options, prepare(options, stream_names(options)))


def make_job_writer(options: SinkOptions) -> JobWriter:
    """Return a prepared writer."""
    names = job_names(options)
    prepared = prepare(options, names, has_record=options.job_id is not None, is_job=True)
    return JobWriter(options, prepared, job_query_id(options, names))


def is_planning() -> bool:
    """Return whether this is the process in which Spark plans the tasks of a write.

    It is forked from a daemon with the module's name as an argument, or runs the module.
    """
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return _PLANNING in sys.argv[1:] or (spec is not None and spec.name == _PLANNING)


def prepare(
    options: SinkOptions, names: SinkNames, *, has_record: bool = True, is_job: bool = False
) -> PreparedBatch:
    """Prepare a batch."""
    client = _client(options, names, has_record=has_record)
    most_ms = client.max_timeout_ms()
    timeout_ms = options.transaction_timeout_ms or most_ms
    if timeout_ms > most_ms:
        raise SettingError(
            f"kafka.transaction.timeout.ms={timeout_ms} is more than the brokers allow",
            key="kafka.transaction.timeout.ms",
            remedy=f"set at most {most_ms}, or raise transaction.max.timeout.ms of the brokers",
        )
    plan = SinkPlan(
        names=names,
        timeout_ms=timeout_ms,
        on_missing=options.on_missing,
        has_record=has_record,
        is_job=is_job,
    )
    prepared = client.run(prepare_batch(plan, client.driver_memory))
    if prepared.aborted:
        _print_line(f"cordwood: sink {names.sink}: {prepared.aborted} open transaction(s) aborted")
    return prepared


def write_rows(
    prepared: PreparedBatch,
    options: SinkOptions,
    *,
    batches: "Iterator[pa.RecordBatch]",
    task: TaskContent,
) -> ExactlyOnceMessage:
    """Write the rows of a task, and return its message."""
    prepare_worker()
    with TaskTransaction(options, SystemClock()) as transaction:
        steps = write_task(
            prepared,
            _process_ids(os.getpid()),
            batches=batches,
            task=task,
            digest_of=BatchDigest(options),
        )
        return ExactlyOnceMessage(prepared, transaction.run(steps))


def commit_messages(
    options: SinkOptions, messages: Sequence[WriterCommitMessage | None], *, batch: int
) -> None:
    """Commit the batch of these messages."""
    prepared, outcomes = _read(messages)
    if prepared is None or len(outcomes) != len(messages):
        raise SparkError(
            f"batch {batch}: {len(messages) - len(outcomes)} of {len(messages)} tasks have no"
            " message",
            remedy="restart the query, which writes the batch again",
        )
    client = _client(options, prepared.plan.names, has_record=prepared.plan.has_record)
    done = client.run(commit_batch(prepared, client.commit_memory, batch=batch, outcomes=outcomes))
    if prepared.plan.is_job and done.has_other_rows:
        _print_line(
            f"cordwood: sink {prepared.plan.names.sink}: the write was done before with other rows;"
            f" rows dropped: {sum(each.rows for each in outcomes)}. Set jobId to a name that no"
            " other write has"
        )


def abort_messages(
    options: SinkOptions, messages: Sequence[WriterCommitMessage | None], *, batch: int
) -> None:
    """Abort the batch of these messages; without any, the next start finds its transactions."""
    prepared, outcomes = _read(messages)
    if prepared is not None:
        client = _client(options, prepared.plan.names, has_record=prepared.plan.has_record)
        client.run(abort_batch(prepared, batch=batch, outcomes=outcomes))


def _read(
    messages: Sequence[WriterCommitMessage | None],
) -> tuple[PreparedBatch | None, list[TaskOutcome]]:
    found = [each for each in messages if isinstance(each, ExactlyOnceMessage)]
    if any(each.prepared.driver != found[0].prepared.driver for each in found):
        raise SparkError(
            "tasks of two preparations are in one batch",
            remedy="restart the query; report this error, because it is a defect",
        )
    return (found[0].prepared if found else None), [each.outcome for each in found]


def _client(options: SinkOptions, names: SinkNames, *, has_record: bool) -> SinkClient:
    if has_record and options.record_topic is None:
        raise SettingError(
            "rows name their topics, so the intent record has no topic",
            key="recordTopic",
            remedy="set recordTopic to one of the topics, and keep it over restarts",
        )
    return sink_client(options.producer, sink=names.sink, record_topic=options.record_topic)


def _attempt() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "Spark calls this in a task"
    return context


def _place_of(context: TaskContext) -> TaskPlace:
    return TaskPlace(context.partitionId(), context.attemptNumber(), context.taskAttemptId())


@lru_cache(maxsize=1)
def _process_ids(_process: int) -> TransactionalIds:
    """Return the transactional ids of this process."""
    return TransactionalIds()


def _print_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")
