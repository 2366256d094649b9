"""Spark rows that carry a number and a pickled value, between tasks and driver."""

import pickle
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from cordwood.spark.runtime.arrow_scalars import bytes_array, integer_array

#: The DDL schema of the rows.
ROW: Final = "place int, message binary"
_SCHEMA: Final = pa.schema([pa.field("place", pa.int32()), pa.field("message", pa.binary())])


def message_row(place: int, message: object) -> pa.RecordBatch:
    """Return a batch of one row."""
    columns = [
        integer_array(place, pa.int32()),
        bytes_array(pickle.dumps(message), pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def read_messages(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, object]]:
    """Yield the numbers and values of rows."""
    for batch in batches:
        places, pickled = batch.columns
        for place, message in zip(places.to_pylist(), pickled, strict=True):
            yield place, pickle.loads(message.as_buffer())  # noqa: S301  # written by our tasks
