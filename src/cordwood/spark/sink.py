"""Writing with `format("cordwood")`: what Spark calls, and nothing decided here.

driver   options and columns are looked at, before any task runs
task     batches of rows ──► a producer, at least once
driver   nothing: what tasks have sent is written
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from cordwood.core.errors import SettingError
from cordwood.core.system import SystemClock
from cordwood.spark.producing import produce
from cordwood.spark.readiness import make_ready
from cordwood.spark.sink_columns import ensure_columns
from cordwood.spark.sink_options import SinkOptions, parse_sink_options

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """What a task has done."""

    rows: int


class CordwoodWriter(DataSourceArrowWriter):
    """One writing: made on the driver, then sent to tasks."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Written:
        """Send the rows of a task."""
        make_ready()
        return Written(produce(iterator, self._options, clock=SystemClock()))


def writer(options: Mapping[str, str], schema: StructType, *, is_overwrite: bool) -> CordwoodWriter:
    """Return what writes; SettingError for what could only fail in a task, or be misunderstood."""
    if is_overwrite:
        raise SettingError(
            'a topic cannot be overwritten with mode("overwrite")',
            key="mode",
            remedy='append to it with mode("append")',
        )
    parsed = parse_sink_options(options)
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    ensure_columns(types, has_topic=parsed.topic is not None)
    return CordwoodWriter(parsed)
