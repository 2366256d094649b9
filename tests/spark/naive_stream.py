"""A source of streams that notes each call of Spark, and runs into the traps of streams."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

#: The number of rows, and of those that a batch may have.
ROWS = 6
LIMIT = 2


class NaiveStream(DataSource):
    """A source whose reader writes its calls into the file of the option `trace`."""

    @classmethod
    def name(cls) -> str:
        return "naive-stream"

    def schema(self) -> str:
        return "n long"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # as Spark calls it
        kind = TargetedReader if self.options.get("targeted") == "true" else NaiveStreamReader
        return kind(self.options["trace"])


class NaiveStreamReader(DataSourceStreamReader):
    """Reads numbers; without the mixin for AvailableNow."""

    def __init__(self, trace: str) -> None:
        self._trace = trace
        self._planned = 0

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  # as Spark calls it
        return self._noted("initialOffset", {"n": 0})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # as above
        return ReadMaxRows(LIMIT)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802  # as above
        most = ROWS if isinstance(limit, ReadAllAvailable) else LIMIT
        return self._noted("latestOffset", {"n": min(ROWS, start["n"] + most)})

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        self._planned += 1
        self._noted("partitions", end)
        return [InputPartition((start["n"], end["n"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        self._noted("read", {"n": self._planned})
        first, end = partition.value
        yield pa.record_batch({"n": pa.array(range(first, end), pa.int64())})

    def commit(self, end: dict[str, int]) -> None:
        self._noted("commit", end)

    def stop(self) -> None:
        self._noted("stop", {})

    def _noted(self, call: str, value: dict[str, int]) -> dict[str, int]:
        with Path(self._trace).open("a", encoding="utf-8") as trace:
            trace.write(f"{call} {value.get('n', '')}\n")
        return value


class TargetedReader(NaiveStreamReader, SupportsTriggerAvailableNow):
    """The same reader with the mixin."""

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # as Spark calls it
        self._noted("prepare", {})
