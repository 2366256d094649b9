"""The writers that Spark calls: prepared before the tasks, committed or aborted afterwards."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa

from cordwood.client.blocking import Admin, Consumer
from cordwood.core.errors import SettingError, SparkError
from cordwood.spark.sink.exactly_once import exactly_once_writer
from cordwood.spark.sink.exactly_once.exactly_once_writer import (
    ExactlyOnceMessage,
    JobWriter,
    StreamWriter,
    is_planning,
    make_job_writer,
    make_stream_writer,
)
from cordwood.spark.sink.exactly_once.kept_producers import kept_producers
from cordwood.spark.sink.exactly_once.sink_client import close_clients
from cordwood.spark.sink.sink_options import SinkOptions, parse_sink_options
from cordwood.testing.kafka_fixture import Kafka

pytestmark = pytest.mark.spark

QUERY = UUID(int=5)


class FakeContext:
    """Spark's context of an attempt."""

    def __init__(self, slot: int, batch: int, attempt_id: int) -> None:
        self._slot, self._batch, self._attempt_id = slot, batch, attempt_id

    def partitionId(self) -> int:  # noqa: N802  # Spark's name
        return self._slot

    def attemptNumber(self) -> int:  # noqa: N802  # Spark's name
        return 0

    def taskAttemptId(self) -> int:  # noqa: N802  # Spark's name
        return self._attempt_id

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802  # Spark's name
        return {
            "streaming.sql.batchId": str(self._batch),
            "sql.streaming.queryId": str(QUERY),
        }.get(key)


class Sink:
    """A sink whose calls are those of Spark."""

    def __init__(self, kafka: Kafka, patch: pytest.MonkeyPatch, checkpoint: Path) -> None:
        self.kafka, self._patch, self._attempts = kafka, patch, 0
        (checkpoint / "metadata").write_text(json.dumps({"id": str(QUERY)}), encoding="utf-8")
        self.options = self.options_of(checkpointLocation=str(checkpoint))

    def options_of(self, *, is_stream: bool = True, **given: str) -> SinkOptions:
        where = {"kafka.bootstrap.servers": self.kafka.bootstrap, "topic": "t"}
        return parse_sink_options(where | given, is_stream=is_stream)

    def planned(self, options: SinkOptions | None = None) -> StreamWriter:
        with self._patch.context() as patch:
            patch.setattr(exactly_once_writer, "is_planning", lambda: True)
            writer = make_stream_writer(options or self.options)
        found = pickle.loads(pickle.dumps(writer))  # our own
        assert isinstance(found, StreamWriter)
        return found

    def written(
        self, writer: StreamWriter | JobWriter, *values: bytes, batch: int = 0
    ) -> ExactlyOnceMessage:
        self._attempts += 1
        context = FakeContext(len(values), batch, self._attempts)
        with self._patch.context() as patch:
            patch.setattr(exactly_once_writer, "_attempt", lambda: context)
            return writer.write(iter([pa.record_batch({"value": pa.array(values)})]))

    def batch(self, number: int, *values: bytes) -> None:
        message = self.written(self.planned(), *values, batch=number)
        make_stream_writer(self.options).commit([message], number)

    def visible(self) -> list[bytes | None]:
        with Consumer[bytes, bytes](
            self.kafka.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
        ) as consumer:
            consumer.assign([("t", 0)])
            end = consumer.end_offsets([("t", 0)])
            found: list[bytes | None] = []
            while consumer.position(("t", 0)) < next(iter(end.values())):
                found += [record.value for record in consumer.poll(1_000)]
            return found


@pytest.fixture
def sink(kafka: Kafka, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Sink]:
    kafka.create_topic("t", partitions=1)
    made = Sink(kafka, monkeypatch, tmp_path)
    yield made
    close_clients()
    kept_producers().close()


def test_rows_are_visible_after_the_commit(sink: Sink) -> None:
    message = sink.written(sink.planned(), b"a", b"b")
    assert sink.visible() == []

    make_stream_writer(sink.options).commit([message], 0)

    assert sink.visible() == [b"a", b"b"]


def test_batch_that_comes_again_is_skipped(sink: Sink) -> None:
    sink.batch(0, b"a")
    sink.batch(0, b"a")
    sink.batch(1, b"b")

    assert sink.visible() == [b"a", b"b"]


