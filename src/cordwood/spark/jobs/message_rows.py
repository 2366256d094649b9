"""Rows of Spark's that are messages of ours: a number, and a value as pickle has it.

They are made of buffers, for whatever else pyarrow makes arrays of, it first looks if that is of
pandas, and loads pandas for it: half a second and 50 MB of a task that has no use for it.
"""

import pickle
import struct
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

#: As Spark is told of them.
ROW: Final = "place int, message binary"
_SCHEMA: Final = pa.schema([pa.field("place", pa.int32()), pa.field("message", pa.binary())])


def message_row(place: int, message: object) -> pa.RecordBatch:
    """Return a row."""
    data = pickle.dumps(message)
    columns = [
        pa.Array.from_buffers(pa.int32(), 1, [None, pa.py_buffer(struct.pack("<i", place))]),
        pa.Array.from_buffers(
            pa.binary(),
            1,
            [None, pa.py_buffer(struct.pack("<ii", 0, len(data))), pa.py_buffer(data)],
        ),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def messages(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, object]]:
    """Yield what rows say, as they come."""
    for batch in batches:
        places, pickled = batch.columns
        for place, message in zip(places.to_pylist(), pickled, strict=True):
            yield place, pickle.loads(message.as_buffer())  # noqa: S301  # of our tasks
