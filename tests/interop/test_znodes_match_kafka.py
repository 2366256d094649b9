"""Contents of nodes: Kafka 3.9.1 writes what we read, and reads what we write.

The values come from Kafka's own classes, and from a running broker in ZooKeeper mode.
"""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator

import pytest
from kazoo.client import KazooClient

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.zookeeper.znodes.broker_znode import (
    BrokerRegistration,
    VersionRange,
    decode_broker,
    encode_broker,
)
from cordwood.cluster.zookeeper.znodes.cluster_paths import CONFIG_TYPES, PERSISTENT
from cordwood.cluster.zookeeper.znodes.controller_znode import (
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)
from cordwood.cluster.zookeeper.znodes.event_znodes import (
    ConfigEntity,
    decode_cluster_id,
    decode_config_change,
    decode_log_dir_failure,
    encode_cluster_id,
    encode_config_change,
    encode_log_dir_failure,
)
from cordwood.cluster.zookeeper.znodes.partition_list_znodes import (
    decode_partitions,
    decode_reassignments,
    encode_partitions,
    encode_reassignments,
)
from cordwood.cluster.zookeeper.znodes.partition_state_znode import (
    decode_leadership,
    encode_leadership,
)
from cordwood.cluster.zookeeper.znodes.topic_znode import decode_topic_znode, encode_topic_znode
from cordwood.core.metadata_paths import decode_texts, encode_texts
from cordwood.core.producer_id_block import format_block, next_producer_id
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import parse_uuid
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.zookeepers import RunningZooKeeper

pytestmark = pytest.mark.timeout(600)

TOPIC = "orders.a-b_c"
PARTITION = TopicPartition(TopicName(TOPIC), PartitionId(3))
PLAIN = BrokerEndpoint("PLAINTEXT", "h4", 9092, 0)
INTERNAL = BrokerEndpoint("INTERNAL", "::1", 9093, 3)
ID = "AAAAAAAAAAAAAAAAAAAAAQ"
PARTITIONS = {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((4, 2, 1), (4,), (1,))}
STATE = Leadership(4, 9, (4, 2), controller_epoch=17)


def _broker(data: bytes) -> BrokerRegistration:
    return decode_broker(4, data)


def _leadership(data: bytes) -> Leadership:
    return decode_leadership(PARTITION, data, version=0)


def _old_broker(rack: str | None) -> BrokerRegistration:
    return BrokerRegistration(broker_id=4, endpoints=(PLAIN,), rack=rack, jmx_port=9999)


def _new_broker(**features: VersionRange) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=4,
        endpoints=(INTERNAL, PLAIN),
        rack="r1",
        jmx_port=9999,
        features=features,
    )


#: Kafka's contents by their names in the program, our decoders, and the values.
WRITTEN_BY_KAFKA: dict[str, tuple[Callable[[bytes], object], object]] = {
    "broker-1": (_broker, _old_broker(None)),
    "broker-2": (_broker, _old_broker(None)),
    "broker-3": (_broker, _old_broker("r1")),
    "broker-4": (_broker, _new_broker()),
    "broker-5": (_broker, _new_broker(f=VersionRange(1, 3))),
    "broker-without-plaintext": (
        _broker,
        BrokerRegistration(broker_id=4, endpoints=(BrokerEndpoint("SSL", "h4", 9093, 1),)),
    ),
    "controller": (decode_controller, 4),
    "controller-epoch": (decode_controller_epoch, 17),
    "topic": (
        lambda data: decode_topic_znode(TOPIC, data),
        StoredAssignment(parse_uuid(ID), PARTITIONS),
    ),
    "topic-without-id": (
        lambda data: decode_topic_znode(TOPIC, data),
        StoredAssignment(None, PARTITIONS),
    ),
    "state": (_leadership, STATE),
    "recovering": (_leadership, STATE._replace(is_recovering=True)),
    "isr-change": (lambda data: decode_partitions(data, path=""), (PARTITION,)),
    "log-dir-event": (lambda data: decode_log_dir_failure(data, path=""), 4),
    "election": (lambda data: decode_partitions(data, path=""), (PARTITION,)),
    "reassignment": (decode_reassignments, {PARTITION: (4, 2)}),
    "cluster-id": (decode_cluster_id, ID),
    "producer-ids": (next_producer_id, 6000),
    "config": (lambda data: decode_texts(data, path=""), {"retention.ms": "1000"}),
    "config-change": (
        lambda data: decode_config_change(data, path=""),
        (ConfigEntity("users", "a b"), ConfigEntity("clients", "")),
    ),
}

