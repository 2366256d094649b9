"""A task's producer leaves its transaction open, or aborts it."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from cordwood.client.blocking import Admin, Producer
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import SparkError
from cordwood.core.system import SystemClock
from cordwood.spark.sink.exactly_once.kept_producers import kept_producers
from cordwood.spark.sink.exactly_once.sink_requests import Now, Steps, ask
from cordwood.spark.sink.exactly_once.task_transaction import BatchDigest, TaskTransaction
from cordwood.spark.sink.exactly_once.task_write import BeginRows, LeaveOpen, SendRows
from cordwood.spark.sink.sink_options import SinkOptions, parse_sink_options
from cordwood.testing.kafka_fixture import Kafka


@pytest.fixture(autouse=True)
def _producers_are_closed() -> Iterator[None]:
    yield
    kept_producers().close()


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


def written(kafka: Kafka) -> TransactionHandle:
    """Write rows with a transactional id, and return the handle of the open transaction."""

    def steps() -> Steps[TransactionHandle | None]:
        yield from ask(BeginRows("s-1.1-1", 60_000))
        yield from ask(SendRows(ROWS))
        return (yield from ask(LeaveOpen()))

    with TaskTransaction(options_of(kafka), SystemClock()) as transaction:
        handle = transaction.run(steps())
    assert handle is not None
    return handle


def test_next_transaction_of_an_id_has_the_same_producer(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = written(kafka)
    with Admin(kafka.bootstrap) as admin:
        admin.end_transaction(first, commit=True)
    monkeypatch.setattr(Producer, "from_config", None)

    second = written(kafka)

    assert second.producer_id == first.producer_id
    assert second.epoch > first.epoch
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