def test_first_batch_without_rows_creates_its_topic(sink: Sink) -> None:
    options = sink.options_of(topic="new", transactionalIdPrefix="new")
    message = sink.written(sink.planned(options))

    make_stream_writer(options).commit([message], 0)

    with Admin(sink.kafka.bootstrap) as admin:
        assert "new" in admin.list_topics()


def test_aborted_batch_is_written_again(sink: Sink) -> None:
    message = sink.written(sink.planned(), b"a")
    make_stream_writer(sink.options).abort([message, None], 0)

    sink.batch(0, b"a")

    assert sink.visible() == [b"a"]


def test_abort_without_a_message_waits_for_the_next_start(sink: Sink) -> None:
    make_stream_writer(sink.options).abort([None], 0)

    assert sink.visible() == []


def test_batch_without_all_messages_is_not_committed(sink: Sink) -> None:
    message = sink.written(sink.planned(), b"a")

    with pytest.raises(SparkError, match="1 of 2 tasks have no message"):
        make_stream_writer(sink.options).commit([message, None], 0)


def test_messages_of_two_preparations_are_refused(sink: Sink) -> None:
    first, second = (sink.written(sink.planned(), b"a") for _ in range(2))

    with pytest.raises(SparkError, match="two preparations"):
        make_stream_writer(sink.options).commit([first, second], 0)


def test_job_with_an_id_is_written_once(sink: Sink) -> None:
    options = sink.options_of(is_stream=False, jobId="load")

    for _ in range(2):
        writer = make_job_writer(options)
        writer.commit([sink.written(writer, b"a")])

    assert sink.visible() == [b"a"]


def test_writes_with_one_prefix_are_all_written(sink: Sink) -> None:
    options = sink.options_of(is_stream=False, transactionalIdPrefix="mine")

    for value in (b"a", b"b"):
        writer = make_job_writer(options)
        writer.commit([sink.written(writer, value)])

    assert sink.visible() == [b"a", b"b"]


@pytest.mark.parametrize(("value", "is_reported"), ((b"a", False), (b"b", True)))
def test_other_rows_with_an_old_job_id_are_not_dropped_in_silence(
    sink: Sink,
    capsys: pytest.CaptureFixture[str],
    value: bytes,
    is_reported: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    options = sink.options_of(is_stream=False, jobId="load")
    for each in (b"a", value):
        writer = make_job_writer(options)
        writer.commit([sink.written(writer, each)])

    assert ("rows dropped: 1" in capsys.readouterr().err) == is_reported


def test_other_rows_with_an_old_job_id_are_refused(sink: Sink) -> None:
    options = sink.options_of(is_stream=False, jobId="load")
    first = make_job_writer(options)
    first.commit([sink.written(first, b"a")])

    again = make_job_writer(options)
    with pytest.raises(SparkError, match="has written 1 rows, and this write has 2"):
        again.commit([sink.written(again, b"b", b"c")])
    assert sink.visible() == [b"a"]


def test_job_without_an_id_is_written_each_time(sink: Sink) -> None:
    options = sink.options_of(is_stream=False)

    for _ in range(2):
        writer = make_job_writer(options)
        message = sink.written(writer, b"a")
        writer.abort([message])
        writer = make_job_writer(options)
        writer.commit([sink.written(writer, b"a")])

    assert sink.visible() == [b"a"] * 2


def test_job_without_an_id_leaves_no_group(sink: Sink) -> None:
    writer = make_job_writer(sink.options_of(is_stream=False))
    writer.commit([sink.written(writer, b"a")])

    with Admin(sink.kafka.bootstrap) as admin:
        assert admin.list_groups() == []


def test_timeout_above_the_brokers_is_refused_at_the_start(sink: Sink) -> None:
    options = sink.options_of(is_stream=False, **{"kafka.transaction.timeout.ms": "900001"})

    with pytest.raises(SettingError, match="set at most 900000"):
        make_job_writer(options)


def test_sink_without_a_topic_needs_one_for_its_record(kafka: Kafka) -> None:
    options = parse_sink_options({"kafka.bootstrap.servers": kafka.bootstrap, "jobId": "j"})

    with pytest.raises(SettingError, match="set recordTopic"):
        make_job_writer(options)


def test_this_process_does_not_plan_tasks() -> None:
    assert not is_planning()


def test_writer_of_the_committing_process_writes_nothing(sink: Sink) -> None:
    writer = make_stream_writer(sink.options)

    with pytest.raises(SparkError, match="plans them in another process"):
        sink.written(writer, b"a")
