"""The batch readers that Spark calls (Spark: `PartitionReader`, `Scan`), without decisions.

driver   options ──► partitions and offsets are resolved ──► splits
task     a split ──► batches of records ──► rows
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from cordwood.spark.runtime.short_errors import short_errors
from cordwood.spark.runtime.worker_preparation import prepare_worker
from cordwood.spark.source import source_columns
from cordwood.spark.source.filter_pushdown import push_filters
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_planning import plan_splits
from cordwood.spark.source.split_reader import read_splits
from cordwood.spark.source.splits import Split

if TYPE_CHECKING:
    import pyarrow as pa


class SplitPartition(InputPartition):
    """The splits of a task; none if there is nothing to read: Spark runs one task anyway."""

    def __init__(self, splits: Sequence[Split]) -> None:
        super().__init__(tuple(splits))


class CordwoodReader(DataSourceReader):
    """One batch read: planned on the driver, then pickled to tasks."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = source_columns.check_columns(columns)

    @short_errors()
    def partitions(self) -> Sequence[InputPartition]:
        """Resolve the offsets to read, and return the splits."""
        splits = plan_splits(self._options)
        return [SplitPartition([split]) for split in splits] or [SplitPartition([])]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of a split."""
        if isinstance(partition, SplitPartition) and partition.value:
            prepare_worker()
            with short_errors():
                yield from read_splits(partition.value, self._columns, options=self._options)


class FilteringReader(CordwoodReader):
    """A read with filter pushdown, if Spark and the option `pushFilters` enable it.

    It is opt-in: Spark 4.3 caches the plan with the filters of one query, and reuses it for the
    next query of the same DataFrame, which may have other filters. A program that loads a
    DataFrame for each query gets the right rows.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # as Spark calls it
        """Accept filters that the source can apply; return those that Spark must apply."""
        pushed, remaining = push_filters(filters)
        self._options = replace(self._options, pushed_filters=pushed)
        return remaining
