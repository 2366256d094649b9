"""A stream for tests without a session; `tests/spark` runs it with one."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from cordwood.testing.spark_stream import SparkStream

if TYPE_CHECKING:
    from cordwood.spark.runtime.session import SparkSession


def test_stream_keeps_its_checkpoint_in_its_folder(tmp_path: Path) -> None:
    stream = SparkStream(cast("SparkSession", None), tmp_path, {"path": "logs"})

    assert stream.checkpoint == tmp_path / "checkpoint"
    assert stream.rows == []


def test_stream_that_was_not_started_can_be_stopped_and_cannot_catch_up(tmp_path: Path) -> None:
    stream = SparkStream(cast("SparkSession", None), tmp_path, {"path": "logs"})
    stream.stop()

    with pytest.raises(AssertionError, match="call start first"):
        stream.catch_up()
