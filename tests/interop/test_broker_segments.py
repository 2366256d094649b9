"""Segments of a real Kafka 4.3 broker decode to the produced records."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, producer_settings
from tests.interop.kafka_harness.librdkafka import produce_with_librdkafka
from tests.interop.kafka_harness.ours import read_ours
from tests.interop.kafka_harness.spec import (
    CODECS,
    LOG_APPEND_TIME,
    SeenBatch,
    SpecRecord,
    renumbered,
    without_sequences,
)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SENT = renumbered(
    [*samples.plain(), *samples.nulls(), *samples.headers(), *samples.many()], first_offset=0
)
COMMIT = b"\x00\x00\x00\x01"
ABORT = b"\x00\x00\x00\x00"


def _content(batches: Iterable[SeenBatch]) -> tuple[SpecRecord, ...]:
    return without_sequences(record for batch in batches for record in batch.records)


def _unplaced(records: Iterable[SpecRecord]) -> list[SpecRecord]:
    return [replace(record, offset=0) for record in records]


@pytest.mark.parametrize("codec", CODECS)
def test_segment_decodes_to_the_produced_records(broker43: Broker, codec: str) -> None:
    topic = f"produced-{codec}"
    broker43.create_topics({topic: {}})

    broker43.oracle.produce(broker43.bootstrap, topic, SENT, producer_settings(codec))
    batches = read_ours(broker43.segment(topic))

    assert _content(batches) == SENT
    assert {batch.codec for batch in batches} == {CODECS.index(codec)}


@pytest.mark.parametrize("codec", CODECS)
def test_segment_decodes_to_the_records_of_librdkafka(
    broker43: Broker, librdkafka: None, codec: str
) -> None:
    topic = f"librdkafka-{codec}"
    broker43.create_topics({topic: {}})

    produce_with_librdkafka(broker43.bootstrap, topic, SENT, codec)
    batches = read_ours(broker43.segment(topic))

    assert _content(batches) == SENT
    assert {batch.codec for batch in batches} == {CODECS.index(codec)}


@pytest.mark.parametrize("codec", CODECS)
def test_segment_decodes_when_the_broker_chose_the_codec(broker43: Broker, codec: str) -> None:
    topic = f"recompressed-{codec}"
    broker43.create_topics({topic: {"compression.type": codec.replace("none", "uncompressed")}})
    sender = producer_settings("gzip" if codec != "gzip" else "none")

    broker43.oracle.produce(broker43.bootstrap, topic, SENT, sender)
    batches = read_ours(broker43.segment(topic))

    assert _content(batches) == SENT
    assert {batch.codec for batch in batches} == {CODECS.index(codec)}


@pytest.mark.parametrize("codec", CODECS)
def test_segment_has_the_log_append_time_seen_by_kafka(broker43: Broker, codec: str) -> None:
    topic = f"stamped-{codec}"
    broker43.create_topics({topic: {"message.timestamp.type": "LogAppendTime"}})

    broker43.oracle.produce(broker43.bootstrap, topic, SENT, producer_settings(codec))
    batches = read_ours(broker43.segment(topic))
    consumed = broker43.oracle.consume(broker43.bootstrap, topic, "read_uncommitted")

    assert _content(batches) == consumed
    assert {batch.timestamp_type for batch in batches} == {LOG_APPEND_TIME}


def test_segment_has_the_sequences_of_an_idempotent_producer(broker43: Broker) -> None:
    broker43.create_topics({"idempotent": {}})
    settings = producer_settings("lz4", is_idempotent=True)

    broker43.oracle.produce(broker43.bootstrap, "idempotent", SENT, settings)
    batches = read_ours(broker43.segment("idempotent"))

    assert [record.sequence for batch in batches for record in batch.records] == [
        record.offset for record in SENT
    ]
    assert len({batch.producer_id for batch in batches} - {-1}) == 1


@pytest.mark.parametrize("codec", CODECS)
def test_segment_holds_transactions_and_their_markers(broker43: Broker, codec: str) -> None:
    topic = f"transactional-{codec}"
    broker43.create_topics({topic: {}})
    settings = producer_settings(codec, transactional_id=f"interop-{codec}")
    transactions = [(samples.plain(), True), (samples.nulls(), False), (samples.headers(), True)]

    broker43.oracle.produce_transactions(broker43.bootstrap, topic, transactions, settings)
    batches = read_ours(broker43.segment(topic))

    data = [batch for batch in batches if not batch.is_control]
    sent = [record for records, _ in transactions for record in records]
    assert _unplaced(_content(data)) == _unplaced(sent)
    assert all(batch.is_transactional for batch in batches)
    assert [batch.records[0].key for batch in batches if batch.is_control] == [
        COMMIT,
        ABORT,
        COMMIT,
    ]


def test_segment_of_the_metadata_log_is_read_as_kafka_reads_it(broker43: Broker) -> None:
    """The first batches hold leader changes and other control records of the quorum."""
    (segment,) = (broker43.logs / "__cluster_metadata-0").glob("0*0.log")
    data = segment.read_bytes()

    ours = read_ours(data)

    assert ours == broker43.oracle.read(data)
    assert ours[0].is_control
