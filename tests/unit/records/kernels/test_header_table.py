"""A table of batches is written by kernels, and read by column."""

import subprocess
import sys

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.header_scan import scan
from cordwood.records.kernels.header_table import HeaderTable
from cordwood.records.kernels.room import source_of

CHECK = """
import sys
from cordwood.records.batch_builder import BatchBuilder
from cordwood.records.kernels import batch_checker
builder = BatchBuilder()
builder.append(b"key", b"value", timestamp=1)
data = builder.build()
assert batch_checker().check(data).end == len(data)
print("numpy" in sys.modules)
"""


def batch(base_offset: int) -> bytes:
    builder = BatchBuilder(BatchFields(base_offset=base_offset))
    builder.append(b"key", b"value", timestamp=1)
    return bytes(builder.build())


def test_kernel_writes_a_range_of_rows() -> None:
    table, state = HeaderTable(4), memoryview(bytearray(8 * at.SCAN_WORDS)).cast("q")
    state[at.S_START] = state[at.S_MIN_TIMESTAMP] = INT64_MIN
    state[at.S_LAST], state[at.S_GROUP_BYTES] = INT64_MAX, 1 << 20

    found = scan(source_of(batch(5) + batch(7)), table.rows(1, 4), state)  # type: ignore[arg-type]  # as kernels see it

    assert (found, len(table)) == (2, 4)
    assert table.column(at.T_BASE_OFFSET, 0, 4) == [0, 5, 7, 0]
    assert table.row(2)[at.T_BASE_OFFSET] == 7


def test_checker_does_not_load_numpy() -> None:
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
