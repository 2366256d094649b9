"""The state of a sink that a query has left, and its clearance."""

import pytest

from cordwood.client.blocking import Admin, Producer
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import InvalidTxnStateError, SparkError
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord, SlotRecord
from cordwood.spark.sink.exactly_once.record_access import write_record
from cordwood.spark.sink.exactly_once.sink_client import SinkClient
from cordwood.spark.sink.exactly_once.sink_names import Incarnation
from cordwood.spark.sink.exactly_once.sink_requests import Fence, Steps, ask
from cordwood.spark.sink.exactly_once.sink_status import settle_sink, sink_status
from cordwood.testing.kafka_fixture import Kafka
from tests.unit.spark.sink.exactly_once.scripted_brokers import NAMES, QUERY


def left_open(kafka: Kafka, number: int) -> TransactionHandle:
    name = NAMES.task(Incarnation(1, 1), number)
    with Producer[bytes, bytes](kafka.bootstrap, transactional_id=name) as producer:
        producer.begin()
        producer.send("t", b"%d" % number, partition=0)
        return producer.detach()


def decide(kafka: Kafka, handle: TransactionHandle) -> IntentRecord:
    """Write the record of a batch with one transaction."""
    record = IntentRecord(
        query_id=QUERY,
        batch=3,
        incarnation=Incarnation(1, 1),
        transaction_version=handle.transaction_version,
        slots=(SlotRecord(0, 1, handle.producer_id, handle.epoch, 1, 9),),
    )

    def steps() -> Steps[None]:
        driver = yield from ask(Fence(NAMES.driver, 60_000))
        yield from write_record(NAMES, driver, record=record)

    client = SinkClient({"bootstrap.servers": kafka.bootstrap}, record_topic="t")
    client.run(steps())
    client.close()
    return record


def test_sink_of_a_dead_query_has_decided_and_undecided_transactions(kafka: Kafka) -> None:
    kafka.create_topic("t", partitions=1)
    record = decide(kafka, left_open(kafka, 1))
    left_open(kafka, 2)

    with Admin(kafka.bootstrap) as admin:
        found = sink_status(admin, NAMES)

    assert (found.record, found.record_topic) == (record, "t")
    states = {each.transactional_id: each.is_decided for each in found.transactions}
    assert states == {"s-1.1-1": True, "s-1.1-2": False}
    assert {each.partitions for each in found.transactions} == {("t-0",)}


def test_settled_sink_has_no_open_transaction(kafka: Kafka) -> None:
    kafka.create_topic("t", partitions=1)
    decide(kafka, left_open(kafka, 1))
    left_open(kafka, 2)

    settle_sink({"bootstrap.servers": kafka.bootstrap}, NAMES, record_topic="t")

    with Admin(kafka.bootstrap) as admin:
        assert sink_status(admin, NAMES).transactions == ()


def test_settled_sink_commits_a_decision_that_is_found_without_a_topic(kafka: Kafka) -> None:
    kafka.create_topic("t", partitions=1)
    handle = left_open(kafka, 1)
    decide(kafka, handle)

    settle_sink({"bootstrap.servers": kafka.bootstrap}, NAMES, record_topic=None)

    with pytest.raises(InvalidTxnStateError), Admin(kafka.bootstrap) as admin:
        admin.end_transaction(handle, commit=False)


def test_sink_without_a_record_is_settled(kafka: Kafka) -> None:
    kafka.create_topic("t", partitions=1)
    left_open(kafka, 2)

    settle_sink({"bootstrap.servers": kafka.bootstrap}, NAMES, record_topic=None)

    with Admin(kafka.bootstrap) as admin:
        assert sink_status(admin, NAMES).transactions == ()


def test_unused_sink_has_nothing(kafka: Kafka) -> None:
    with Admin(kafka.bootstrap) as admin:
        found = sink_status(admin, NAMES)

    assert (found.record, found.record_topic, found.transactions) == (None, None, ())


def test_group_with_offsets_of_several_topics_is_refused(kafka: Kafka) -> None:
    with Admin(kafka.bootstrap) as admin:
        for topic in ("a", "b"):
            kafka.create_topic(topic, partitions=1)
            admin.alter_group_offsets(NAMES.group, {(topic, 0): 1})

        with pytest.raises(SparkError, match="offsets of 2 topics"):
            sink_status(admin, NAMES)
