"""Batches that we wrote pass through a real broker: Kafka's consumer and librdkafka read in them
what we were asked to write.

v2 arrives in a Produce request made by hand; the old formats, which no request of Kafka 4 carries,
and whole transactions are placed as segment files in the folders of a broker that is down.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest

from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, kraft_broker
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.librdkafka import consume_with_librdkafka
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.ours import write_ours
from tests.interop.kafka_harness.spec import CODECS, Spec, SpecRecord, renumbered
from tests.interop.kafka_harness.wire import produce_raw

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

EVERYTHING: Final = renumbered(
    [*samples.plain(), *samples.nulls(), *samples.headers(), *samples.many()], first_offset=0
)
LEGACY: Final = {
    f"v{magic}-{name}": spec
    for magic in (0, 1)
    for name, spec in samples.legacy_specs(magic)
    if name.startswith(("many", "nulls", "log-append-time"))
}
COMMITTED: Final = renumbered(samples.headers(), first_offset=0)
ABORTED: Final = renumbered(samples.plain(), first_offset=len(COMMITTED) + 1)


@pytest.mark.parametrize("codec", CODECS)
def test_consumers_read_a_batch_of_ours(broker43: Broker, librdkafka: None, codec: str) -> None:
    topic = f"sent-{codec}"
    broker43.create_topics({topic: {}})
    data = write_ours(Spec(records=EVERYTHING, codec=codec))

    answer = produce_raw(broker43.bootstrap, topic, data)

    assert answer == (0, 0)
    assert _consumed(broker43, topic) == (EVERYTHING, EVERYTHING)


@pytest.mark.parametrize("codec", CODECS)
def test_broker_keeps_every_byte_of_a_batch_but_offset_and_epoch(
    broker43: Broker, codec: str
) -> None:
    topic = f"kept-{codec}"
    broker43.create_topics({topic: {}})
    data = write_ours(Spec(records=EVERYTHING, codec=codec))

    produce_raw(broker43.bootstrap, topic, data)
    error_code, base_offset = produce_raw(broker43.bootstrap, topic, data)

    stored = broker43.segment(topic)[len(data) :]
    assert (error_code, base_offset) == (0, len(EVERYTHING))
    assert stored[:8] == base_offset.to_bytes(8, "big")
    assert stored[8:12] + stored[16:] == data[8:12] + data[16:]


@pytest.fixture(scope="module")
def restarted(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A broker that finds our segment files when it starts again."""
    broker = kraft_broker(kafka43_jars, tmp_path_factory.mktemp("placed"), kafka43)
    try:
        broker.start()
        broker.create_topics({topic: {} for topic in (*LEGACY, "transactions")})
        broker.stop()
        for topic, spec in LEGACY.items():
            broker.place_segment(topic, write_ours(spec))
        broker.place_segment("transactions", _transactions())
        broker.start()
        yield broker
    finally:
        broker.stop()


@pytest.mark.parametrize("topic", LEGACY)
def test_consumers_read_an_old_segment_of_ours(
    restarted: Broker, librdkafka: None, topic: str
) -> None:
    spec = LEGACY[topic]

    assert _consumed(restarted, topic) == (spec.records, spec.records)


def test_consumers_see_only_records_committed_by_our_marker(
    restarted: Broker, librdkafka: None
) -> None:
    assert _consumed(restarted, "transactions", "read_committed") == (COMMITTED, COMMITTED)


def test_uncommitted_readers_see_both_transactions(restarted: Broker, librdkafka: None) -> None:
    both = COMMITTED + ABORTED

    assert _consumed(restarted, "transactions") == (both, both)


def _consumed(
    broker: Broker, topic: str, isolation: str = "read_uncommitted"
) -> tuple[tuple[SpecRecord, ...], tuple[SpecRecord, ...]]:
    """The records of a topic as Kafka's consumer and as librdkafka see them."""
    return (
        broker.oracle.consume(broker.bootstrap, topic, isolation),
        consume_with_librdkafka(broker.bootstrap, topic, isolation),
    )


def _transactions() -> bytes:
    """One committed and one aborted transaction with their markers."""
    producer = Spec(
        records=COMMITTED,
        codec="lz4",
        partition_leader_epoch=0,
        producer_id=900,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    second = replace(
        producer,
        records=ABORTED,
        base_offset=ABORTED[0].offset,
        base_sequence=len(COMMITTED),
        codec="zstd",
    )
    return (
        write_ours(producer)
        + _marker(offset=len(COMMITTED), is_commit=True)
        + write_ours(second)
        + _marker(offset=ABORTED[-1].offset + 1, is_commit=False)
    )


def _marker(*, offset: int, is_commit: bool) -> bytes:
    fields = BatchFields(
        base_offset=offset, partition_leader_epoch=0, producer_id=900, producer_epoch=0
    )
    marker = EndTransaction(is_commit=is_commit, coordinator_epoch=0)
    return bytes(control_batch(marker, fields, timestamp=samples.NOON))
