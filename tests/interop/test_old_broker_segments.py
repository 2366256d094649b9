"""Segments of a real Kafka 3.9 broker in v0 and v1 decode to the produced records."""

from dataclasses import replace

import pytest

from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, producer_settings
from tests.interop.kafka_harness.ours import read_ours
from tests.interop.kafka_harness.spec import LEGACY_CODECS, NO_TIMESTAMP, renumbered

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SENT = renumbered([*samples.plain(), *samples.nulls(), *samples.many()], first_offset=0)


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_v0_segment_decodes_to_the_produced_records(broker39_v0: Broker, codec: str) -> None:
    broker39_v0.create_topics({codec: {}})

    settings = producer_settings(codec)
    broker39_v0.oracle.produce(broker39_v0.bootstrap, codec, SENT, settings)
    data = broker39_v0.segment(codec)

    batches = read_ours(data)
    timeless = tuple(replace(record, timestamp=NO_TIMESTAMP) for record in SENT)
    assert tuple(record for batch in batches for record in batch.records) == timeless
    assert {(batch.magic, batch.codec) for batch in batches} == {(0, LEGACY_CODECS.index(codec))}
    assert batches == broker39_v0.oracle.read(data)


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_v1_segment_decodes_to_the_produced_records(broker39_v1: Broker, codec: str) -> None:
    broker39_v1.create_topics({codec: {}})

    settings = producer_settings(codec)
    broker39_v1.oracle.produce(broker39_v1.bootstrap, codec, SENT, settings)
    data = broker39_v1.segment(codec)

    batches = read_ours(data)
    assert tuple(record for batch in batches for record in batch.records) == SENT
    assert {(batch.magic, batch.codec) for batch in batches} == {(1, LEGACY_CODECS.index(codec))}
    assert batches == broker39_v1.oracle.read(data)


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_v1_segment_has_the_log_append_time_seen_by_kafka(broker39_v1: Broker, codec: str) -> None:
    topic = f"stamped-{codec}"
    broker39_v1.create_topics({topic: {"message.timestamp.type": "LogAppendTime"}})

    settings = producer_settings(codec)
    broker39_v1.oracle.produce(broker39_v1.bootstrap, topic, SENT, settings)
    batches = read_ours(broker39_v1.segment(topic))

    consumed = broker39_v1.oracle.consume(broker39_v1.bootstrap, topic, "read_uncommitted")
    assert tuple(record for batch in batches for record in batch.records) == consumed
