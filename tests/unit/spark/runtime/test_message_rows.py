"""Messages as Spark rows: a round trip, without pandas."""

import subprocess
import sys

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.spark.runtime.message_rows import message_row, read_messages

PROGRAM = """
import sys
from cordwood.spark.runtime.message_rows import message_row, read_messages

assert list(read_messages([message_row(1, 2)])) == [(1, 2)]
print("pandas" in sys.modules)
"""

pytestmark = pytest.mark.spark


def test_messages_round_trip() -> None:
    rows = [message_row(3, {"a": [1, None]}), message_row(-1, b"x" * 70_000)]

    assert list(read_messages(rows)) == [(3, {"a": [1, None]}), (-1, b"x" * 70_000)]


def test_row_is_whole() -> None:
    row = message_row(1 << 30, None)

    row.validate(full=True)
    assert row.schema.names == ["place", "message"]


def test_pandas_is_not_loaded_for_a_message() -> None:
    command = [sys.executable, "-c", PROGRAM]

    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
