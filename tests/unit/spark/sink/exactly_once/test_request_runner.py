"""Requests of the protocol against a broker; `tests/spark` runs them against Kafka."""

from collections.abc import Iterator

import pytest

from cordwood.client.blocking import Admin, Producer
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import InvalidTransactionTimeoutError, SparkError
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord
from cordwood.spark.sink.exactly_once.record_access import read_record, write_record
from cordwood.spark.sink.exactly_once.sink_client import SinkClient
from cordwood.spark.sink.exactly_once.sink_requests import (
    CountPartitions,
    Describe,
    End,
    EndResult,
    Fence,
    IdState,
    ListOpen,
    Now,
    SinkRequest,
    Steps,
    ask,
)
from cordwood.testing.kafka_fixture import Kafka
from tests.unit.spark.sink.exactly_once.scripted_brokers import NAMES, record_of, slot_of


@pytest.fixture
def client(kafka: Kafka) -> Iterator[SinkClient]:
    kafka.create_topic("t", partitions=2)
    made = SinkClient({"bootstrap.servers": kafka.bootstrap}, record_topic="t")
    yield made
    made.close()


def answer(client: SinkClient, request: SinkRequest[object]) -> object:
    return client.run(ask(request))


def left_open(kafka: Kafka, name: str) -> TransactionHandle:
    """Return the handle of a transaction with one row."""
    with Producer[bytes, bytes](kafka.bootstrap, transactional_id=name) as producer:
        producer.begin()
        producer.send("t", b"row", partition=0)
        return producer.detach()


def ended(client: SinkClient, handle: TransactionHandle, *, commit: bool) -> EndResult:
    (each,) = client.run(ask(End((handle,), commit))).values()
    return each.result


def test_record_is_written_in_the_drivers_transaction(client: SinkClient) -> None:
    record = written(client, record_of(3, slot_of(0), slot_of(1)))

    assert client.run(read_record(NAMES)) == record


def written(client: SinkClient, record: IntentRecord) -> IntentRecord:
    def steps() -> Steps[None]:
        driver = yield from ask(Fence(NAMES.driver, 60_000))
        yield from write_record(NAMES, driver, record=record)

    client.run(steps())
    return record


def test_record_in_partitions_that_were_added_is_read(client: SinkClient, kafka: Kafka) -> None:
    assert client.run(read_record(NAMES)) is None
    with Admin(kafka.bootstrap) as admin:
        admin.create_partitions("t", 3)
    other = SinkClient({"bootstrap.servers": kafka.bootstrap}, record_topic="t")

    record = written(other, record_of(3, *map(slot_of, range(500))))
    other.close()

    assert client.run(read_record(NAMES)) == record


@pytest.mark.parametrize("topic", ("u", "absent"))
def test_record_that_another_topic_keys_is_not_taken_for_a_missing_one(
    client: SinkClient, kafka: Kafka, topic: str
) -> None:
    kafka.create_topic("u", partitions=1)
    written(client, record_of(3, slot_of(0)))
    other = SinkClient({"bootstrap.servers": kafka.bootstrap}, record_topic=topic)

    with pytest.raises(SparkError, match="set recordTopic to t if an earlier run"):
        other.run(read_record(NAMES))
    other.close()


def test_open_transaction_is_listed_and_described(client: SinkClient, kafka: Kafka) -> None:
    handle = left_open(kafka, "s-1.1-1")

    assert "s-1.1-1" in (client.run(ask(ListOpen())) or ())
    states = client.run(ask(Describe(("s-1.1-1", "absent")))) or {}
    state = states["s-1.1-1"]
    assert list(states) == ["s-1.1-1"]
    assert isinstance(state, IdState)
    assert (state.is_open, state.producer_id, state.epoch) == (True, *handle[1:3])


def test_ends_are_repeated_with_the_same_answer(client: SinkClient, kafka: Kafka) -> None:
    handle = left_open(kafka, "s-1.1-1")

    assert [ended(client, handle, commit=True) for _ in range(2)] == [EndResult.ENDED] * 2
    assert ended(client, handle, commit=False) is not EndResult.ENDED
    assert [record.value for record in kafka.records("t", partition=0)] == [b"row"]


def test_end_of_a_fenced_or_unknown_id_is_an_answer(client: SinkClient, kafka: Kafka) -> None:
    handle = left_open(kafka, "s-1.1-1")
    client.run(ask(Fence("s-1.1-1", 60_000)))

    assert ended(client, handle, commit=True) is EndResult.FENCED
    other = handle._replace(producer_id=handle.producer_id + 1_000)
    assert ended(client, other, commit=True) is EndResult.UNKNOWN_ID


def test_facts_of_the_cluster_are_read(client: SinkClient) -> None:
    assert client.run(ask(CountPartitions())) == 2
    assert client.run(ask(Now())) > 0
    assert client.max_timeout_ms() == 900_000


def test_error_is_raised_in_the_steps(client: SinkClient) -> None:
    with pytest.raises(InvalidTransactionTimeoutError, match=r"transaction\.max\.timeout\.ms"):
        answer(client, Fence("s-driver", 900_001))
