"""Directories written by Kafka are read and continued by us, and by Kafka after us.

One broker of 4.3 lives through it: it writes with every codec and with transactions, several
segments, and deletes records. It is stopped; we open, read and append; it serves both. Then it
writes more and is killed, and the same again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pytest

from cordwood.storage.manager.log_manager import LogManager
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import (
    FAST_RESTART,
    Broker,
    kraft_broker,
    producer_settings,
)
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.our_manager import (
    content,
    end_transaction,
    lead_spec,
    open_manager,
    partition_of,
)
from tests.interop.kafka_harness.spec import CODECS, Spec, SpecRecord

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SEGMENTS: Final = "segments"
DELETED: Final = "deleted"
TRANSACTIONS: Final = "transactions"
TOPICS: Final = (*CODECS, SEGMENTS, DELETED, TRANSACTIONS)
SENT: Final = (*samples.plain(), *samples.nulls(), *samples.headers(), *samples.many())
START: Final = 400

Contents = dict[str, tuple[SpecRecord, ...]]


@dataclass(slots=True)
class Visit:
    """The content before our visit, our findings and changes, and the content that Kafka served
    after.
    """

    before: Contents
    committed_before: tuple[SpecRecord, ...]
    found: Contents = field(default_factory=dict)
    left: Contents = field(default_factory=dict)
    after: Contents = field(default_factory=dict)
    committed_after: tuple[SpecRecord, ...] = ()
    starts: dict[str, int] = field(default_factory=dict)
    recovered: dict[str, list[int]] = field(default_factory=dict)
    segments: dict[str, int] = field(default_factory=dict)
    is_clean: bool = False
    events: list[str] = field(default_factory=list)


def produce(broker: Broker, turn: int) -> None:
    """Every topic gets something from Kafka's producer."""
    oracle, bootstrap = broker.oracle, broker.bootstrap
    for codec in CODECS:
        oracle.produce(bootstrap, codec, SENT, producer_settings(codec, is_idempotent=True))
    for topic in (SEGMENTS, DELETED):
        for shift in range(3):
            records = tuple(_later(record, shift + 3 * turn) for record in SENT)
            oracle.produce(bootstrap, topic, records, producer_settings("none"))
    transactions = [(samples.plain(), True), (samples.nulls(), False), (samples.headers(), True)]
    settings = producer_settings("zstd", transactional_id="interop")
    oracle.produce_transactions(bootstrap, TRANSACTIONS, transactions, settings)
    oracle.delete_records(bootstrap, DELETED, START * (turn + 1))


def _later(record: SpecRecord, hours: int) -> SpecRecord:
    return SpecRecord(
        offset=record.offset,
        timestamp=record.timestamp + hours * 3_600_000,
        key=record.key,
        value=record.value,
        headers=record.headers,
    )


def consumed(broker: Broker) -> Contents:
    """Return all records that Kafka's consumer reads."""
    oracle, bootstrap = broker.oracle, broker.bootstrap
    return {topic: oracle.consume(bootstrap, topic, "read_uncommitted") for topic in TOPICS}


def committed(broker: Broker) -> tuple[SpecRecord, ...]:
    """Return the committed records that Kafka's consumer reads."""
    return broker.oracle.consume(broker.bootstrap, TRANSACTIONS, "read_committed")


def visit(broker: Broker, seen: Visit, first_id: int) -> None:
    """Open what Kafka has left, look at it, append to all of it, and let Kafka have it again."""
    manager = open_manager(broker.logs, seen.events)
    (directory,) = manager.directories
    seen.is_clean = directory.is_clean
    for topic in TOPICS:
        log = manager.logs[partition_of(topic)]
        log.set_high_watermark(log.bounds.log_end)
        seen.found[topic] = content(log)
        seen.starts[topic] = log.bounds.log_start
        seen.recovered[topic] = log.report.recovered
        seen.segments[topic] = len(log.segments)
    append(manager, first_id)
    for topic in TOPICS:
        seen.left[topic] = content(manager.logs[partition_of(topic)])
    manager.close()
    manager.ports.worker.close()
    broker.start()
    seen.after = consumed(broker)
    seen.committed_after = committed(broker)


def append(manager: LogManager, first_id: int) -> None:
    """A committed and an aborted transaction for every log."""
    for topic in TOPICS:
        log = manager.logs[partition_of(topic)]
        for number, codec in enumerate(("lz4", "gzip")):
            producer_id = first_id + number
            spec = Spec(
                records=samples.headers(),
                codec=codec,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0,
                transactional=True,
            )
            lead_spec(log, spec)
            end_transaction(log, producer_id, is_commit=number == 0)


@dataclass(slots=True)
class Story:
    """Both visits."""

    stopped: Visit
    killed: Visit


@pytest.fixture(scope="module")
def story(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("kafkas-in-ours")
    broker = kraft_broker(kafka43_jars, folder, kafka43, FAST_RESTART)
    try:
        broker.start()
        by_the_hour = {"segment.ms": "3600000"}
        topics: dict[str, dict[str, str]] = {topic: {} for topic in TOPICS}
        broker.create_topics({**topics, SEGMENTS: by_the_hour, DELETED: by_the_hour})
        produce(broker, 0)
        stopped = Visit(consumed(broker), committed(broker))
        broker.stop()
        visit(broker, stopped, 5000)
        produce(broker, 1)
        killed = Visit(consumed(broker), committed(broker))
        broker.kill()
        visit(broker, killed, 6000)
        yield Story(stopped, killed)
    finally:
        broker.stop()


@pytest.mark.parametrize("topic", TOPICS)
def test_log_of_kafka_is_read_after_a_clean_stop(story: Story, topic: str) -> None:
    assert story.stopped.found[topic] == story.stopped.before[topic]


@pytest.mark.parametrize("topic", TOPICS)
def test_log_of_kafka_is_read_after_a_kill(story: Story, topic: str) -> None:
    assert story.killed.found[topic] == story.killed.before[topic]


@pytest.mark.parametrize("topic", TOPICS)
def test_kafka_serves_both_after_its_clean_stop_and_ours(story: Story, topic: str) -> None:
    assert story.stopped.after[topic] == story.stopped.left[topic]


@pytest.mark.parametrize("topic", TOPICS)
def test_kafka_serves_both_after_its_kill_and_our_stop(story: Story, topic: str) -> None:
    assert story.killed.after[topic] == story.killed.left[topic]


@pytest.mark.parametrize("kind", ("stopped", "killed"))
def test_kafka_hides_records_aborted_by_us(story: Story, kind: str) -> None:
    seen: Visit = getattr(story, kind)

    ours = seen.left[TRANSACTIONS][len(seen.found[TRANSACTIONS]) :]

    committed_ones = ours[: len(samples.headers())]
    assert seen.committed_after == seen.committed_before + committed_ones
    assert len(ours) == 2 * len(committed_ones)


def test_no_segment_is_recovered_after_kafkas_clean_stop(story: Story) -> None:
    assert story.stopped.is_clean
    assert not story.stopped.events
    assert not any(story.stopped.recovered.values())


def test_every_log_is_recovered_after_kafkas_kill(story: Story) -> None:
    assert not story.killed.is_clean
    assert not story.killed.events
    assert all(story.killed.recovered.values())


def test_deleted_records_stay_deleted(story: Story) -> None:
    assert (story.stopped.starts[DELETED], story.killed.starts[DELETED]) == (START, 2 * START)


def test_segments_are_several(story: Story) -> None:
    """Else there would be little to open."""
    assert story.stopped.segments[SEGMENTS] >= 3
    assert story.killed.segments[SEGMENTS] > story.stopped.segments[SEGMENTS]
