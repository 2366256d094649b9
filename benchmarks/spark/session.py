"""A session of Spark that answers questions with what they took: a JSON line in, a JSON line out.

    session.py FORMAT [JARS] [NAME=VALUE]      FORMAT is `cordwood` or `kafka`, whose jars are then
                                               given; settings of the session have an equals sign

Spark's own connector wants a pyspark of its own version, so each side is a process with a Python of
its own. Both run the same lines: only the name of the format differs, and what one side alone has.
Processor time and bytes are of all processes of the session: the JVM, and Python's workers.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, TypedDict

from pyspark.sql import DataFrame, SparkSession

if TYPE_CHECKING:
    import pyarrow as pa

_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
#: Batches in which caches and code are still cold.
_FIRST_BATCHES = 5
_TICKS = os.sysconf("SC_CLK_TCK")


class Question(TypedDict, total=False):
    """A question to the session; `options` are the format's own, `table` is a new folder.

    `manager` is the class of the checkpoint manager of a stream, if it is not Spark's default.
    """

    ask: str
    options: dict[str, str]
    rows: int
    value_bytes: int
    table: str
    manager: str


class Durations(TypedDict):
    """Times of a batch."""

    triggerExecution: int


class Progress(TypedDict):
    """The progress of a batch, as Spark has it."""

    numInputRows: int
    durationMs: Durations


class Answer(TypedDict):
    """The result and its cost."""

    found: int
    seconds: float
    processor: float
    read_bytes: int


Verb = Callable[[SparkSession, str, Question], int]


def main() -> None:
    """Answer questions until there are none left."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.setsid()  # by which its processes are known
    os.environ["PYSPARK_PYTHON"] = sys.executable
    name, *words = sys.argv[1:]
    settings = [word for word in words if "=" in word]
    spark = _session([word for word in words if "=" not in word], settings)
    if name == "cordwood":
        import cordwood.spark  # noqa: PLC0415  # the other side does not have it

        cordwood.spark.register(spark)
    for line in sys.stdin:
        question: Question = json.loads(line)
        try:
            answer: dict[str, object] = {"answer": _measured(spark, name, question)}
        except Exception as error:  # noqa: BLE001  # every error is returned to the benchmark
            answer = {"kind": type(error).__name__, "failed": str(error)[:2000]}
        print(json.dumps(answer), file=answers, flush=True)
    spark.stop()


def _session(jars: list[str], settings: list[str]) -> SparkSession:
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.python.filterPushdown.enabled", "true")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    for each in jars:
        builder.config("spark.jars", each)
    for each in settings:
        builder.config(*each.split("=", 1))
    return builder.getOrCreate()


def _measured(spark: SparkSession, name: str, question: Question) -> Answer:
    verb = _VERBS[question["ask"]]
    before, start = _used(), perf_counter()
    found = verb(spark, name, question)
    seconds = perf_counter() - start
    ticks, read = 0, 0
    for process, used in _used().items():
        ticks_before, read_before = before.get(process, (0, 0))
        ticks, read = ticks + used[0] - ticks_before, read + used[1] - read_before
    return Answer(found=found, seconds=seconds, processor=ticks / _TICKS, read_bytes=read)


def _used() -> dict[str, tuple[int, int]]:
    """Return the processor time of each process of this session, and the bytes read by Python's.

    The time of a finished process counts for the process that has waited for it.
    """
    used = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) != os.getsid(0):
                continue
            is_python = "python" in (process / "comm").read_text()
            read = int((process / "io").read_text().split()[1]) if is_python else 0
            used[process.name] = sum(map(int, fields[11:15])), read
        except OSError:
            continue  # it has ended
    return used


# -- what can be asked


def _frame(spark: SparkSession, name: str, question: Question) -> DataFrame:
    return spark.read.format(name).options(**question["options"]).load()


def rows(spark: SparkSession, name: str, question: Question) -> int:
    """All columns of all rows, which go nowhere."""
    _frame(spark, name, question).write.format("noop").mode("overwrite").save()
    return 0


def count(spark: SparkSession, name: str, question: Question) -> int:
    """How many rows a DataFrame has."""
    return _frame(spark, name, question).count()


def lengths(spark: SparkSession, name: str, question: Question) -> int:
    """How long all values are together, by Spark's own functions."""
    (row,) = _frame(spark, name, question).selectExpr("sum(length(value)) AS total").collect()
    return int(row.total)


