"""A sink of streams that notes each call of Spark, and runs into the traps of sinks."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from cordwood.spark.sink.exactly_once.exactly_once_writer import is_planning

if TYPE_CHECKING:
    import pyarrow as pa

_LOOK_S = 0.02
_PATIENCE_S = 120


@dataclass(frozen=True)
class NaiveMessage(WriterCommitMessage):
    """The message of a task."""

    rows: int


class NaiveSink(DataSource):
    """A sink whose writer writes its calls into the file `trace` of the option `folder`."""

    @classmethod
    def name(cls) -> str:
        return "naive-sink"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: FBT001, N802  # as Spark calls it
        writer = NaiveSinkWriter(self.options["folder"], self.options.get("action", ""))
        process = "planning" if is_planning() else "committing"
        writer.note(f"streamWriter {process} {os.getpid()} {','.join(sorted(self.options))}")
        return writer


class NaiveSinkWriter(DataSourceStreamArrowWriter):
    """Drops rows. `commit` fails with the action `fail`, and waits with `wait` until a release."""

    def __init__(self, folder: str, action: str) -> None:
        self._folder = Path(folder)
        self._action = action

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        rows = sum(batch.num_rows for batch in iterator)
        self.note("write")
        return NaiveMessage(rows)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        self.note(f"commit {batchId} {_rows(messages)}")
        if self._action == "fail":
            raise RuntimeError("the commit fails")
        if self._action == "wait":
            self._wait()

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        self.note(f"abort {batchId} {_rows(messages)}")

    def note(self, call: str) -> None:
        with (self._folder / "trace").open("a", encoding="utf-8") as trace:
            trace.write(f"{call}\n")

    def _wait(self) -> None:
        waiting = Event()
        for _ in range(int(_PATIENCE_S / _LOOK_S)):
            if (self._folder / "released").exists():
                return
            waiting.wait(_LOOK_S)


def _rows(messages: Sequence[WriterCommitMessage | None]) -> int:
    """Return the rows of the messages that arrive."""
    return sum(each.rows for each in messages if isinstance(each, NaiveMessage))
