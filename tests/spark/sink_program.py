"""A driver with several streaming queries into topics, one for each case of a kill.

    python -m tests.spark.sink_program CASES REPORT MASTER

CASES is a JSON list of cases, REPORT a file for the report, MASTER that of the session.

Each query reads text files, two per batch, and writes them through the hooked sink. A query that
fails or is stopped starts again from its checkpoint, as often as its case allows. The report has a
line for each start and each end of a query.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import SparkSession

from cordwood.spark.runtime.stream_settings import SHORT_BATCHES
from tests.spark.hooked_sink import HOOK, REACHED, RELEASED, HookedSink

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

CONF: Final = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "3",
    **SHORT_BATCHES,
}
_LOOK_S: Final = 0.01
#: Queries that work at a time; those that stand at their points do not count.
_AT_A_TIME: Final = 3


class Case(NamedTuple):
    """A query: its folder with input and checkpoint, its sink, its hook."""

    name: str
    folder: str
    sink: Mapping[str, str]
    point: str = "none"
    batch: int = -1
    action: str = "stand"
    #: Starts of the query in this session, at most.
    starts: int = 1
    #: Stop the query when the point is reached, and release it.
    stops: bool = False

    @property
    def hook(self) -> str:
        """The option of the sink."""
        return f"{self.point}@{self.batch}:{self.action}:{self.folder}"


class RunningCase:
    """A case and its present query; all are driven by one thread, which has Spark's session."""

    def __init__(self, spark: SparkSession, case: Case, report: Path) -> None:
        self._spark, self._case, self._report = spark, case, report
        self._query: StreamingQuery | None = None
        self._stopping: Thread | None = None
        #: Whether the point was reached in an earlier run.
        self._is_second = Path(case.folder, REACHED).exists()
        self._starts = 0
        self.is_over = False

    @property
    def is_begun(self) -> bool:
        """Whether the query was started."""
        return self._starts > 0

    @property
    def is_busy(self) -> bool:
        """Whether the query works; one that stands at its point waits for a kill."""
        case = self._case
        is_released = self._is_second or Path(case.folder, RELEASED).exists()
        is_waiting = case.action == "stand" and not case.stops and not is_released
        stands = is_waiting and Path(case.folder, REACHED).exists()
        return self.is_begun and not self.is_over and not stands

    def step(self) -> None:
        """Start the query, stop it at its point, or note its end."""
        if self._query is None:
            self._start()
        elif self._case.stops and self._starts == 1:
            self._stop(self._query)
        elif not self._query.isActive:
            error = self._query.exception()
            self._end("finished" if error is None else "failed", text=str(error or "")[:6_000])
            self.is_over |= error is None

    def _stop(self, query: "StreamingQuery") -> None:
        """Stop the query at its point: the stop begins first, then the process goes on."""
        if self._stopping is None and Path(self._case.folder, REACHED).exists():
            self._stopping = Thread(target=query.stop)
            self._stopping.start()
        elif self._stopping is not None and not query.isActive:
            Path(self._case.folder, RELEASED).touch()
            self._stopping.join()
            self._end("stopped")

    def _start(self) -> None:
        self._starts += 1
        case = self._case
        rows = (
            self._spark.readStream.option("maxFilesPerTrigger", "2")
            .text(f"{case.folder}/input")
            .selectExpr("value", "int(value) % 4 AS partition")
        )
        self._note("started")
        self._query = (
            rows.writeStream.format("hooked")
            .options(**case.sink)
            .option(HOOK, case.hook)
            .option("checkpointLocation", f"{case.folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )

    def _end(self, event: str, **more: str) -> None:
        self._note(event, **more)
        self._query = None
        self.is_over = self._starts >= self._case.starts

    def _note(self, event: str, **more: str) -> None:
        line = json.dumps({"case": self._case.name, "event": event, **more})
        with self._report.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def main(cases: Path, report: Path, master: str) -> None:
    """Run all cases to their ends."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("sink")
    for name, text in CONF.items():
        builder = builder.config(name, text)
    spark = builder.getOrCreate()
    spark.dataSource.register(HookedSink)
    found = [Case(**each) for each in json.loads(cases.read_text(encoding="utf-8"))]
    running = [RunningCase(spark, each, report) for each in found]
    while left := [each for each in running if not each.is_over]:
        busy = [each for each in left if each.is_busy]
        waiting = [each for each in left if not each.is_begun]
        for each in (*busy, *waiting[: max(0, _AT_A_TIME - len(busy))]):
            each.step()
        Event().wait(_LOOK_S)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
