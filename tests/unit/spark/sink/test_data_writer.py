"""The writer: checks before any task runs, and the commit message of a task."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
from pyspark.sql.types import BinaryType, StructField, StructType

from cordwood.core.errors import SettingError
from cordwood.spark.data_source import CordwoodSource
from cordwood.spark.sink.data_writer import SinkCommitMessage
from cordwood.testing.kafka_fixture import Kafka

pytestmark = pytest.mark.spark

VALUES = StructType([StructField("value", BinaryType())])
WHERE = {"kafka.bootstrap.servers": "127.0.0.1:9", "topic": "t"}


def test_writer_sends_the_rows_of_a_task(kafka: Kafka) -> None:
    where = {**WHERE, "kafka.bootstrap.servers": kafka.bootstrap, "delivery": "at-least-once"}
    source, rows = CordwoodSource(where), pa.record_batch({"value": pa.array([b"a", b"b"])})

    sent = source.writer(VALUES, overwrite=False).write(iter([rows]))
    streamed = source.streamWriter(VALUES, overwrite=False).write(iter([rows]))

    assert sent == streamed == SinkCommitMessage(2)
    assert [record.value for record in kafka.records("t")] == [b"a", b"b"] * 2


def test_stream_writer_rejects_complete_output() -> None:
    with pytest.raises(SettingError, match=r"use outputMode append$"):
        CordwoodSource(WHERE).streamWriter(VALUES, overwrite=True)


def test_writer_rejects_overwrite() -> None:
    with pytest.raises(SettingError, match=r'use mode\("append"\)'):
        CordwoodSource(WHERE).writer(VALUES, overwrite=True)


def test_writer_rejects_options_of_the_source() -> None:
    with pytest.raises(SettingError, match="unknown option of the sink: subscribe"):
        CordwoodSource({**WHERE, "subscribe": "t"}).writer(VALUES, overwrite=False)


def test_writer_rejects_unknown_columns() -> None:
    schema = StructType([*VALUES, StructField("amount", BinaryType())])

    with pytest.raises(SettingError, match="unknown column: amount"):
        CordwoodSource(WHERE).writer(schema, overwrite=False)
