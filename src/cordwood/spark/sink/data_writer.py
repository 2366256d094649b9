"""The writer of `format("cordwood")` (Spark: `DataWriter`): the classes that Spark calls.

driver   checks options and columns before any task runs
task     batches of rows ──► a producer, at least once
driver   does nothing on commit: rows are in the topic once tasks have sent them
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from cordwood.core.errors import SettingError
from cordwood.core.system import SystemClock
from cordwood.spark.runtime.worker_warmup import prepare_worker
from cordwood.spark.sink.row_producer import produce
from cordwood.spark.sink.sink_columns import check_columns
from cordwood.spark.sink.sink_options import SinkOptions, parse_sink_options

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SinkCommitMessage(WriterCommitMessage):
    """The commit message of a task: the number of rows it sent."""

    rows: int


class CordwoodWriter(DataSourceArrowWriter):
    """One batch write: created on the driver, then pickled to tasks."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> SinkCommitMessage:
        """Send the rows of a task."""
        prepare_worker()
        return SinkCommitMessage(produce(iterator, self._options, clock=SystemClock()))


def make_writer(
    options: Mapping[str, str], schema: StructType, *, is_overwrite: bool
) -> CordwoodWriter:
    """Return a writer; raise SettingError for options, columns or a mode that cannot work."""
    if is_overwrite:
        raise SettingError(
            'mode: a topic cannot be overwritten (mode is "overwrite")',
            key="mode",
            remedy='use mode("append")',
        )
    parsed = parse_sink_options(options)
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    check_columns(types, has_topic=parsed.topic is not None)
    return CordwoodWriter(parsed)
