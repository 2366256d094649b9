"""Work beside the bytes: what is asked of records is answered in the tasks that read them.

    splits ──► some of them a task ──► bytes ──► an answer, or what a function makes of the records

A row that does not cross to the JVM costs nothing there, so a question costs the bytes it reads and
what it answers. A task costs as much as reading some hundred megabytes, so there are as many as
keep the cores busy, and no more.
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
from cordwood.records.kernels import sweeper
from cordwood.spark.cardinality import Cardinality, cardinality, sketch_keys
from cordwood.spark.counting import tally_split
from cordwood.spark.histogram import TimeCounts, count_times, histogram, microseconds
from cordwood.spark.options import SourceOptions
from cordwood.spark.planning import plan
from cordwood.spark.readiness import make_ready
from cordwood.spark.reading import read_split
from cordwood.spark.rows import columns_of
from cordwood.spark.running import Tell, run_tasks
from cordwood.spark.splits import Split, pack
from cordwood.spark.summing import sum_split
from cordwood.spark.workers import use_own_python
from cordwood.workbench.log_sums import LogCounting, LogStat, stat_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: What a function makes of the batches that one task reads.
ArrowFunction: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: So many tasks a core: who is done early finds more to do.
TASKS_A_CORE: Final = 2
#: A column to count rows by.
_ANY: Final = ("offset",)
#: At most so many bytes a task: it is what is lost when one fails.
TASK_BYTES: Final = 2 << 30


class Scan:
    """What is to be read, cut into splits: offsets are fixed, and nothing is read yet."""

    def __init__(self, spark: "SparkSession", options: SourceOptions) -> None:
        self._spark = spark
        self._options = options
        self.splits = tuple(plan(options))
        self._tasks = pack(self.splits, tasks=_task_count(spark, options, self.splits))

    def __repr__(self) -> str:
        return f"Scan({len(self.splits)} splits of {sum(each.size for each in self.splits)} bytes)"

    def map_arrow(
        self,
        function: ArrowFunction,
        schema: "StructType | str",
        *,
        columns: Sequence[str] | None = None,
    ) -> "DataFrame":
        """Return the rows that a function makes of records, called once in each task.

        It is given an iterator over the record batches of its task, of `columns` alone if they are
        named, and yields batches of the schema. Batches that it lets go of before the next one cost
        their memory once: whoever needs a few bytes of each copies these.
        """
        options = self._options
        if columns is not None:
            options = replace(options, columns=tuple(columns))
        columns_of(options)  # what cannot be read is refused here, and not in a task
        use_own_python(self._spark)
        mapped = partial(_mapped, function, self._tasks, options=options)
        count = len(self._tasks)
        return self._spark.range(0, count, 1, max(1, count)).mapInArrow(mapped, schema)

    def count(self) -> int:
        """Return how many records there are, without reading those whose headers tell.

        What only brokers have is fetched.
        """
        return sum(run_tasks(self._spark, self._tasks, work=partial(_count, options=self._options)))

    def stat(self, *, deep: bool = False) -> LogStat:
        """Return what batch headers say together; with `deep` what the records say, too.

        It is of batches as they lie in segments, so of those that were aborted as well, and of the
        whole of one that a bound lies in.
        """
        if any(split.path is None for split in self.splits):
            raise SettingError(
                "statistics are of segments, and some of this scan is in brokers alone",
                key="kafka.bootstrap.servers",
                remedy="leave it out, or end the scan where the segments do",
            )
        counted: dict[str, LogCounting] = {}
        work = partial(_sums, is_deep=deep)
        for path, part in chain.from_iterable(run_tasks(self._spark, self._tasks, work=work)):
            counted.setdefault(path, LogCounting(is_deep=deep)).follow(part)
        return stat_of(counted.items(), is_deep=deep)

    def time_histogram(self, bucket: timedelta) -> pa.Table:
        """Return `count`, the records of each stretch of time, by `timestamp`, where it begins.

        Stretches are as long as `bucket`, from 1970 on; only those that have records are there.
        """
        length = microseconds(bucket)
        work = partial(_times, options=self._options, length=length)
        counts = sum(run_tasks(self._spark, self._tasks, work=work), Counter[int | None]())
        return histogram(counts, length=length)

    def key_cardinality(self) -> Cardinality:
        """Return about how many different keys records have, and with which error.

        It is exact for a handful of keys only. Records without a key are left out.
        """
        work = partial(_sketch, options=self._options)
        return cardinality(run_tasks(self._spark, self._tasks, work=work))


def _task_count(spark: "SparkSession", options: SourceOptions, splits: Sequence[Split]) -> int:
    """Return how many tasks there are to be."""
    busy = TASKS_A_CORE * spark.sparkContext.defaultParallelism
    size = sum(each.size for each in splits)
    return max(busy, options.min_partitions or 0, -(-size // TASK_BYTES))


def _mapped(
    function: ArrowFunction,
    tasks: Sequence[Sequence[Split]],
    batches: Iterator[pa.RecordBatch],
    *,
    options: SourceOptions,
) -> Iterator[pa.RecordBatch]:
    """Call a function on the records of the task whose number is in the one row."""
    make_ready()
    numbers = (number for batch in batches for number in batch.column("id").to_pylist())
    splits = (split for number in numbers for split in tasks[number])
    return function(_records(splits, columns_of(options), options))


def _records(
    splits: Iterable[Split], columns: Sequence[str], options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the records of splits, one split after the other."""
    for split in splits:
        yield from read_split(split, columns, options=options)


def _count(splits: Sequence[Split], _tell: Tell, *, options: SourceOptions) -> int:
    """Return how many records splits have; brokers tell nothing without their records."""
    files, passing, told, untold = SystemFiles(), sweeper(), 0, list[Split]()
    for split in splits:
        if split.path is None:
            untold.append(split)
            continue
        tally = tally_split(files, split, is_committed=options.is_committed, sweeper=passing)
        told += tally.told
        untold += [split._replace(range=each) for each in tally.untold]
    return told + sum(int(each.num_rows) for each in _records(untold, _ANY, options))


def _sums(splits: Sequence[Split], _tell: Tell, *, is_deep: bool) -> list[tuple[str, LogCounting]]:
    """Return the numbers of each split, and where it is."""
    files, passing = SystemFiles(), sweeper()
    return [
        (split.path, sum_split(files, split, sweeper=passing, is_deep=is_deep))
        for split in splits
        if split.path is not None
    ]


def _times(
    splits: Sequence[Split], _tell: Tell, *, options: SourceOptions, length: int
) -> TimeCounts:
    return count_times(_records(splits, ("timestamp",), options), length=length)


def _sketch(splits: Sequence[Split], _tell: Tell, *, options: SourceOptions) -> bytes:
    return sketch_keys(_records(splits, ("key",), options), add=key_adder())
