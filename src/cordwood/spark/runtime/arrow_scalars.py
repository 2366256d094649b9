"""Arrow scalars and arrays of one value, created from bytes to keep pandas unloaded.

`pa.scalar`, `pa.array` and `fill_null` with a Python value import pandas to test its type. In a
task this costs half a second, and 40 MB of the 300 MB budget of a task.
"""

import sys

import pyarrow as pa


def string_scalar(value: str) -> pa.Scalar:
    """Return a `string` scalar."""
    return bytes_array(value.encode(), pa.string())[0]


def integer_scalar(value: int, kind: pa.DataType) -> pa.Scalar:
    """Return a scalar of an integer type, or of a type that Arrow stores as an integer."""
    return integer_array(value, kind)[0]


def bytes_array(data: bytes, kind: pa.DataType) -> pa.Array:
    """Return an array of one value of a binary or string type."""
    ends = b"".join(end.to_bytes(4, sys.byteorder) for end in (0, len(data)))
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])


def integer_array(value: int, kind: pa.DataType) -> pa.Array:
    """Return an array of one integer."""
    data = value.to_bytes(kind.bit_width // 8, sys.byteorder, signed=True)
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(data)])
