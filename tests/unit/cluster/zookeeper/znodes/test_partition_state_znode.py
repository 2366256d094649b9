"""Tests of the node of a partition's state; the contents were written by Kafka 3.9.1."""

import json

import pytest

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.zookeeper.znodes.partition_state_znode import (
    decode_leadership,
    encode_leadership,
)
from cordwood.core.errors import DamagedFileError
from cordwood.core.partition_state import PartitionState, encode_state
from cordwood.core.types import PartitionId, TopicName, TopicPartition

PARTITION = TopicPartition(TopicName("t"), PartitionId(3))
RECOVERED = b'{"controller_epoch":17,"leader":4,"version":1,"leader_epoch":9,"isr":[4,2]}'
RECOVERING = (
    b'{"controller_epoch":17,"leader":4,"version":1,"leader_recovery_state":1,"leader_epoch":9,'
    b'"isr":[4,2]}'
)


@pytest.mark.parametrize(("data", "is_recovering"), ((RECOVERED, False), (RECOVERING, True)))
def test_leadership_is_read_and_written_as_by_kafka(data: bytes, *, is_recovering: bool) -> None:
    leadership = decode_leadership(PARTITION, data, version=5)

    assert leadership == Leadership(4, 9, (4, 2), is_recovering, 5, 17)
    assert json.loads(encode_leadership(leadership)) == json.loads(data)


def test_state_of_a_broker_without_a_cluster_is_read() -> None:
    data = encode_state(PartitionState(1, 3, (1,)))

    assert decode_leadership(PARTITION, data, version=0) == Leadership(1, 3, (1,))


@pytest.mark.parametrize("data", (b"{}", b'{"leader":1,"leader_epoch":0,"isr":[1]}', b"null"))
def test_unusable_state_is_an_error(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="/brokers/topics/t/partitions/3/state: "):
        decode_leadership(PARTITION, data, version=0)
