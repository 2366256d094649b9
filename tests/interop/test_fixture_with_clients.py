"""The fixture's broker as other clients see it: its faults, its time, and its rewind."""

from collections.abc import Callable
from contextlib import closing
from itertools import islice
from typing import Final

import pytest

from cordwood.core.errors import NotLeaderOrFollowerError
from cordwood.testing.broker_faults import ArmedFault, BrokerFaults
from cordwood.testing.kafka_fixture import Kafka
from tests.interop.kafka_harness.installed import peer

confluent_kafka = peer("confluent_kafka")
kafka_python = peer("kafka")

pytestmark = pytest.mark.interop

VALUES: Final = [b"3 beams", b"4 posts", b"5 planks"]


def produce_with_kafka_python(kafka: Kafka) -> None:
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=kafka.bootstrap,
        enable_idempotence=True,
        request_timeout_ms=1_000,
        retry_backoff_ms=10,
    )
    with closing(producer):
        for value in VALUES:
            producer.send("orders", value).get(timeout=20)


def produce_with_confluent(kafka: Kafka) -> None:
    refused: list[object] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "enable.idempotence": True,
            "socket.timeout.ms": 1_000,
            "retry.backoff.ms": 10,
        }
    )
    for value in VALUES:
        producer.produce(
            "orders", value, callback=lambda error, _: refused.append(error) if error else None
        )
        producer.flush(20)
    producer.close()
    assert not refused


def consume_with_kafka_python(kafka: Kafka) -> list[bytes]:
    consumer = kafka_python.KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, consumer_timeout_ms=20_000, retry_backoff_ms=10
    )
    with closing(consumer):
        consumer.assign([kafka_python.TopicPartition("orders", 0)])
        consumer.seek_to_beginning()
        return [record.value for record in islice(consumer, len(VALUES))]


def consume_with_confluent(kafka: Kafka) -> list[bytes]:
    settings = {"enable.auto.commit": False, "retry.backoff.ms": 10, "group.id": "none"}
    consumer = confluent_kafka.Consumer({"bootstrap.servers": kafka.bootstrap, **settings})
    start = confluent_kafka.TopicPartition("orders", 0, confluent_kafka.OFFSET_BEGINNING)
    with closing(consumer):
        consumer.assign([start])
        return [message.value() for message in consumer.consume(len(VALUES), timeout=20)]


PRODUCERS: Final = {"kafka-python": produce_with_kafka_python, "librdkafka": produce_with_confluent}
CONSUMERS: Final = {"kafka-python": consume_with_kafka_python, "librdkafka": consume_with_confluent}

#: Faults that clients have to survive by themselves: every record arrives, once.
SENTENCES: Final[dict[str, Callable[[BrokerFaults], ArmedFault]]] = {
    "error": lambda faults: faults.on("Produce", first=2).fail(NotLeaderOrFollowerError),
    "delay": lambda faults: faults.on("Produce", first=2).delay(ms=100),
    "lost request": lambda faults: faults.on("Produce", first=2).drop(),
    "lost answer": lambda faults: faults.on("Produce", first=2).drop(handled=True),
    "closed": lambda faults: faults.on("Produce", first=2).close(),
    "closed after": lambda faults: faults.on("Produce", first=2).close(handled=True),
    "metadata": lambda faults: faults.on("Metadata").close(),
    "no id": lambda faults: faults.on("InitProducerId").close(),
    "disk full": lambda faults: faults.on_disk(path="*/orders-0/*.log", first=2).fill(),
}


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("client", PRODUCERS)
def test_producer_recovers_from_a_fault_without_duplicates(
    kafka: Kafka, client: str, sentence: str
) -> None:
    kafka.create_topic("orders")

    with SENTENCES[sentence](kafka.faults):
        PRODUCERS[client](kafka)

    assert [record.value for record in kafka.records("orders")] == VALUES


@pytest.mark.parametrize("what", ("fail", "delay", "close"))
@pytest.mark.parametrize("client", CONSUMERS)
def test_consumer_recovers_from_a_fault(kafka: Kafka, client: str, what: str) -> None:
    produce_with_kafka_python(kafka)
    fetches = kafka.faults.on("Fetch", topic="orders")
    says: dict[str, Callable[[], ArmedFault]] = {
        "fail": lambda: fetches.fail(NotLeaderOrFollowerError),
        "delay": lambda: fetches.delay(ms=100),
        "close": fetches.close,
    }

    with says[what]():
        seen = CONSUMERS[client](kafka)

    assert seen == VALUES


@pytest.mark.parametrize("client", CONSUMERS)
def test_clients_read_the_current_records_after_a_rewind(kafka: Kafka, client: str) -> None:
    kafka.create_topic("orders")
    empty = kafka.snapshot()
    PRODUCERS[client](kafka)

    kafka.rewind(empty)
    PRODUCERS[client](kafka)

    assert CONSUMERS[client](kafka) == VALUES


@pytest.mark.parametrize("client", CONSUMERS)
def test_clients_see_no_records_removed_by_retention(kafka: Kafka, client: str) -> None:
    kafka.create_topic("orders", retention_ms=86_400_000)
    PRODUCERS[client](kafka)

    kafka.clock.advance(days=2)
    PRODUCERS[client](kafka)

    assert CONSUMERS[client](kafka) == VALUES
    assert [record.offset for record in kafka.records("orders")] == [3, 4, 5]
