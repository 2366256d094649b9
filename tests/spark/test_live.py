"""Directories of a broker at work: a producer writes, retention deletes, compaction swaps.

A reading is right if it has what a consumer sees that comes after it, and nothing that a consumer
did not see that came before it: of the offsets that both of them had.
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
#: So many at least, and until the log was seen to begin at so many offsets.
READS: Final = 20
STARTS: Final = 3
KEYS: Final = 300
#: Sent before the first reading, so that there is much to delete and to compact.
FIRST: Final = 12_000

Records = dict[int, tuple[bytes | None, bytes | None]]


def key_of(number: int) -> bytes:
    """Most keys come again soon; some never."""
    return b"only %d" % number if number % 10 == 0 else b"%d" % (number % KEYS)


class Writer:
    """Sends to both topics, the same records; a value tells which it is."""

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
    """Let a producer write for as long as the block lasts."""
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
    """What a consumer sees from the start to where the end is now."""
    with cordwood.Consumer(address, auto_offset_reset="earliest") as consumer:
        place = TopicPartition(TopicName(topic), PartitionId(0))
        consumer.assign([place])
        end = consumer.end_offsets([place])[place]
        found: Records = {}
        while not found or max(found) < end - 1:
            found |= {each.offset: (each.key, each.value) for each in consumer.poll()}
    return {offset: each for offset, each in found.items() if offset < end}


def read(spark: "SparkSession", data: Path) -> dict[str, Records]:
    """What a reading has of each topic."""
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
    """What is wrong with a reading between two consumers'."""
    end = max(before) + 1
    missing = until(after, end).items() - seen.items()
    invented = until(seen, end).items() - before.items()
    if missing or invented:
        return f"{topic} below {end}: {len(missing)} records missing, {len(invented)} too many"
    return None


def test_reading_of_a_live_directory_is_what_a_consumer_sees(
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
    report(f"{len(sizes)} readings, live: from {starts} offsets, {shapes} sizes")
    assert not [each for each in complaints if each]
    assert min(starts, shapes) > 1
