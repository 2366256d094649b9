"""Scans: aggregations computed in the tasks that read the bytes, without rows in the JVM.

    splits ──► several per task ──► bytes ──► a partial result, or the batches of a function

Records do not cross to the JVM, so a scan costs the bytes that it reads and its result. Starting a
task costs as much as reading some hundred megabytes, so there are only as many tasks as keep the
cores busy.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from cordwood.compaction.kernels import key_adder
from cordwood.core.errors import SettingError
from cordwood.core.system import SystemFiles
from cordwood.records.kernels import batch_checker
from cordwood.spark.aggregates.batch_totals import sum_split
from cordwood.spark.aggregates.cardinality import Cardinality, estimate_cardinality, sketch_keys
from cordwood.spark.aggregates.histogram import (
    TimeCounts,
    bucket_microseconds,
    count_times,
    make_histogram,
)
from cordwood.spark.aggregates.mapped_batches import with_schema
from cordwood.spark.aggregates.record_counts import count_from_headers
from cordwood.spark.runtime.short_errors import short_errors
from cordwood.spark.runtime.task_runner import AdvanceProgress, default_parallelism, run_tasks
from cordwood.spark.runtime.worker_preparation import prepare_worker
from cordwood.spark.runtime.worker_python import use_own_python
from cordwood.spark.source.coverage import BrokerSource, PartitionDirectory
from cordwood.spark.source.plan_description import describe_plan, summarize_plan
from cordwood.spark.source.source_columns import selected_columns
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_planning import plan_splits
from cordwood.spark.source.split_reader import read_split
from cordwood.spark.source.splits import Split, pack_splits
from cordwood.workbench.log_statistics import LogCounter, LogStat, build_stat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: A function from the batches of a task to the batches of its result.
ArrowFunction: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: Tasks per core, so that a core that finishes early has another task.
TASKS_A_CORE: Final = 2
#: Bytes per core from which such a task pays: starting one takes as long as reading a part of them.
BYTES_A_CORE: Final = 512 << 20
#: The cheapest column, to count rows.
_ANY: Final = ("offset",)
#: Most bytes per task: a failed task repeats them.
TASK_BYTES: Final = 2 << 30


class Scan:
    """A planned read: offsets are resolved and splits are cut; records are read by the methods."""

    def __init__(self, spark: "SparkSession", options: SourceOptions) -> None:
        self._spark = spark
        self._options = options
        self.splits = tuple(plan_splits(options))
        self._tasks = pack_splits(self.splits, tasks=_task_count(spark, options, self.splits))

    def __repr__(self) -> str:
        return f"Scan({summarize_plan(self._options, self.splits)})"

    def explain(self) -> str:
        """Return the sources, and the offsets, splits and bytes of each partition."""
        return describe_plan(self._options, self.splits)

    def map_arrow(
        self,
        function: ArrowFunction,
        schema: "StructType | str",
        *,
        columns: Sequence[str] | None = None,
    ) -> "DataFrame":
        """Return the rows that a function yields; it is called once in each task.

        The function receives an iterator over the record batches of its task, with `columns` if
        they are given, and yields batches with the columns of the schema, in any order. A column
        with another name or type is an error. If the function drops each batch before the next,
        memory holds one batch: copy the bytes that are needed for longer.
        """
        options = self._options
        if columns is not None:
            options = replace(options, columns=tuple(columns))
        selected_columns(options)  # raises here rather than in a task
        use_own_python(self._spark)
        wanted = self._spark.createDataFrame([], schema).schema
        mapped = partial(_map_records, function, self._tasks, options=options, schema=wanted)
        count = len(self._tasks)
        return self._spark.range(0, count, 1, max(1, count)).mapInArrow(mapped, wanted)

    def count(self) -> int:
        """Return the number of records; batch headers suffice for most of them.

        Ranges that only brokers have are fetched.
        """
        return sum(run_tasks(self._spark, self._tasks, work=partial(_count, options=self._options)))

    def stat(self, *, deep: bool = False) -> LogStat:
        """Return totals of batch headers; with `deep`, of records as well.

        Totals are of batches as stored in segments: aborted batches count, and a batch that a
        bound cuts counts whole.
        """
        if any(isinstance(split.source, BrokerSource) for split in self.splits):
            raise SettingError(
                "stat() reads segments, and a part of this scan is on brokers only",
                key="kafka.bootstrap.servers",
                remedy="remove kafka.bootstrap.servers, or set endingOffsets to the segments' end",
            )
        counted: dict[str, LogCounter] = {}
        work = partial(_sums, is_deep=deep)
        for path, part in chain.from_iterable(run_tasks(self._spark, self._tasks, work=work)):
            counted.setdefault(path, LogCounter(is_deep=deep)).add_part(part)
        return build_stat(counted.items(), is_deep=deep)

    def time_histogram(self, bucket: timedelta | float | str) -> pa.Table:
        """Return the columns `timestamp`, the start of a bucket, and `count`, its records.

        Buckets have the length `bucket` and begin at 1970. Empty buckets are left out. The length
        is a timedelta, a number of seconds, or a text such as `1 minute`.
        """
        length = bucket_microseconds(bucket)
        work = partial(_times, options=self._options, length=length)
        counts = sum(run_tasks(self._spark, self._tasks, work=work), Counter[int | None]())
        return make_histogram(counts, length=length)

    def key_cardinality(self) -> Cardinality:
        """Return an estimate of the number of distinct keys, with its standard error.

        Only very small numbers are exact. Records without a key are left out.
        """
        work = partial(_sketch, options=self._options)
        return estimate_cardinality(run_tasks(self._spark, self._tasks, work=work))


def _task_count(spark: "SparkSession", options: SourceOptions, splits: Sequence[Split]) -> int:
    """Return the number of tasks."""
    cores = default_parallelism(spark)
    size = sum(each.size for each in splits)
    busy = cores if size < cores * BYTES_A_CORE else TASKS_A_CORE * cores
    return max(busy, options.min_partitions or 0, -(-size // TASK_BYTES))


def _map_records(
    function: ArrowFunction,
    tasks: Sequence[Sequence[Split]],
    batches: Iterator[pa.RecordBatch],
    *,
    options: SourceOptions,
    schema: "StructType",
) -> Iterator[pa.RecordBatch]:
    """Call a function on the records of the task whose number is in the row."""
    prepare_worker()
    numbers = (number for batch in batches for number in batch.column("id").to_pylist())
    splits = (split for number in numbers for split in tasks[number])
    with short_errors():
        found = function(_records(splits, selected_columns(options), options))
        yield from with_schema(found, schema)


def _records(
    splits: Iterable[Split], columns: Sequence[str], options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the records of splits, one split after the other."""
    for split in splits:
        yield from read_split(split, columns, options=options)


