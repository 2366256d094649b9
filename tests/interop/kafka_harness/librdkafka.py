"""librdkafka, through its Python wheel: a reader and writer of record batches that is not Java.

The wheel comes with the slower tests, so it is imported on use.
"""

from typing import TYPE_CHECKING, Final, cast

from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import NO_TIMESTAMP, Headers, SpecRecord

if TYPE_CHECKING:
    from confluent_kafka import Message

UNAVAILABLE: Final = 0


def produce_with_librdkafka(
    bootstrap: str, topic: str, records: tuple[SpecRecord, ...], codec: str
) -> None:
    """Send records to partition 0 and wait until the broker has them all."""
    from confluent_kafka import Producer  # noqa: PLC0415 the fast tests run without it

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 50,
            "acks": "all",
            "log_level": 3,
        }
    )
    for record in records:
        producer.produce(
            topic,
            partition=0,
            key=record.key,
            value=record.value,
            timestamp=record.timestamp,
            headers=list(record.headers),
        )
    assert producer.flush(PATIENCE_S) == 0, "librdkafka could not deliver everything"


def consume_with_librdkafka(
    bootstrap: str, topic: str, isolation: str = "read_uncommitted"
) -> tuple[SpecRecord, ...]:
    """Everything that partition 0 holds, CRCs checked, up to the event that it has ended."""
    from confluent_kafka import (  # noqa: PLC0415 the fast tests run without it
        OFFSET_BEGINNING,
        Consumer,
        TopicPartition,
    )

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "cordwood-interop",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "check.crcs": True,
            "fetch.wait.max.ms": 10,
            "log_level": 3,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    seen: list[SpecRecord] = []
    try:
        while True:
            message = consumer.poll(PATIENCE_S)
            assert message is not None, "librdkafka neither got a record nor reached the end"
            error = message.error()
            if error is not None:
                assert error.name() == "_PARTITION_EOF", error.str()
                return tuple(seen)
            seen.append(seen_record(message))
    finally:
        consumer.close()


def seen_record(message: "Message") -> SpecRecord:
    """A message of librdkafka's as a record."""
    timestamp_type, timestamp = message.timestamp()
    return SpecRecord(
        offset=cast("int", message.offset()),
        timestamp=NO_TIMESTAMP if timestamp_type == UNAVAILABLE else timestamp,
        key=cast("bytes | None", message.key()),
        value=cast("bytes | None", message.value()),
        headers=cast("Headers", tuple(message.headers() or ())),
    )
