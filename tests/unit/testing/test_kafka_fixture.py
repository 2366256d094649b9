"""The fixture `kafka`: a real socket, time control, rewind, and cleanup."""

import asyncio
import gc
import threading
from collections.abc import Callable

import pytest

import cordwood
from cordwood.broker.process.descriptor_budget import DescriptorBudget
from cordwood.core.errors import (
    InvalidTopicError,
    KafkaError,
    SettingError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from cordwood.records.record import TimestampType
from cordwood.testing import KafkaOptions, kafka_fixture
from cordwood.testing.kafka_fixture import Kafka
from tests.descriptors import open_descriptors


def produce(kafka: Kafka, *values: bytes, topic: str = "orders") -> None:
    with cordwood.Producer(kafka.bootstrap) as producer:
        for value in values:
            producer.send(topic, value).result()


def values(kafka: Kafka, topic: str = "orders") -> list[bytes | None]:
    return [record.value for record in kafka.records(topic)]


def test_records_are_read_without_a_client(kafka: Kafka) -> None:
    produce(kafka, b"3 beams", b"4 posts")

    first, second = kafka.records("orders")

    assert first.offset == 0
    assert first.value == b"3 beams"
    assert second.offset == 1
    assert second.value == b"4 posts"


def test_records_of_a_topic_are_in_the_order_of_partitions(kafka: Kafka) -> None:
    kafka.create_topic("orders", partitions=2)
    with cordwood.Producer(kafka.bootstrap) as producer:
        for partition in (1, 0, 1):
            producer.send("orders", b"to %d" % partition, partition=partition).result()

    assert values(kafka) == [b"to 0", b"to 1", b"to 1"]
    assert len(kafka.records("orders", partition=1)) == 2


def test_records_are_stamped_by_the_clock_of_the_broker(kafka: Kafka) -> None:
    kafka.clock.freeze()
    kafka.clock.advance(days=30)
    produce(kafka, b"late")

    (record,) = kafka.records("orders")

    assert record.timestamp == kafka.clock.now_ms()
    assert record.timestamp_type is TimestampType.LOG_APPEND_TIME


def test_committed_records_are_read_without_those_of_other_transactions(kafka: Kafka) -> None:
    with cordwood.Producer(kafka.bootstrap, transactional_id="etl") as producer:
        producer.begin()
        producer.send("orders", b"aborted").result()
        producer.abort()
        producer.begin()
        producer.send("orders", b"committed").result()
        producer.commit()
        producer.begin()
        producer.send("orders", b"open").result()

        found = kafka.records("orders", isolation_level="read_committed")

        assert [record.value for record in found] == [b"committed"]
        assert values(kafka) == [b"aborted", b"committed", b"open"]


def test_unknown_isolation_level_is_rejected(kafka: Kafka) -> None:
    produce(kafka, b"3 beams")

    with pytest.raises(ValueError, match="'committed'; give read_uncommitted or read_committed"):
        kafka.records("orders", isolation_level="committed")  # type: ignore[arg-type]  # the case


def test_records_of_an_unknown_topic_are_rejected(kafka: Kafka) -> None:
    with pytest.raises(UnknownTopicOrPartitionError, match="orders"):
        kafka.records("orders")


def test_topic_is_created_with_its_configs(kafka: Kafka) -> None:
    kafka.create_topic(
        "orders", partitions=3, cleanup_policy="compact", unclean_leader_election_enable=True
    )

    with cordwood.Admin(kafka.bootstrap) as admin:
        (topic,) = admin.describe_topics(["orders"])
        configs = admin.describe_configs(("topic", "orders"))
    assert len(topic.partitions) == 3
    assert configs["cleanup.policy"] == "compact"
    assert configs["unclean.leader.election.enable"] == "true"


@pytest.mark.parametrize(
    ("name", "error"), (("a b", InvalidTopicError), ("here", TopicAlreadyExistsError))
)
def test_topic_that_cannot_be_created_is_rejected(
    kafka: Kafka, name: str, error: type[KafkaError]
) -> None:
    kafka.create_topic("here")

    with pytest.raises(error):
        kafka.create_topic(name)


def test_advance_runs_retention(kafka: Kafka) -> None:
    kafka.create_topic("orders", retention_ms=6 * 86_400_000)
    produce(kafka, b"old")

    kafka.clock.advance(days=7)

    assert kafka.records("orders") == []


def test_advance_runs_the_cleaner(kafka: Kafka) -> None:
    kafka.create_topic("stock", cleanup_policy="compact", max_compaction_lag_ms=60_000)
    with cordwood.Producer(kafka.bootstrap) as producer:
        for key, value in ((b"beams", b"3"), (b"posts", b"5"), (b"beams", b"4")):
            producer.send("stock", value, key=key).result()
    before = values(kafka, "stock")

    kafka.clock.advance(hours=2)

    found = [(record.key, record.value, record.offset) for record in kafka.records("stock")]
    assert before == [b"3", b"5", b"4"]
    assert found == [(b"posts", b"5", 1), (b"beams", b"4", 2)]


def test_consumer_continues_over_compacted_records(kafka: Kafka) -> None:
    kafka.create_topic("stock", cleanup_policy="compact", max_compaction_lag_ms=60_000)
    with (
        cordwood.Producer(kafka.bootstrap) as producer,
        cordwood.Consumer(kafka.bootstrap) as consumer,
    ):
        for number in range(20):
            producer.send("stock", b"%d" % number, key=b"%d" % (number % 3)).result()
        kafka.clock.advance(hours=2)
        producer.send("stock", b"new", key=b"0").result()
        consumer.assign([("stock", 0)])
        consumer.seek_to_beginning()

        found: list[bytes | None] = []
        while b"new" not in found:
            found += [record.value for record in consumer.poll()]

    assert found == [b"17", b"18", b"19", b"new"]


def test_rewind_restores_records_and_time(kafka: Kafka) -> None:
    kafka.clock.freeze()
    produce(kafka, b"before")
    before, at = kafka.snapshot(), kafka.clock.now_ms()
    produce(kafka, b"after")
    kafka.create_topic("more")
    kafka.clock.advance(days=30)

    kafka.rewind(before)

    assert values(kafka) == [b"before"]
    assert kafka.clock.now_ms() == at
    with pytest.raises(UnknownTopicOrPartitionError):
        kafka.records("more")


def test_snapshot_can_be_restored_repeatedly(kafka: Kafka) -> None:
    kafka.create_topic("orders")
    empty = kafka.snapshot()

    for _ in range(3):
        produce(kafka, b"once more")
        kafka.rewind(empty)

    assert kafka.records("orders") == []


def test_clients_continue_at_the_same_address_after_a_rewind(kafka: Kafka) -> None:
    with cordwood.Producer(kafka.bootstrap) as producer:
        producer.send("orders", b"before").result()
        before = kafka.snapshot()
        producer.send("orders", b"lost").result()
        kafka.rewind(before)
        producer.send("orders", b"after").result()

    assert values(kafka) == [b"before", b"after"]


def test_producers_from_before_and_after_a_rewind_are_distinguished(
    kafka: Kafka,
) -> None:
    before = kafka.snapshot()
    with cordwood.Producer(kafka.bootstrap) as old:
        old.send("orders", b"lost").result()
        kafka.rewind(before)
        with cordwood.Producer(kafka.bootstrap) as new:
            for producer, value in ((new, b"1"), (old, b"2"), (new, b"3")):
                producer.send("orders", value).result()

    assert values(kafka) == [b"1", b"2", b"3"]


def test_rewind_keeps_where_logs_start(kafka: Kafka) -> None:
    produce(kafka, b"deleted", b"kept")
    with cordwood.Admin(kafka.bootstrap) as admin:
        admin.delete_records({("orders", 0): 1})

    kafka.rewind(kafka.snapshot())

    assert values(kafka) == [b"kept"]


def test_restart_keeps_everything(kafka: Kafka) -> None:
    address = kafka.bootstrap
    produce(kafka, b"kept")

    kafka.restart()

    assert values(kafka) == [b"kept"]
    assert kafka.bootstrap == address


@pytest.mark.kafka(auto_create=False, config={"num.partitions": "4"})
def test_mark_configures_the_broker(kafka: Kafka) -> None:
    with cordwood.Admin(kafka.bootstrap) as admin:
        admin.create_topic("orders")
        (topic,) = admin.describe_topics(["orders"])
        configs = admin.describe_configs(("broker", "1"))

    assert len(topic.partitions) == 4
    assert configs["auto.create.topics.enable"] == "false"


@pytest.mark.kafka(files="disk")
def test_mark_places_files_on_disk(kafka: Kafka) -> None:
    produce(kafka, b"on disk")
    kafka.restart()

    assert values(kafka) == [b"on disk"]
    with pytest.raises(ValueError, match="files in memory"):
        kafka.snapshot()
    with pytest.raises(ValueError, match="files in memory"):
        kafka.faults.on_disk()


def test_brokers_of_one_test_share_no_state(
    kafka: Kafka, kafka_broker: Callable[..., Kafka]
) -> None:
    other = kafka_broker(config={"num.partitions": "2"})

    produce(kafka, b"here")
    produce(other, b"there", b"there too")

    assert len(kafka.records("orders")) == 1
    assert len(other.records("orders")) == 2


def test_broker_rejects_an_unknown_setting() -> None:
    threads = threading.active_count()

    with pytest.raises(SettingError, match=r"num\.partitions"):
        Kafka.start(KafkaOptions(config={"num.partition": "1"}))
    assert threading.active_count() <= threads


def test_two_hundred_brokers_leak_no_descriptors_and_no_threads() -> None:
    gc.collect()
    before = (open_descriptors(), threading.active_count())

    for _ in range(200):
        kafka = Kafka.start(KafkaOptions())
        kafka.create_topic("orders")
        kafka.close()

    gc.collect()
    assert open_descriptors() <= before[0]
    assert threading.active_count() <= before[1]


def test_fixture_accepts_connections_within_the_descriptors_of_the_test_process() -> None:
    ports = asyncio.run(kafka_fixture._broker_ports(KafkaOptions()))  # noqa: SLF001 - not public

    assert ports.runtime.max_connections == DescriptorBudget.of_program().connections


def test_session_of_a_member_ends_when_the_clock_is_advanced(kafka: Kafka) -> None:
    """The first rebalance waits for 3 s, and a session for 45 s: both pass in no time."""
    kafka.create_topic("orders")

    def state(admin: cordwood.Admin) -> str:
        (group,) = admin.describe_groups(["readers"])
        return group.state

    with (
        cordwood.Consumer(kafka.bootstrap, group="readers", heartbeat_interval_ms=40_000) as reader,
        cordwood.Admin(kafka.bootstrap) as admin,
    ):
        reader.subscribe(["orders"])
        while not reader.assignment():
            reader.poll(10)
            kafka.clock.advance(seconds=3)
        before = state(admin)
        kafka.clock.advance(seconds=60)

        assert (before, state(admin)) == ("Stable", "Empty")


def test_broker_shows_its_address_and_its_topics(kafka: Kafka) -> None:
    kafka.create_topic("stock")
    kafka.create_topic("orders")

    assert repr(kafka) == f"<cordwood.testing.Kafka at {kafka.bootstrap}, topics orders, stock>"
    assert repr(kafka.clock).endswith(", running>")
    assert repr(kafka.faults) == "<BrokerFaults: none>"
    assert repr(kafka.faults.on("Produce", topic="orders")).startswith("<Produce of orders: not")


def test_broker_is_closed_by_its_block() -> None:
    with Kafka.start() as kafka:
        kafka.create_topic("orders")

    assert repr(kafka).endswith(", closed>")


def test_broker_on_disk_needs_a_place() -> None:
    with pytest.raises(ValueError, match="KafkaOptions\\(directory"):
        Kafka.start(KafkaOptions(files="disk"))
