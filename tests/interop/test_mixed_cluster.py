"""A broker of ours in a cluster of Kafka 3.9.1 with ZooKeeper: it follows, leads and controls.

The cluster has two brokers, Kafka's with the id 1 and ours with the id 2.
"""

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import confluent_kafka
import pytest

import cordwood
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.interop.kafka_harness.brokers import Broker, running
from tests.interop.kafka_harness.client_tools import TOOLS, ToolsClient
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.patience import wait_for_result
from tests.interop.kafka_harness.wire import Connection
from tests.interop.kafka_harness.zookeepers import RunningZooKeeper, kafka39_in
from tests.robustness.ledger import Ledgers
from tests.robustness.partitions import WINDOW, read_all
from tests.robustness.producing import SENDERS, producing
from tests.serving import CORDWOOD, Serving, ended_with

pytestmark = pytest.mark.timeout(600)

KAFKA: Final = 1
OURS: Final = 2
TOPIC: Final = TopicName("orders")
PARTITIONS: Final = 2
NAMES: Final = [TopicPartition(TOPIC, PartitionId(each)) for each in range(PARTITIONS)]


class State(NamedTuple):
    """A partition as a broker describes it."""

    leader: int
    replicas: set[int]
    in_sync: set[int]


class MixedCluster(NamedTuple):
    """Kafka's broker, which is the first controller, and ours."""

    kafka: Broker
    ours: Serving

    @property
    def bootstrap(self) -> str:
        return f"{self.kafka.bootstrap},{self.ours.address}"

    def create_topic(self, *assignments: list[int]) -> None:
        with cordwood.Admin(self.bootstrap) as admin:
            admin.create_topic(TOPIC, assignments=dict(enumerate(assignments)))

    def states(self, bootstrap: str) -> list[State]:
        with cordwood.Admin(bootstrap) as admin:
            (topic,) = admin.describe_topics([TOPIC])
        return [State(each.leader, {*each.replicas}, {*each.in_sync}) for each in topic.partitions]

    def in_sync(self, bootstrap: str) -> list[set[int]]:
        return [each.in_sync for each in self.states(bootstrap)]

    def produce(self, *values: bytes) -> None:
        with cordwood.Producer(self.bootstrap, acks="all") as producer:
            for value in values:
                for partition in range(PARTITIONS):
                    producer.send(TOPIC, value, partition=partition)

    def controller(self) -> int:
        with cordwood.Admin(self.bootstrap) as admin:
            return admin.describe_cluster().controller_id


def brokers(bootstrap: str) -> set[int]:
    """Return the brokers that a broker knows, which can serve before the controller knows it."""
    with cordwood.Admin(bootstrap) as admin:
        return {each.node_id for each in admin.describe_cluster().brokers}


def values_of(bootstrap: str, partition: int) -> list[bytes | None]:
    with cordwood.Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(TOPIC, partition)])
        (end,) = consumer.end_offsets([(TOPIC, partition)]).values()
        found = list[bytes | None]()
        while len(found) < end:
            found += [each.value for each in consumer.poll()]
    return found


