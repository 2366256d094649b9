"""Single values as Arrow has them, and arrays of one, made of their bytes.

Whatever is given a value of Python's, be it `pa.scalar`, `pa.array` or `fill_null`, looks if that
is one of pandas', and loads pandas for it. In a task that is half a second, and 40 MB of the 300
that it may take.
"""

import sys

import pyarrow as pa


def text(value: str) -> pa.Scalar:
    """Return a `string`."""
    return bytes_array(value.encode(), pa.string())[0]


def number(value: int, kind: pa.DataType) -> pa.Scalar:
    """Return a whole number, or what Arrow keeps as one."""
    return number_array(value, kind)[0]


def bytes_array(data: bytes, kind: pa.DataType) -> pa.Array:
    """Return an array of one run of bytes, or of what Arrow keeps as one."""
    ends = b"".join(end.to_bytes(4, sys.byteorder) for end in (0, len(data)))
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])


def number_array(value: int, kind: pa.DataType) -> pa.Array:
    """Return an array of one whole number."""
    data = value.to_bytes(kind.bit_width // 8, sys.byteorder, signed=True)
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(data)])