def write(spark: SparkSession, name: str, question: Question) -> int:
    """Rows that Spark makes, into a topic."""
    value = f"cast(lpad(string(id), {question['value_bytes']}, 'v') AS binary) AS value"
    frame = spark.range(question["rows"]).selectExpr("cast(string(id) AS binary) AS key", value)
    frame.write.format(name).mode("append").options(**question["options"]).save()
    return question["rows"]


def scan_count(spark: SparkSession, _name: str, question: Question) -> int:
    """How many records there are, from their headers."""
    import cordwood.spark  # noqa: PLC0415  # the other side does not have it

    return cordwood.spark.scan(spark, **question["options"]).count()


def scan_lengths(spark: SparkSession, _name: str, question: Question) -> int:
    """How long all values are together, in the tasks that read them."""
    import cordwood.spark  # noqa: PLC0415  # the other side does not have it

    scan = cordwood.spark.scan(spark, **question["options"])
    frame = scan.map_arrow(_lengths, "total long", columns=["value"])
    (row,) = frame.selectExpr("sum(total) AS total").collect()
    return int(row.total)


def write_parquet(spark: SparkSession, name: str, question: Question) -> int:
    """All rows, as a folder of Parquet."""
    writer = _frame(spark, name, question).write.option("compression", "zstd")
    writer.parquet(question["table"])
    return 0


def export(spark: SparkSession, _name: str, question: Question) -> int:
    """All records, as a table of Parquet that knows what it has."""
    from cordwood.spark import jobs  # noqa: PLC0415  # the other side does not have it

    options = {**question["options"], "compression": "zstd"}
    return jobs.export(spark, question["table"], options=options).records


def compact(spark: SparkSession, _name: str, question: Question) -> int:
    """How many records are left of logs that lie on their own in the folders of a path."""
    from cordwood.spark import jobs  # noqa: PLC0415  # the other side does not have it
    from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder  # noqa: PLC0415  # as above

    path, whole_bytes = question["options"]["path"], question["options"]["whole_bytes"]
    done = jobs.compact(
        spark,
        [str(each) for each in sorted(Path(path).glob("*/t-0"))],
        order=CompactJobOrder(whole_bytes=int(whole_bytes)),
        config={"cleanup.policy": "compact"},
    )
    certificates = [each.certificate for each in done.reports if each.certificate is not None]
    return sum(each.counts.records_kept for each in certificates)


def available_now(spark: SparkSession, name: str, question: Question) -> int:
    """How many rows a stream has, up to the end that it finds."""
    return sum(each["numInputRows"] for each in _streamed(spark, name, question))


def micro_batch_ms(spark: SparkSession, name: str, question: Question) -> int:
    """The median of the milliseconds of a batch, without the first ones if there are more."""
    progress = _streamed(spark, name, question)
    times = [each["durationMs"]["triggerExecution"] for each in progress if each["numInputRows"]]
    return round(median(times[_FIRST_BATCHES:] or times))


def _streamed(spark: SparkSession, name: str, question: Question) -> list[Progress]:
    """Run a stream into nothing with Trigger.AvailableNow, and return its progress."""
    if question.get("manager"):
        spark.conf.set(_MANAGER, question["manager"])
    else:
        spark.conf.unset(_MANAGER)
    frame = spark.readStream.format(name).options(**question["options"]).load()
    with TemporaryDirectory() as folder:
        writer = frame.writeStream.format("noop").option("checkpointLocation", folder)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    return [json.loads(each.json) for each in query.recentProgress]


def _lengths(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Yield how long the values of a task are."""
    import pyarrow as pa  # noqa: PLC0415  # as above
    import pyarrow.compute as pc  # noqa: PLC0415  # as above

    lengths = (pc.sum(pc.binary_length(batch.column("value"))).as_py() for batch in batches)
    yield pa.record_batch({"total": pa.array([sum(filter(None, lengths))], pa.int64())})


_VERBS: dict[str, Verb] = {
    verb.__name__: verb
    for verb in (
        *(rows, count, lengths, write, write_parquet),
        *(scan_count, scan_lengths, export, compact),
        *(available_now, micro_batch_ms),
    )
}

if __name__ == "__main__":
    main()