def _count(splits: Sequence[Split], _advance: AdvanceProgress, *, options: SourceOptions) -> int:
    """Return the number of records; ranges on brokers are fetched to be counted."""
    files, checker, counted, unread = SystemFiles(), batch_checker(), 0, list[Split]()
    for split in splits:
        if isinstance(split.source, BrokerSource):
            unread.append(split)
            continue
        found = count_from_headers(files, split, is_committed=options.is_committed, checker=checker)
        counted += found.counted
        unread += [split._replace(range=each) for each in found.uncounted]
    return counted + sum(int(each.num_rows) for each in _records(unread, _ANY, options))


def _sums(
    splits: Sequence[Split], _advance: AdvanceProgress, *, is_deep: bool
) -> list[tuple[str, LogCounter]]:
    """Return the path and the totals of each split."""
    files, checker = SystemFiles(), batch_checker()
    return [
        (split.source.path, sum_split(files, split, checker=checker, is_deep=is_deep))
        for split in splits
        if isinstance(split.source, PartitionDirectory)
    ]


def _times(
    splits: Sequence[Split], _advance: AdvanceProgress, *, options: SourceOptions, length: int
) -> TimeCounts:
    return count_times(_records(splits, ("timestamp",), options), length=length)


def _sketch(splits: Sequence[Split], _advance: AdvanceProgress, *, options: SourceOptions) -> bytes:
    return sketch_keys(_records(splits, ("key",), options), add=key_adder())
