"""Single values as Arrow has them, made of their bytes.

Whatever is given a value of Python's, be it `pa.scalar`, `pa.array` or `fill_null`, looks if that
is one of pandas', and loads pandas for it. In a task that is half a second, and 40 MB of the 300
that it may take.
"""

import sys

import pyarrow as pa


def text(value: str) -> pa.Scalar:
    """Return a `string`."""
    data = value.encode()
    ends = b"".join(end.to_bytes(4, sys.byteorder) for end in (0, len(data)))
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])[0]


def number(value: int, kind: pa.DataType) -> pa.Scalar:
    """Return a whole number, or what Arrow keeps as one."""
    data = value.to_bytes(kind.bit_width // 8, sys.byteorder, signed=True)
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(data)])[0]
