"""Our clients and Kafka's brokers read each other's records, also after a broker is killed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import cordwood
from cordwood.client.consumer.offset_fetcher import EARLIEST, LATEST, MAX_TIMESTAMP
from cordwood.core.errors import (
    CordwoodError,
    InvalidConfigError,
    InvalidReplicationFactorError,
    MessageTooLargeError,
    TopicAlreadyExistsError,
)
from cordwood.records.batch_stream import batches
from cordwood.records.record_batch import RecordBatch
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import (
    FAST_RESTART,
    Broker,
    kraft_broker,
    producer_settings,
)
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.metadata_lag import await_metadata
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.spec import (
    CODECS,
    SpecRecord,
    renumbered,
    without_sequences,
)
from tests.unresolved_batches import SENT_ONCE, time_out_a_written_batch

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SENT = renumbered(
    [*samples.plain(), *samples.nulls(), *samples.headers(), *samples.many()], first_offset=0
)


def produce(bootstrap: str, topic: str, codec: str = "none") -> list[int]:
    """Send SENT with our producer, and return the offsets."""
    with cordwood.Producer(bootstrap, compression_type=codec) as producer:
        sent = [
            producer.send(
                topic,
                record.value,
                key=record.key,
                partition=0,
                timestamp_ms=record.timestamp,
                headers=record.headers,
            )
            for record in SENT
        ]
        return [each.result().offset for each in sent]


def consume(bootstrap: str, topic: str, isolation: str = "read_uncommitted") -> list[SpecRecord]:
    """Everything up to the end, as our consumer reads it."""
    found: list[SpecRecord] = []
    with cordwood.Consumer(
        bootstrap, isolation_level=isolation, auto_offset_reset="earliest", fetch_max_wait_ms=10
    ) as consumer:
        consumer.assign([(topic, 0)])
        (end,) = consumer.end_offsets([(topic, 0)]).values()
        while consumer.position((topic, 0)) < end:
            found += [
                SpecRecord(
                    offset=record.offset,
                    timestamp=record.timestamp,
                    key=record.key,
                    value=record.value,
                    headers=record.headers,
                )
                for record in consumer.poll(10)
            ]
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_reads_the_records_of_our_producer(broker43: Broker, codec: str) -> None:
    topic = f"our-producer-{codec}"
    broker43.create_topics({topic: {}})

    offsets = produce(broker43.bootstrap, topic, codec)

    assert offsets == [record.offset for record in SENT]
    assert broker43.oracle.consume(broker43.bootstrap, topic, "read_uncommitted") == SENT
    written = list(batches(broker43.segment(topic)))
    assert {batch.codec.kafka_name for batch in written} == {codec}
    assert all(isinstance(batch, RecordBatch) and batch.has_producer_id for batch in written)


@pytest.mark.parametrize("codec", CODECS)
def test_our_consumer_reads_the_records_of_kafkas_producer(broker43: Broker, codec: str) -> None:
    topic = f"our-consumer-{codec}"
    broker43.create_topics({topic: {}})

    broker43.oracle.produce(broker43.bootstrap, topic, SENT, producer_settings(codec))

    assert tuple(consume(broker43.bootstrap, topic)) == SENT


@pytest.mark.parametrize("isolation", ("read_uncommitted", "read_committed"))
def test_our_consumer_sees_the_same_transactions_as_kafkas(
    broker43: Broker, isolation: str
) -> None:
    topic = f"our-transactions-{isolation}"
    broker43.create_topics({topic: {}})
    settings = producer_settings("lz4", transactional_id=topic)
    transactions = [(samples.plain(), True), (samples.nulls(), False), (samples.headers(), True)]

    broker43.oracle.produce_transactions(broker43.bootstrap, topic, transactions, settings)
    found = tuple(consume(broker43.bootstrap, topic, isolation))

    assert found == broker43.oracle.consume(broker43.bootstrap, topic, isolation)


def test_columns_have_the_records_of_kafkas_producer(broker43: Broker) -> None:
    broker43.create_topics({"our-columns": {}})
    broker43.oracle.produce(broker43.bootstrap, "our-columns", SENT, producer_settings("zstd"))

    with cordwood.Consumer(broker43.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("our-columns", 0)])
        found = list(consumer.columns(["offset", "key", "value"], timeout_ms=2_000))

    rows = [row for each in found for row in each.batch.to_pylist()]
    assert rows == [{"offset": one.offset, "key": one.key, "value": one.value} for one in SENT]


@pytest.mark.parametrize("broker", ("broker39_v0", "broker39_v1"))
def test_old_brokers_are_spoken_to_and_their_formats_read(
    broker: str, request: pytest.FixtureRequest
) -> None:
    old: Broker = request.getfixturevalue(broker)
    old.create_topics({"our-old": {}})

    with cordwood.Producer(old.bootstrap, enable_idempotence=False) as producer:
        sent = [producer.send("our-old", b"%d" % n, key=b"k") for n in range(50)]
        assert [each.result().offset for each in sent] == list(range(50))

    assert [each.value for each in consume(old.bootstrap, "our-old")] == [
        b"%d" % n for n in range(50)
    ]


def test_offsets_are_found_by_time(broker43: Broker) -> None:
    broker43.create_topics({"our-times": {}})
    place = cordwood.TopicPartition("our-times", 0)  # type: ignore[arg-type]  # plain names
    with cordwood.Producer(broker43.bootstrap) as producer:
        for n in range(10):
            producer.send("our-times", b"v", timestamp_ms=1_000 * n).result()

    with cordwood.Consumer(broker43.bootstrap) as consumer, admin(broker43) as asking:
        consumer.assign([place])
        consumer.seek_to_timestamp(3_500)
        assert consumer.position(place) == 4
        assert consumer.offsets_for_times({place: 99_000}) == {place: None}
        for what, offset in ((EARLIEST, 0), (LATEST, 10), (MAX_TIMESTAMP, 9)):
            assert asking.list_offsets({place: what})[place].offset == offset


def test_error_for_a_record_above_the_topic_limit_names_its_partition(broker43: Broker) -> None:
    broker43.create_topics({"our-small": {"max.message.bytes": "1000"}})

    with cordwood.Producer(broker43.bootstrap) as producer:
        with pytest.raises(MessageTooLargeError, match="our-small-0"):
            producer.send("our-small", bytes(5_000)).result()
        assert producer.send("our-small", b"small").result().offset == 0


def admin(broker: Broker) -> cordwood.Admin:
    return cordwood.Admin(broker.bootstrap)


def test_topics_are_created_changed_and_deleted(broker43: Broker) -> None:
    with admin(broker43) as asking:
        made = asking.create_topic("our-topic", partitions=2, configs={"retention.ms": "1000"})
        assert (made.partitions, made.replication_factor) == (2, 1)
        asking.create_partitions("our-topic", 3)
        await_metadata(broker43.bootstrap)
        assert _leaders(asking, "our-topic") == [1, 1, 1]
        (topic,) = asking.describe_topics(["our-topic"])
        assert topic.topic_id == made.topic_id
        asking.delete_topic("our-topic")
        await_metadata(broker43.bootstrap)
        assert "our-topic" not in asking.list_topics()


def _leaders(asking: cordwood.Admin, name: str) -> list[int]:
    (topic,) = asking.describe_topics([name])
    return [each.leader for each in topic.partitions]


def test_settings_are_described_and_changed(broker43: Broker) -> None:
    broker43.create_topics({"our-settings": {"retention.ms": "1000"}})
    resource = ("topic", "our-settings")

    with admin(broker43) as asking:
        asking.alter_configs(resource, change={"segment.ms": "5000"}, reset=["retention.ms"])
        await_metadata(broker43.bootstrap)
        told = asking.describe_configs(resource)
        assert (told["segment.ms"], told.entries["segment.ms"].source) == ("5000", "topic")
        assert told.entries["retention.ms"].source == "server.properties"
        assert asking.describe_configs(("broker", "1"), keys=["log.dirs"])["log.dirs"]


def test_records_are_deleted_and_directories_described(broker43: Broker) -> None:
    broker43.create_topics({"our-deleted": {}})
    produce(broker43.bootstrap, "our-deleted")

    with admin(broker43) as asking:
        assert set(asking.delete_records({("our-deleted", 0): 7}).values()) == {7}
        (directory,) = asking.describe_log_dirs(1)
        sizes = {each.topic: each.size for each in directory.partitions}
        assert sizes["our-deleted"] > 0
        assert asking.describe_cluster().brokers[0].node_id == 1

    assert consume(broker43.bootstrap, "our-deleted")[0].offset == 7


@pytest.mark.parametrize(
    ("kind", "configs", "factor"),
    (
        (TopicAlreadyExistsError, {}, 1),
        (InvalidConfigError, {"retention.ms": "never"}, 1),
        (InvalidReplicationFactorError, {}, 5),
    ),
)
def test_errors_have_the_messages_of_kafka(
    broker43: Broker, kind: type[CordwoodError], configs: dict[str, str], factor: int
) -> None:
    name = f"our-refused-{kind.__name__}"
    with admin(broker43) as asking:
        if kind is TopicAlreadyExistsError:
            asking.create_topic(name)
        with pytest.raises(kind, match=f"topic '{name}': "):
            asking.create_topic(name, configs=configs, replication_factor=factor)


@pytest.fixture
def mortal(kafka43_jars: Jars, kafka43: Oracle, tmp_path: Path) -> Iterator[Broker]:
    """A broker that a test may kill."""
    broker = kraft_broker(kafka43_jars, tmp_path, kafka43, FAST_RESTART)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


def test_every_record_arrives_once_and_in_order_though_the_broker_dies(mortal: Broker) -> None:
    mortal.create_topics({"our-ledger": {"flush.messages": "1"}})
    with cordwood.Producer(mortal.bootstrap, batch_size=200) as producer:
        before = [producer.send("our-ledger", b"%d" % n) for n in range(2_000)]
        before[500].result()
        mortal.kill()
        during = [producer.send("our-ledger", b"%d" % n) for n in range(2_000, 2_500)]
        mortal.start()
        after = [producer.send("our-ledger", b"%d" % n) for n in range(2_500, 3_000)]
        reports = [each.result() for each in (*before, *during, *after)]

    found = consume(mortal.bootstrap, "our-ledger")

    assert [each.value for each in found] == [b"%d" % n for n in range(3_000)]
    assert [each.offset for each in reports if each.offset >= 0] == [
        number for number, each in enumerate(reports) if each.offset >= 0
    ]


def test_our_consumer_continues_after_a_broker_restart(mortal: Broker) -> None:
    mortal.create_topics({"our-return": {"flush.messages": "1"}})
    produce(mortal.bootstrap, "our-return")
    with cordwood.Consumer(mortal.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("our-return", 0)])
        found = [record.offset for record in consumer.poll(60_000, max_records=5)]
        mortal.kill()
        mortal.start()
        while len(found) < len(SENT):
            found += [record.offset for record in consumer.poll(1_000)]

    assert found == [record.offset for record in without_sequences(SENT)]


def test_batch_that_was_written_before_its_timeout_is_not_written_twice(broker43: Broker) -> None:
    topic = "unresolved"
    broker43.create_topics({topic: {}})

    asyncio.run(time_out_a_written_batch(broker43.bootstrap, topic))

    assert [record.value for record in consume(broker43.bootstrap, topic)] == SENT_ONCE