#: Our contents, by the names of Kafka's decoders in the program.
WRITTEN_BY_US: tuple[tuple[str, bytes], ...] = (
    ("broker", encode_broker(_new_broker(f=VersionRange(1, 3)))),
    ("broker", encode_broker(BrokerRegistration(broker_id=4, endpoints=(INTERNAL,)))),
    ("controller", encode_controller(4, timestamp_ms=1_700_000_000_000)),
    ("controller-epoch", encode_controller_epoch(17)),
    ("topic", encode_topic_znode(StoredAssignment(parse_uuid(ID), PARTITIONS))),
    ("topic", encode_topic_znode(StoredAssignment(None, PARTITIONS))),
    ("state", encode_leadership(STATE)),
    ("state", encode_leadership(STATE._replace(is_recovering=True))),
    ("isr-change", encode_partitions([PARTITION])),
    ("log-dir-event", encode_log_dir_failure(4)),
    ("election", encode_partitions([PARTITION])),
    ("reassignment", encode_reassignments({PARTITION: (4, 2)})),
    ("cluster-id", encode_cluster_id(ID)),
    ("producer-ids", format_block(range(5000, 6000), 4)),
    ("config", encode_texts({"retention.ms": "1000"})),
)


@pytest.fixture(scope="module")
def answers(kafka39_jars: Jars) -> list[tuple[str, bytes]]:
    """The contents that Kafka's classes write, then ours as they write them again."""
    questions = "".join(
        f"{name} {base64.b64encode(data).decode()}\n" for name, data in WRITTEN_BY_US
    )
    done = subprocess.run(
        kafka39_jars.command("ZooKeeperNodes"),
        input=questions,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ") for line in done.stdout.splitlines() if line]
    return [(name, base64.b64decode(data)) for name, data in lines]


def _without_time(data: bytes) -> object:
    content = json.loads(data)
    if isinstance(content, dict):
        content.pop("timestamp", None)
    return content


def test_we_read_what_the_classes_of_kafka_write(answers: list[tuple[str, bytes]]) -> None:
    written = dict(answers[: len(WRITTEN_BY_KAFKA)])

    assert written.keys() == WRITTEN_BY_KAFKA.keys()
    for name, (decode, value) in WRITTEN_BY_KAFKA.items():
        decoded = decode(written[name])
        if isinstance(decoded, BrokerRegistration):
            assert decoded.timestamp_ms > 0
            decoded = _untimed(decoded)
        assert decoded == value, name
    entities = (ConfigEntity("users", "a b"), ConfigEntity("clients", ""))
    assert encode_config_change(entities) == written["config-change"]


def _untimed(broker: BrokerRegistration) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=broker.broker_id,
        endpoints=broker.endpoints,
        rack=broker.rack,
        jmx_port=broker.jmx_port,
        features=broker.features,
    )


def test_the_classes_of_kafka_read_what_we_write(answers: list[tuple[str, bytes]]) -> None:
    rewritten = answers[len(WRITTEN_BY_KAFKA) :]

    assert [name for name, _ in rewritten] == [name for name, _ in WRITTEN_BY_US]
    for (name, ours), (_, theirs) in zip(WRITTEN_BY_US, rewritten, strict=True):
        assert _without_time(ours) == _without_time(theirs), name


@pytest.fixture
def tree(zookeeper: RunningZooKeeper, broker39: Broker) -> Iterator[KazooClient]:
    """The nodes of a running Kafka."""
    kazoo = KazooClient(f"{zookeeper.address}/kafka")
    kazoo.start()
    yield kazoo
    kazoo.stop()
    kazoo.close()


def test_running_kafka_has_the_persistent_nodes(tree: KazooClient) -> None:
    assert [path for path in PERSISTENT if tree.exists(path) is None] == []
    assert {*tree.get_children("/config")} == {*CONFIG_TYPES, "changes"}


def test_running_kafka_and_we_write_the_same_nodes(broker39: Broker, tree: KazooClient) -> None:
    broker39.create_topics({"znodes": {"retention.ms": "1000"}})
    partition = TopicPartition(TopicName("znodes"), PartitionId(0))

    registration = tree.get("/brokers/ids/1")[0]
    broker = decode_broker(1, registration)
    assert broker.rack == "r1"
    assert [each.listener for each in broker.endpoints] == ["PLAINTEXT"]
    assert json.loads(encode_broker(broker)) == json.loads(registration)

    controller = tree.get("/controller")[0]
    timestamp = int(json.loads(controller)["timestamp"])
    assert encode_controller(decode_controller(controller), timestamp_ms=timestamp) == controller
    epoch = tree.get("/controller_epoch")[0]
    assert encode_controller_epoch(decode_controller_epoch(epoch)) == epoch

    topic = tree.get("/brokers/topics/znodes")[0]
    stored = decode_topic_znode("znodes", topic)
    assert stored.topic_id is not None
    assert stored.partitions == {0: ReplicaAssignment((1,))}
    assert json.loads(encode_topic_znode(stored)) == json.loads(topic)

    data, stat = tree.get("/brokers/topics/znodes/partitions/0/state")
    leadership = decode_leadership(partition, data, version=stat.version)
    assert (leadership.leader, leadership.isr) == (1, (1,))
    assert json.loads(encode_leadership(leadership)) == json.loads(data)

    cluster = tree.get("/cluster/id")[0]
    assert encode_cluster_id(decode_cluster_id(cluster)) == cluster
    config = tree.get("/config/topics/znodes")[0]
    assert decode_texts(config, path="") == {"retention.ms": "1000"}
