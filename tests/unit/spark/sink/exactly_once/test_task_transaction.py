"""A task's producer leaves its transaction open, or aborts it."""

import pyarrow as pa
import pytest

from cordwood.client.blocking import Admin
from cordwood.core.errors import SparkError
from cordwood.core.system import SystemClock
from cordwood.spark.sink.exactly_once.sink_requests import Now, Steps, ask
from cordwood.spark.sink.exactly_once.task_transaction import BatchDigest, TaskTransaction
from cordwood.spark.sink.exactly_once.task_write import BeginRows, LeaveOpen, SendRows
from cordwood.spark.sink.sink_options import SinkOptions, parse_sink_options
from cordwood.testing.kafka_fixture import Kafka

ROWS = pa.record_batch({"value": pa.array([b"a", b"b"])})


def options_of(kafka: Kafka) -> SinkOptions:
    return parse_sink_options({"kafka.bootstrap.servers": kafka.bootstrap, "topic": "t"})


def states(kafka: Kafka) -> dict[str, str]:
    with Admin(kafka.bootstrap) as admin:
        return {each.transactional_id: each.state for each in admin.list_transactions()}


def test_transaction_stays_open_with_its_handle(kafka: Kafka) -> None:
    def steps() -> Steps[object]:
        yield from ask(BeginRows("s-1.1-1", 60_000))
        sent = yield from ask(SendRows(ROWS))
        handle = yield from ask(LeaveOpen())
        assert sent == BatchDigest(options_of(kafka))(ROWS)
        return handle and handle.transactional_id

    with TaskTransaction(options_of(kafka), SystemClock()) as transaction:
        assert transaction.run(steps()) == "s-1.1-1"
    assert states(kafka) == {"s-1.1-1": "Ongoing"}


def test_task_without_rows_has_no_transaction(kafka: Kafka) -> None:
    def steps() -> Steps[object]:
        yield from ask(BeginRows("s-1.1-1", 60_000))
        yield from ask(SendRows(ROWS.slice(0, 0)))
        return (yield from ask(LeaveOpen()))

    with TaskTransaction(options_of(kafka), SystemClock()) as transaction:
        assert transaction.run(steps()) is None
    assert states(kafka) == {}


def test_transaction_of_a_failed_task_is_aborted(kafka: Kafka) -> None:
    def steps() -> Steps[None]:
        yield from ask(BeginRows("s-1.1-1", 60_000))
        yield from ask(SendRows(ROWS))
        assert (yield from ask(Now())) > 0
        raise SparkError("a task failed", remedy="try again")

    with pytest.raises(SparkError), TaskTransaction(options_of(kafka), SystemClock()) as each:
        each.run(steps())
    assert states(kafka)["s-1.1-1"] in {"PrepareAbort", "CompleteAbort"}
