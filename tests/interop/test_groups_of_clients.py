"""Groups and transactions of unmodified clients on our broker."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Final, Protocol

import pytest

import cordwood
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.installed import peer
from tests.interop.kafka_harness.patience import PATIENCE_S

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

confluent_kafka = peer("confluent_kafka")

PARTITIONS: Final = 4
RECORDS: Final = 40
#: Far below the 45 s for which close() waited for a coordinator.
SOON_S: Final = 5


class Message(Protocol):
    """The part of a message of librdkafka that is used here."""

    def value(self) -> bytes: ...

    def error(self) -> object: ...


class Position(Protocol):
    """The part of librdkafka's partition that is used here."""

    @property
    def offset(self) -> int: ...


class GroupMember(Protocol):
    """The part of librdkafka's consumer that is used here."""

    def subscribe(self, topics: list[str]) -> None: ...

    def assign(self, partitions: list[Position]) -> None: ...

    def assignment(self) -> list[Position]: ...

    def position(self, partitions: list[Position]) -> list[Position]: ...

    def committed(self, partitions: list[Position], timeout: float) -> list[Position]: ...

    def consumer_group_metadata(self) -> object: ...

    def poll(self, timeout: float) -> Message | None: ...

    def commit(self, *, asynchronous: bool) -> object: ...

    def close(self) -> None: ...


@pytest.fixture
def topic(our_broker: Broker, request: pytest.FixtureRequest) -> str:
    """A topic with records, named by the test."""
    name: str = request.node.name.replace("[", "-").replace("]", "")
    create(our_broker, name, PARTITIONS)
    producer = confluent_kafka.Producer({"bootstrap.servers": our_broker.bootstrap})
    for number in range(RECORDS):
        producer.produce(name, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
    return name


def create(broker: Broker, topic: str, partitions: int) -> None:
    with cordwood.Admin(broker.bootstrap) as admin:
        admin.create_topic(topic, partitions=partitions)


def consumer_of(broker: Broker, group: str, **settings: object) -> GroupMember:
    given = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }
    made: GroupMember = confluent_kafka.Consumer(given | settings)
    return made


def polled(consumer: GroupMember, count: int) -> Iterator[bytes]:
    """Yield the values of records."""
    for _ in range(count):
        message = consumer.poll(PATIENCE_S)
        assert message is not None, "no record arrived"
        assert message.error() is None, message.error()
        yield message.value()


def share(members: list[GroupMember]) -> None:
    """Poll two members until each has two partitions, and all records have been read."""
    end, seen = time.monotonic() + PATIENCE_S, set[bytes]()
    while [len(each.assignment()) for each in members] != [2, 2] or len(seen) < RECORDS:
        assert time.monotonic() < end, [each.assignment() for each in members]
        messages = [each.poll(0.1) for each in members]
        seen |= {each.value() for each in messages if each is not None and each.error() is None}


@pytest.mark.parametrize("protocol", ("classic", "consumer"))
def test_members_share_the_partitions_and_commit_what_they_have_read(
    our_broker: Broker, topic: str, protocol: str
) -> None:
    settings = {"group.protocol": protocol, "enable.auto.commit": True}
    with ExitStack() as stack:
        members = [
            stack.enter_context(closing(consumer_of(our_broker, topic, **settings)))
            for _ in range(2)
        ]
        for each in members:
            each.subscribe([topic])
        share(members)
    with closing(consumer_of(our_broker, topic)) as reader:
        asked = [confluent_kafka.TopicPartition(topic, each) for each in range(PARTITIONS)]
        committed = [each.offset for each in reader.committed(asked, timeout=PATIENCE_S)]

    assert committed == [RECORDS // PARTITIONS] * PARTITIONS


def test_consumer_by_assignment_closes_at_once_and_reads_from_the_committed_offset(
    our_broker: Broker, topic: str
) -> None:
    with closing(consumer_of(our_broker, topic)) as first:
        first.assign([confluent_kafka.TopicPartition(topic, 0)])
        [*polled(first, 3)]
        first.commit(asynchronous=False)
    second = consumer_of(our_broker, topic)
    second.assign([confluent_kafka.TopicPartition(topic, 0)])
    (value,) = polled(second, 1)
    began = time.monotonic()
    second.close()

    assert value == b"12"
    assert time.monotonic() - began < SOON_S


def test_consumer_with_all_defaults_reassigns_and_closes_at_once(
    our_broker: Broker, topic: str
) -> None:
    settings = {"bootstrap.servers": our_broker.bootstrap, "group.id": topic}
    consumer: GroupMember = confluent_kafka.Consumer(settings)
    values: list[bytes] = []
    began = time.monotonic()
    for partition in (0, 1):
        consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0)])
        values += polled(consumer, 1)
    consumer.close()

    assert values == [b"0", b"1"]
    assert time.monotonic() - began < SOON_S


def test_kcat_consumes_as_a_member_of_a_group(our_broker: Broker, topic: str) -> None:
    assert shutil.which("kcat"), "kcat is not installed; run scripts/setup-interop"
    command = ["kcat", "-b", our_broker.bootstrap, "-q", "-X", "auto.offset.reset=earliest"]
    command += ["-c", str(RECORDS), "-G", topic, topic]

    done = subprocess.run(command, capture_output=True, timeout=60, check=True)

    assert sorted(map(int, done.stdout.split())) == [*range(RECORDS)]


def test_transaction_moves_records_and_offsets_together(our_broker: Broker, topic: str) -> None:
    output = f"{topic}-output"
    create(our_broker, output, 1)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": our_broker.bootstrap, "transactional.id": topic}
    )
    producer.init_transactions(PATIENCE_S)
    with closing(consumer_of(our_broker, topic)) as reader:
        reader.subscribe([topic])
        for ends in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            for value in polled(reader, RECORDS // 2):
                producer.produce(output, value)
            positions = reader.position(reader.assignment())
            metadata = reader.consumer_group_metadata()
            producer.send_offsets_to_transaction(positions, metadata, PATIENCE_S)
            ends(PATIENCE_S)
        committed = reader.committed(reader.assignment(), timeout=PATIENCE_S)
    with closing(consumer_of(our_broker, output)) as check:
        check.assign([confluent_kafka.TopicPartition(output, 0, 0)])
        found = [*polled(check, RECORDS // 2)]
        assert check.poll(1) is None

    assert len(set(found)) == RECORDS // 2
    assert sum(each.offset for each in committed) == RECORDS
