"""The writers of `format("cordwood")` (Spark: `DataWriter`): the classes that Spark calls.

driver   checks options and columns before any task runs
task     batches of rows ──► a producer
driver   exactly once: `exactly_once`; at least once: nothing, rows are in the topic already
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from cordwood.core.errors import SettingError
from cordwood.core.system import SystemClock
from cordwood.spark.runtime.short_errors import short_errors
from cordwood.spark.runtime.worker_preparation import prepare_worker
from cordwood.spark.sink.exactly_once.exactly_once_writer import (
    make_job_writer,
    make_stream_writer,
)
from cordwood.spark.sink.row_producer import produce
from cordwood.spark.sink.sink_columns import check_columns
from cordwood.spark.sink.sink_options import SinkOptions, parse_sink_options

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SinkCommitMessage(WriterCommitMessage):
    """The commit message of a task that writes at least once: the number of rows it sent."""

    rows: int


class CordwoodWriter(DataSourceArrowWriter):
    """One batch write, at least once: created on the driver, then pickled to tasks."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> SinkCommitMessage:
        """Send the rows of a task."""
        return _write(iterator, self._options)


class CordwoodStreamWriter(DataSourceStreamArrowWriter):
    """One batch of a stream, at least once."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> SinkCommitMessage:
        """Send the rows of a task."""
        return _write(iterator, self._options)


def make_writer(
    options: Mapping[str, str], schema: StructType, *, is_overwrite: bool
) -> DataSourceArrowWriter:
    """Return a writer; raise SettingError for options, columns or a mode that cannot work."""
    if is_overwrite:
        raise SettingError(
            'mode: a topic cannot be overwritten (mode is "overwrite")',
            key="mode",
            remedy='use mode("append")',
        )
    parsed = _checked(options, schema)
    return make_job_writer(parsed) if parsed.is_exactly_once else CordwoodWriter(parsed)


def make_writer_of_stream(
    options: Mapping[str, str], schema: StructType, *, is_overwrite: bool
) -> DataSourceStreamArrowWriter:
    """Return the writer of a batch of a stream; raise SettingError as `make_writer` does."""
    if is_overwrite:
        raise SettingError(
            "outputMode: a topic cannot be overwritten (outputMode is complete)",
            key="outputMode",
            remedy="use outputMode append",
        )
    parsed = _checked(options, schema, is_stream=True)
    return make_stream_writer(parsed) if parsed.is_exactly_once else CordwoodStreamWriter(parsed)


@short_errors()
def _write(batches: "Iterator[pa.RecordBatch]", options: SinkOptions) -> SinkCommitMessage:
    prepare_worker()
    return SinkCommitMessage(produce(batches, options, clock=SystemClock()))


def _checked(
    options: Mapping[str, str], schema: StructType, *, is_stream: bool = False
) -> SinkOptions:
    parsed = parse_sink_options(options, is_stream=is_stream)
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    check_columns(types, has_topic=parsed.topic is not None)
    return parsed
