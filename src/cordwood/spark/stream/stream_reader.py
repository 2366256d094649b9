"""The stream reader that Spark calls (spark-sql-kafka: `KafkaMicroBatchStream`), without decisions.

runner   latestOffset ──► partitions ──► latestOffset …      one process for each query and source
task     a pack of splits ──► batches of records ──► rows

Spark pickles a reader of its own for the tasks: state of the runner is not visible there. `commit`
and `stop` do nothing: the first comes one batch late or never, and so does the second.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from cordwood.core.errors import SettingError
from cordwood.core.system import SystemClock, SystemFiles
from cordwood.spark.runtime.short_errors import short_errors
from cordwood.spark.runtime.worker_preparation import prepare_worker
from cordwood.spark.source import source_columns
from cordwood.spark.source.batch_reader import SplitPartition
from cordwood.spark.source.split_reader import read_splits
from cordwood.spark.stream.read_limits import batch_limits, default_read_limit
from cordwood.spark.stream.stream_offset import INITIAL, JsonObject
from cordwood.spark.stream.stream_options import StreamOptions
from cordwood.spark.stream.stream_query import StreamQuery

if TYPE_CHECKING:
    import pyarrow as pa

_log: Final = logging.getLogger("cordwood.spark.stream")


class CordwoodStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One stream, as Spark's runner process and its tasks see it."""

    def __init__(self, options: StreamOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = source_columns.check_columns(columns)

    def __getstate__(self) -> Mapping[str, object]:
        """Return the state for tasks, which have no query."""
        return {"_options": self._options, "_columns": self._columns}

    @cached_property
    def _query(self) -> StreamQuery:
        if self._options.has_group_prefix:
            _log.warning("groupIdPrefix has no effect: only groupId names a group")
        return StreamQuery(self._options, SystemFiles(), SystemClock())

    def initialOffset(self) -> dict[str, object]:  # noqa: N802  # as Spark calls it
        """Return a constant; `latestOffset` resolves the start, and batch 0 stores it."""
        return dict(INITIAL)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # as above
        """Return the limit of the options."""
        return default_read_limit(self._options.limits)

    @short_errors()
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # as above
        """Fix the end of the query."""
        self._query.fix_target()

    @short_errors()
    def latestOffset(self, start: JsonObject, limit: ReadLimit) -> JsonObject:  # type: ignore[override]  # noqa: N802  # as above
        """Return the end of the next batch."""
        return self._query.latest(start, batch_limits(self._options.limits, limit))

    @short_errors()
    def reportLatestOffset(self) -> JsonObject | None:  # type: ignore[override]  # noqa: N802  # as above
        """Return the ends of the sources, for the progress of the query."""
        return self._query.report()

    @short_errors()
    def partitions(
        self, start: JsonObject, end: JsonObject
    ) -> Sequence[InputPartition]:  # as above
        """Return the tasks of a batch."""
        return [SplitPartition(pack) for pack in self._query.packs(start, end)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of a task."""
        if isinstance(partition, SplitPartition) and partition.value:
            prepare_worker()
            with short_errors():
                yield from read_splits(partition.value, self._columns, options=self._options.source)


class RejectedStreamReader(DataSourceStreamReader):
    """A reader that raises when a query starts: Spark hides an error of `streamReader`."""

    def __init__(self, error: SettingError) -> None:
        self._error = error

    @short_errors()
    def initialOffset(self) -> NoReturn:  # noqa: N802  # as Spark calls it
        """Raise the error, for a new query."""
        raise self._error

    @short_errors()
    def latestOffset(self, *_: object, **__: object) -> NoReturn:  # noqa: N802  # as above
        """Raise the error, for a query that continues."""
        raise self._error

    @short_errors()
    def partitions(self, *_: object, **__: object) -> NoReturn:
        """Raise the error, for a batch that is repeated."""
        raise self._error

    def read(self, partition: InputPartition) -> NoReturn:  # noqa: ARG002  # as above
        """Raise the error: no partition was planned."""
        raise self._error
