"""Runs the parts of a job: each is a value, and a task of Spark's works it off.

    values ──► a task each ──► work(value, tell) ──► results, in the order of the values

What is wrong with the input is wrong wherever it is tried: an error of ours, or of the operating
system, is no failure of its task but its result, and is raised on the driver as it was raised
there. Only what Spark can mend by trying again, a worker that is gone, is left to Spark.
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
from cordwood.core.errors import CordwoodError, KafkaError, SparkError
from cordwood.spark.message_rows import ROW, message_row, messages
from cordwood.spark.progress import UNSEEN, Progress
from cordwood.spark.readiness import make_ready
from cordwood.spark.workers import use_own_python

#: Is told of bytes that are done.
Tell = Callable[[int], object]

_OURS: Final = re.compile(r"cordwood\.core\.errors(\.\w+)*\.(?P<name>\w+): (?P<words>.*)")

T = TypeVar("T")
R = TypeVar("R")


def run_tasks(
    spark: SparkSession,
    tasks: Sequence[T],
    *,
    work: Callable[[T, Tell], R],
    progress: Progress = UNSEEN,
) -> list[R]:
    """Return what `work` makes of each task; the first error that one ended with is raised.

    Tasks begin in their order, as many at a time as Spark has room for: the largest go first.
    `work` is a function of a module. SparkError is raised when Spark itself gives up.
    """
    if not tasks:
        return []
    use_own_python(spark)
    told = _told(spark, progress)
    each = partial(_outcomes, tuple(tasks), work, told)
    frame = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(each, ROW)
    outcomes: dict[int, tuple[R, Exception | None]] = answers_of(frame)
    return [_raised(*outcomes[place]) for place in range(len(tasks))]


def answers_of(frame: DataFrame) -> dict[int, Any]:
    """Return the messages of a frame, by their numbers; SparkError when Spark gives up."""
    with named_errors():
        table = frame.toArrow()
    return dict(messages(table.to_batches()))


@contextmanager
def named_errors() -> Iterator[None]:
    """Raise what Spark tells of an error in a task as what it was; SparkError where it is Spark's.

    Of an error Spark has the words alone, so what else it says of itself is in them.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise error_in(str(error)) from error


def error_in(words: str) -> CordwoodError:
    """Return the error that Spark's message tells of."""
    reason = reason_in(words)
    found = _OURS.match(reason)
    kind = getattr(errors, found["name"], None) if found is not None else None
    if found is not None and isinstance(kind, type) and issubclass(kind, KafkaError):
        return kind(found["words"])
    told = reason if found is None else found["words"]
    return SparkError(f"a task was given up: {told}", remedy="Spark's log tells more")


class _Told(AccumulatorParam[int]):
    """Adds on the driver what tasks have done, when they end, and passes it on."""

    def __init__(self, advance: Tell) -> None:
        self._advance = advance

    def __reduce__(self) -> tuple[object, ...]:
        """Go to tasks as one that passes nothing on."""
        return _Told, (_pass_by,)

    def zero(self, value: int) -> int:
        return 0 * value

    def addInPlace(self, value1: int, value2: int) -> int:  # noqa: N802  # Spark's name
        self._advance(value2)
        return value1 + value2


def _told(spark: SparkSession, progress: Progress) -> Accumulator[int] | None:
    """Return what tasks tell; a session that is a client of a server's has nothing for it."""
    context = getattr(spark, "sparkContext", None)
    return None if context is None else context.accumulator(0, _Told(progress.advance))


def _pass_by(_size: int) -> None:
    pass


def _outcomes(
    tasks: Sequence[T],
    work: Callable[[T, Tell], R],
    told: Accumulator[int] | None,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Work off the tasks whose numbers are in the rows."""
    make_ready()
    tell = _pass_by if told is None else told.add
    for batch in batches:
        for place in batch.column("id").to_pylist():
            yield message_row(place, outcome_of(tasks[place], work, tell=tell))


def outcome_of(
    task: T, work: Callable[[T, Tell], R], *, tell: Tell
) -> tuple[R | None, Exception | None]:
    """Return what work makes of a task, or the error that it ends with."""
    try:
        return work(task, tell), None
    except (CordwoodError, OSError) as error:
        return None, error


def _raised(result: R, error: Exception | None) -> R:
    if error is not None:
        raise error
    return result


def reason_in(words: str) -> str:
    """Return the line of Spark's message that says what happened: a traceback's last one."""
    lines = [line for line in words.partition("JVM stacktrace")[0].splitlines() if line.strip()]
    return next((line.strip() for line in reversed(lines) if line == line.lstrip()), words)
