"""Reads of a live log directory: a producer writes, retention deletes, compaction swaps.

A read is correct if it has all records that a later consumer receives, and no records that an
earlier consumer did not receive, among the offsets of both consumers.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import cordwood
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from tests.serving import Serving, ended_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.client.serializers import Plain

pytestmark = pytest.mark.timeout(600)

SETTINGS: Final = {
    "log.initial.task.delay.ms": "0",
    "log.segment.bytes": str(1 << 20),
    "log.retention.check.interval.ms": "50",
    "log.segment.delete.delay.ms": "50",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.01",
}
DELETED: Final = "orders"
COMPACTED: Final = "stock"
CONFIGS: Final = {
    DELETED: {"retention.bytes": str(3 << 20)},
    COMPACTED: {"cleanup.policy": "compact"},
}
#: Minimum number of reads, and of different log start offsets in them.
READS: Final = 20
STARTS: Final = 3
KEYS: Final = 300
#: Records sent before the first read, to delete and to compact.
FIRST: Final = 12_000

Records = dict[int, tuple[bytes | None, bytes | None]]


def key_of(number: int) -> bytes:
    """Return a key; most keys repeat soon, some never."""
    return b"only %d" % number if number % 10 == 0 else b"%d" % (number % KEYS)


class Writer:
    """Sends the same records to both topics; a value contains the record's number."""

    def __init__(self, producer: "cordwood.Producer[Plain, Plain]") -> None:
        self._producer = producer
        self._number = 0

    def send(self, count: int) -> None:
        for number in range(self._number, self._number + count):
            for topic in CONFIGS:
                value = b"%d " % number + bytes(500)
                self._producer.send(topic, value, key=key_of(number))
        self._producer.flush()
        self._number += count


@contextmanager
def written_to(address: str) -> Iterator[None]:
    """Run a producer in a thread during the block."""
    is_over = threading.Event()
    with cordwood.Producer(address) as producer:
        writer = Writer(producer)
        writer.send(FIRST)

        def write() -> None:
            while not is_over.wait(0.05):
                writer.send(50)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


def create_topics(address: str) -> None:
    with cordwood.Admin(address) as admin:
        for topic, configs in CONFIGS.items():
            admin.create_topic(topic, configs=configs)


def consumed(address: str, topic: str) -> Records:
    """Return the records of a consumer from the start to the current end."""
    with cordwood.Consumer(address, auto_offset_reset="earliest") as consumer:
        place = TopicPartition(TopicName(topic), PartitionId(0))
        consumer.assign([place])
        end = consumer.end_offsets([place])[place]
        found: Records = {}
        while not found or max(found) < end - 1:
            found |= {each.offset: (each.key, each.value) for each in consumer.poll()}
    return {offset: each for offset, each in found.items() if offset < end}


def read(spark: "SparkSession", data: Path) -> dict[str, Records]:
    """Return the records of a Spark read, by topic."""
    options = {"subscribe": ",".join(CONFIGS), "gap": "record", "gapTable": str(data / "../gaps")}
    frame = spark.read.format("cordwood").options(**options).load(str(data))
    found: dict[str, Records] = {topic: {} for topic in CONFIGS}
    for row in frame.select("topic", "offset", "key", "value").collect():
        records = found[row.topic]
        assert row.offset > next(reversed(records), -1), f"{row.topic}: {row.offset} comes late"
        records[row.offset] = (bytes(row.key), bytes(row.value))
    return found


def until(records: Records, end: int) -> Records:
    return {offset: each for offset, each in records.items() if offset < end}


def complaint(topic: str, before: Records, *, seen: Records, after: Records) -> str | None:
    """Return the difference of a read to the consumers before and after it, or None."""
    end = max(before) + 1
    missing = until(after, end).items() - seen.items()
    invented = until(seen, end).items() - before.items()
    if missing or invented:
        return f"{topic} below {end}: {len(missing)} records missing, {len(invented)} too many"
    return None


def test_read_of_a_live_directory_equals_that_of_a_consumer(
    spark: "SparkSession", tmp_path: Path, report: Callable[[str], None]
) -> None:
    complaints, first_offsets, sizes = [], list[int](), list[int]()
    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        broker.start()
        create_topics(broker.address)
        with written_to(broker.address):
            while len(sizes) < READS or len(set(first_offsets)) < STARTS:
                before = {topic: consumed(broker.address, topic) for topic in CONFIGS}
                seen = read(spark, broker.data[0])
                after = {topic: consumed(broker.address, topic) for topic in CONFIGS}
                complaints += [
                    complaint(topic, before[topic], seen=seen[topic], after=after[topic])
                    for topic in CONFIGS
                ]
                first_offsets.append(min(seen[DELETED]))
                sizes.append(len(seen[COMPACTED]))

    starts, shapes = len(set(first_offsets)), len(set(sizes))
    report(f"{len(sizes)} live reads: from {starts} offsets, {shapes} sizes")
    assert not [each for each in complaints if each]
    assert min(starts, shapes) > 1
