"""Partitions that producers write to during a test, and reads of them."""

import os
from typing import Final

import cordwood
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from tests.robustness.ledger import NUMBER_LENGTH, Found

ROUNDS: Final = 100 if os.environ.get("CORDWOOD_SOAK") == "1" else 10
SEED: Final = 20
#: The highest number of records in flight.
WINDOW: Final = 500
FLUSHED: Final = TopicName("flushed")
TOPICS: Final = {FLUSHED: {"flush.messages": "1"}, TopicName("default"): {}}
PARTITIONS: Final = 2
SETTINGS: Final = {"log.segment.bytes": str(1 << 20), "auto.create.topics.enable": "false"}


def create_topics(bootstrap: str) -> list[TopicPartition]:
    with cordwood.Admin(bootstrap) as admin:
        for topic, configs in TOPICS.items():
            admin.create_topic(topic, partitions=PARTITIONS, configs=configs)
    return [
        TopicPartition(topic, PartitionId(index)) for topic in TOPICS for index in range(PARTITIONS)
    ]


def read_all(bootstrap: str, partition: tuple[str, int]) -> list[Found]:
    """Return all records of a partition, read through the broker."""
    found: list[Found] = []
    with cordwood.Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        (end,) = consumer.end_offsets([partition]).values()
        while not found or found[-1].offset < end - 1:
            found += map(found_in, consumer.poll())
    return found


def found_in(record: cordwood.ConsumedRecord[bytes, bytes]) -> Found:
    """Return a record's own number and its offset."""
    assert record.value is not None
    return Found(record.offset, int.from_bytes(record.value[:NUMBER_LENGTH], "big"))
