"""Task runner: runs a function on each value of a job, one Spark task per value.

    values ──► a task each ──► work(value, advance) ──► results, in the order of the values

An error in the input is the same on every attempt. So a `CordwoodError` or an `OSError` does not
fail the task: it is the task's result, and is raised on the driver. Spark retries only other
failures, such as a lost worker.

An error of one machine or of one moment, such as a mount that is lost or a broker that does not
answer, can be absent on the next attempt. So tasks that may be repeated are run again after an
`OSError` or a retriable error of Kafka, in a job of their own.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from cordwood.core import errors
from cordwood.core.errors import BadRecordsError, CordwoodError, KafkaError, SparkError
from cordwood.spark.runtime.message_rows import ROW, message_row, read_messages
from cordwood.spark.runtime.progress import NO_PROGRESS, Progress
from cordwood.spark.runtime.worker_preparation import prepare_worker
from cordwood.spark.runtime.worker_python import use_own_python

#: Reports a number of finished bytes.
AdvanceProgress = Callable[[int], object]

#: An error of this package in Spark's message: the last line of a traceback, or the end of Spark's
#: own line if the traceback is left out (`short_errors`).
OWN_ERROR: Final = re.compile(
    r"(?:^|(?<=: ))cordwood(?:\.\w+)+\.(?P<name>\w+): (?P<words>.*)$", re.MULTILINE
)

#: The number of tasks at a time in a Spark Connect session that has no setting for it.
_CONNECT_PARALLELISM: Final = 8

T = TypeVar("T")
R = TypeVar("R")


def run_tasks(
    spark: SparkSession,
    tasks: Sequence[T],
    *,
    work: Callable[[T, AdvanceProgress], R],
    progress: Progress = NO_PROGRESS,
    attempts: int = 1,
) -> list[R]:
    """Return the result of `work` for each task; raise the first error among them.

    Tasks begin in order, as many at a time as Spark has cores: callers put the largest first.
    `work` is a function of a module, because it is pickled. With `attempts` above 1 its effect must
    not depend on earlier attempts. Raise SparkError if Spark gives up.
    """
    if not tasks:
        return []
    use_own_python(spark)
    done = _accumulator(spark, progress)
    outcomes: dict[int, tuple[R, Exception | None]] = {}
    left = list(range(len(tasks)))
    for _ in range(attempts):
        each = partial(_run_tasks, tuple(tasks[place] for place in left), work, done)
        frame = spark.range(0, len(left), 1, len(left)).mapInArrow(each, ROW)
        found: dict[int, tuple[R, Exception | None]] = collect_messages(frame)
        outcomes |= {left[place]: outcome for place, outcome in found.items()}
        left = [place for place in left if _is_transient(outcomes[place][1])]
        if not left:
            break
    return [_raised(*outcomes[place]) for place in range(len(tasks))]


def default_parallelism(spark: SparkSession) -> int:
    """Return the number of tasks that run at a time, in a session of Spark Connect too."""
    context = getattr(spark, "sparkContext", None)
    if context is not None:
        return int(context.defaultParallelism)
    return int(spark.conf.get("spark.default.parallelism", str(_CONNECT_PARALLELISM)) or 1)


def _is_transient(error: Exception | None) -> bool:
    """Return whether another attempt may succeed."""
    if isinstance(error, KafkaError):
        return error.retriable and not isinstance(error, BadRecordsError)
    return isinstance(error, OSError)


def collect_messages(frame: DataFrame) -> dict[int, Any]:
    """Return the messages of a frame by number; raise SparkError if Spark gives up."""
    with translate_errors():
        table = frame.toArrow()
    return dict(read_messages(table.to_batches()))


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the original error of a task from Spark's error; raise SparkError for Spark's own.

    Spark passes on only the text of an error, so the error's class and message are parsed from it.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise parse_error(str(error)) from error


def parse_error(message: str) -> CordwoodError:
    """Return the error whose text is in Spark's message."""
    reason = last_line(message)
    found = OWN_ERROR.search(reason)
    kind = getattr(errors, found["name"], None) if found is not None else None
    if found is not None and isinstance(kind, type) and issubclass(kind, KafkaError):
        return kind(found["words"])
    text = reason if found is None else found["words"]
    return SparkError(f"a task failed: {text}", remedy="see Spark's log")


class _ProgressAccumulator(AccumulatorParam[int]):
    """An accumulator that passes the bytes of finished tasks to `advance`, on the driver."""

    def __init__(self, advance: AdvanceProgress) -> None:
        self._advance = advance

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the callback, which exists on the driver only."""
        return _ProgressAccumulator, (_ignore,)

    def zero(self, value: int) -> int:
        return 0 * value

    def addInPlace(self, value1: int, value2: int) -> int:  # noqa: N802  # Spark's name
        self._advance(value2)
        return value1 + value2


def _accumulator(spark: SparkSession, progress: Progress) -> Accumulator[int] | None:
    """Return an accumulator of progress; a Spark Connect session has none."""
    context = getattr(spark, "sparkContext", None)
    return (
        None if context is None else context.accumulator(0, _ProgressAccumulator(progress.advance))
    )


def _ignore(_size: int) -> None:
    pass


def _run_tasks(
    tasks: Sequence[T],
    work: Callable[[T, AdvanceProgress], R],
    done: Accumulator[int] | None,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Run the tasks whose numbers are in the rows."""
    prepare_worker()
    advance = _ignore if done is None else done.add
    for batch in batches:
        for place in batch.column("id").to_pylist():
            yield message_row(place, run_one(tasks[place], work, advance=advance))


def run_one(
    task: T, work: Callable[[T, AdvanceProgress], R], *, advance: AdvanceProgress
) -> tuple[R | None, Exception | None]:
    """Return the result of a task, or its error."""
    try:
        return work(task, advance), None
    except (CordwoodError, OSError) as error:
        return None, error


def _raised(result: R, error: Exception | None) -> R:
    if error is not None:
        raise error
    return result


def last_line(message: str) -> str:
    """Return the last line of the Python traceback in Spark's message: the error itself."""
    lines = [line for line in message.partition("JVM stacktrace")[0].splitlines() if line.strip()]
    return next((line.strip() for line in reversed(lines) if line == line.lstrip()), message)
