"""A source that runs into the traps of Spark's Python data sources."""

import os
import socket
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

#: A reader that plans together with another one waits this long for it.
PATIENCE_S: Final = 60

_UTC: Final = pa.timestamp("us", "UTC")
_COLUMNS: Final = {"value": pa.binary(), "offset": pa.int64(), "timestamp": _UTC}
#: Arrow types that differ from the schema, by trap.
WRONG: Final = {
    "large binary": _COLUMNS | {"value": pa.large_binary()},
    "binary view": _COLUMNS | {"value": pa.binary_view()},
    "int": _COLUMNS | {"offset": pa.int32()},
    "milliseconds": _COLUMNS | {"timestamp": pa.timestamp("ms", "UTC")},
    "another zone": _COLUMNS | {"timestamp": pa.timestamp("us", "Europe/Berlin")},
    "another order": dict(reversed(_COLUMNS.items())),
    "no null": _COLUMNS,
}


class NaiveSource(DataSource):
    """A source whose single row has its arguments; the option `trap` selects the behavior."""

    @classmethod
    def name(cls) -> str:
        return "naive"

    def schema(self) -> str:
        wrong = self.options.get("trap") in WRONG
        return "value binary, offset long, timestamp timestamp" if wrong else "text string, n long"

    def reader(self, schema: StructType) -> DataSourceReader:
        kind = NaiveFilteringReader if self.options.get("trap") == "filters" else NaiveReader
        return kind(dict(self.options), schema)


class Numbered(InputPartition):
    """A partition of one row."""


class NaiveReader(DataSourceReader):
    """Reads the columns of its schema."""

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._trap = options.get("trap", "")
        self._names = schema.names
        self._plans = options.get("plans")
        self._meets = options.get("meets")
        self._option_names = ",".join(options)

    def partitions(self) -> Sequence[InputPartition]:
        if self._meets is not None:
            with socket.create_connection(("127.0.0.1", int(self._meets)), PATIENCE_S) as other:
                other.recv(1)
        if self._plans is not None:
            descriptor = os.open(self._plans, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(descriptor, b".")
            os.close(descriptor)
        if self._trap == "tuples":
            return [(1,)]  # type: ignore[list-item]  # the trap
        return [] if self._trap == "empty" else [Numbered(1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if self._trap in WRONG:
            fields = [
                pa.field(name, kind, nullable=self._trap != "no null")
                for name, kind in WRONG[self._trap].items()
            ]
            values = {"value": b"v", "offset": 1, "timestamp": 0}
            arrays = [pa.array([values[field.name]], field.type) for field in fields]
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
            return
        texts = {"options": self._option_names, "schema": ",".join(self._names)}
        text = texts.get(self._trap, repr(partition))
        row = {"text": pa.array([text]), "n": pa.array([1], pa.int64())}
        yield pa.record_batch({name: row[name] for name in self._names})


class NaiveFilteringReader(NaiveReader):
    """Accepts all filters, applies none, and returns none."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802  # Spark's name
        yield from ()