@pytest.fixture
def mixed(
    zookeeper: RunningZooKeeper, kafka39_jars: Jars, kafka39: Oracle, tmp_path: Path
) -> Iterator[MixedCluster]:
    """Run a cluster of two brokers below a root of its own in ZooKeeper."""
    root, kafka_folder, own = f"/{tmp_path.name}", tmp_path / "kafka", tmp_path / "ours"
    kafka_folder.mkdir()
    own.mkdir()
    kafka = kafka39_in(zookeeper, root, jars=kafka39_jars, folder=kafka_folder, oracle=kafka39)
    with (kafka_folder / "server.properties").open("a") as lines:
        lines.write("transaction.state.log.num.partitions=2\n")
    settings = {
        "zookeeper.connect": f"{zookeeper.address}{root}",
        "zookeeper.session.timeout.ms": "6000",
        "node.id": str(OURS),
        "broker.rack": "r2",
        "replica.lag.time.max.ms": "3000",
        "replica.fetch.backoff.ms": "200",
        "offsets.topic.replication.factor": "2",
        "transaction.state.log.num.partitions": "2",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    with running(kafka), ended_with(Serving(own, settings, program=CORDWOOD)) as ours:
        ours.start()
        for bootstrap in (kafka.bootstrap, ours.address):
            wait_for_result(partial(brokers, bootstrap), {KAFKA, OURS})
        yield MixedCluster(kafka, ours)


def test_each_broker_follows_and_leads_the_other(mixed: MixedCluster) -> None:
    mixed.create_topic([KAFKA, OURS], [OURS, KAFKA])
    both = [State(KAFKA, {1, 2}, {1, 2}), State(OURS, {1, 2}, {1, 2})]
    for bootstrap in (mixed.kafka.bootstrap, mixed.ours.address):
        wait_for_result(partial(mixed.states, bootstrap), both)
    mixed.produce(b"a", b"b")

    assert mixed.ours.stop() == 0

    wait_for_result(
        lambda: mixed.states(mixed.kafka.bootstrap), [State(KAFKA, {1, 2}, {KAFKA})] * 2
    )
    mixed.produce(b"c")
    mixed.ours.start()
    wait_for_result(partial(mixed.in_sync, mixed.ours.address), [{1, 2}] * 2)
    mixed.kafka.stop()
    wait_for_result(lambda: mixed.states(mixed.ours.address), [State(OURS, {1, 2}, {OURS})] * 2)
    assert (
        values_of(mixed.ours.address, 0) == values_of(mixed.ours.address, 1) == [b"a", b"b", b"c"]
    )


def test_our_controller_takes_over_and_kafka_returns_as_its_broker(mixed: MixedCluster) -> None:
    mixed.create_topic([KAFKA, OURS], [OURS, KAFKA])
    mixed.produce(b"a")
    assert mixed.controller() == KAFKA

    mixed.kafka.kill()

    wait_for_result(lambda: [each.leader for each in mixed.states(mixed.ours.address)], [OURS] * 2)
    wait_for_result(mixed.controller, OURS)
    mixed.produce(b"b")
    mixed.kafka.start()
    for bootstrap in (mixed.kafka.bootstrap, mixed.ours.address):
        wait_for_result(partial(mixed.in_sync, bootstrap), [{1, 2}] * 2)
    mixed.produce(b"c")
    assert mixed.ours.stop() == 0
    wait_for_result(
        lambda: [each.leader for each in mixed.states(mixed.kafka.bootstrap)], [KAFKA] * 2
    )
    assert values_of(mixed.kafka.bootstrap, 0) == [b"a", b"b", b"c"]
    assert values_of(mixed.kafka.bootstrap, 1) == [b"a", b"b", b"c"]


def test_topic_moves_to_our_broker_and_back_under_load(mixed: MixedCluster) -> None:
    mixed.create_topic([KAFKA], [KAFKA])
    ledgers = Ledgers(NAMES, window=WINDOW)
    with producing(SENDERS["own"](mixed.bootstrap), ledgers, random.Random(1)):
        for target in (OURS, KAFKA):
            assert ledgers.wait_for(ledgers.acknowledged + 2_000, 60)
            reassign(mixed.kafka.bootstrap, target)
            moved = [State(target, {target}, {target})] * PARTITIONS
            wait_for_result(lambda: mixed.states(mixed.bootstrap), moved)
        assert ledgers.wait_for(ledgers.acknowledged + 2_000, 60)
    faults = [
        f"{partition}: {fault}"
        for partition, ledger in ledgers.of.items()
        for fault in ledger.compare(read_all(mixed.bootstrap, partition))
    ]

    assert faults == []
    assert not any(ledger.given_up for ledger in ledgers.of.values())


def test_transactions_are_atomic_at_either_coordinator(
    mixed: MixedCluster, kafka43_jars: Jars, tmp_path: Path
) -> None:
    mixed.create_topic([KAFKA, OURS], [OURS, KAFKA])
    wait_for_result(partial(mixed.in_sync, mixed.bootstrap), [{1, 2}] * 2)
    tools = ToolsClient(mixed.bootstrap, kafka43_jars, tmp_path)
    ids = transactional_ids(mixed.bootstrap)
    for coordinator, transactional_id in ids.items():
        name = str(coordinator).encode()
        commit_and_abort(mixed.bootstrap, transactional_id, name)
        commit_and_abort_by_librdkafka(mixed.bootstrap, transactional_id, b"rdkafka " + name)
        tools.run(
            f"{TOOLS}ProducerPerformance",
            f"--topic={TOPIC}",
            "--num-records=200",
            "--record-size=100",
            "--throughput=-1",
            f"--transactional-id={transactional_id}",
            "--transaction-duration-ms=20",
            "--command-property",
            "acks=all",
        )

    assert {*ids} == {KAFKA, OURS}
    for bootstrap in (mixed.kafka.bootstrap, mixed.ours.address):
        found = [value for number in range(PARTITIONS) for value in committed(bootstrap, number)]
        own = sorted(value for value in found if value is not None and len(value) < 100)
        assert own == sorted([b"1", b"2", b"rdkafka 1", b"rdkafka 2"] * PARTITIONS)
        assert len(found) - len(own) == 2 * 200


def transactional_ids(bootstrap: str) -> dict[int, str]:
    """Return a transactional id for each coordinator."""
    found = dict[int, str]()
    for number in range(40):
        name = f"t{number}"
        request = FindCoordinatorRequest(key=name, key_type=1)

        def coordinator(request: FindCoordinatorRequest = request) -> tuple[int, int]:
            with Connection(bootstrap.split(",", maxsplit=1)[0]) as connection:
                answer = connection.ask(request, 3, answer=FindCoordinatorResponse)
            return answer.error_code, answer.node_id

        wait_for_result(lambda: coordinator()[0], 0)
        found.setdefault(coordinator()[1], name)
    return found


def commit_and_abort(bootstrap: str, transactional_id: str, value: bytes) -> None:
    with cordwood.Producer(bootstrap, acks="all", transactional_id=transactional_id) as producer:
        for word, is_committed in ((b"aborted", False), (value, True)):
            producer.begin()
            for number in range(PARTITIONS):
                producer.send(TOPIC, word, partition=number)
            if is_committed:
                producer.commit()
            else:
                producer.flush()
                producer.abort()


def commit_and_abort_by_librdkafka(bootstrap: str, transactional_id: str, value: bytes) -> None:
    config = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id}
    producer = confluent_kafka.Producer(config)
    producer.init_transactions(30)
    for word, is_committed in ((b"aborted", False), (value, True)):
        producer.begin_transaction()
        for number in range(PARTITIONS):
            producer.produce(TOPIC, word, partition=number)
        if is_committed:
            producer.commit_transaction(30)
        else:
            producer.flush(30)
            producer.abort_transaction(30)


def committed(bootstrap: str, partition: int) -> list[bytes | None]:
    """Return the committed values of a partition."""
    with cordwood.Consumer(
        bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        consumer.assign([(TOPIC, partition)])
        (end,) = consumer.end_offsets([(TOPIC, partition)]).values()
        found = list[bytes | None]()
        while consumer.position((TOPIC, partition)) < end:
            found += [each.value for each in consumer.poll(1_000)]
    return found


def reassign(bootstrap: str, target: int) -> None:
    """Move all partitions of the topic to a broker, by a request to the controller."""
    partitions = [
        ReassignablePartition(partition_index=each, replicas=[target]) for each in range(PARTITIONS)
    ]
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=TOPIC, partitions=partitions)]
    )
    with Connection(bootstrap) as connection:
        response = connection.ask(request, 0, answer=AlterPartitionReassignmentsResponse)
    codes = [each.error_code for topic in response.responses for each in topic.partitions]
    assert (response.error_code, codes) == (0, [0] * PARTITIONS)
