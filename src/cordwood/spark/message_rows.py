"""Rows of Spark's that are messages of ours: a number, and a value as pickle has it."""

import pickle
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from cordwood.spark.scalars import bytes_array, number_array

#: As Spark is told of them.
ROW: Final = "place int, message binary"
_SCHEMA: Final = pa.schema([pa.field("place", pa.int32()), pa.field("message", pa.binary())])


def message_row(place: int, message: object) -> pa.RecordBatch:
    """Return a row."""
    columns = [
        number_array(place, pa.int32()),
        bytes_array(pickle.dumps(message), pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def messages(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, object]]:
    """Yield what rows say, as they come."""
    for batch in batches:
        places, pickled = batch.columns
        for place, message in zip(places.to_pylist(), pickled, strict=True):
            yield place, pickle.loads(message.as_buffer())  # noqa: S301  # of our tasks
