"""Tests of the node of a topic; the contents were written by Kafka 3.9.1."""

import json

import pytest

from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.zookeeper.znodes.topic_znode import decode_topic_znode, encode_topic_znode
from cordwood.core.errors import DamagedFileError
from cordwood.core.uuids import parse_uuid

V3 = (
    b'{"partitions":{"0":[1,2],"1":[4,2,1]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","adding_replicas":'
    b'{"1":[4]},"removing_replicas":{"1":[1]},"version":3}'
)
WITHOUT_ID = (
    b'{"partitions":{"0":[1,2],"1":[4,2,1]},"adding_replicas":{"1":[4]},"removing_replicas":'
    b'{"1":[1]},"version":3}'
)
PARTITIONS = {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((4, 2, 1), (4,), (1,))}
TOPIC = StoredAssignment(parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ"), PARTITIONS)


@pytest.mark.parametrize(
    ("data", "topic"), ((V3, TOPIC), (WITHOUT_ID, StoredAssignment(None, PARTITIONS)))
)
def test_topic_is_read_and_written_as_by_kafka(data: bytes, topic: StoredAssignment) -> None:
    assert decode_topic_znode("t", data) == topic
    assert json.loads(encode_topic_znode(topic)) == json.loads(data)


def test_topic_of_version_1_has_replicas_alone() -> None:
    topic = decode_topic_znode("t", b'{"version":1,"partitions":{"0":[1,2]}}')

    assert topic == StoredAssignment(None, {0: ReplicaAssignment((1, 2))})


@pytest.mark.parametrize(
    "data",
    (
        b'{"version":3,"partitions":{"x":[1]}}',
        b'{"version":3,"partitions":{"0":1}}',
        b'{"version":3,"partitions":{},"topic_id":"short"}',
        b'{"version":3,"partitions":[]}',
    ),
)
def test_unusable_topic_is_an_error(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="/brokers/topics/t: "):
        decode_topic_znode("t", data)
