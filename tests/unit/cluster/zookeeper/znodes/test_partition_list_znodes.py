"""Tests of lists of partitions in nodes; the contents were written by Kafka 3.9.1."""

import pytest

from cordwood.cluster.zookeeper.znodes.partition_list_znodes import (
    decode_partitions,
    decode_reassignments,
    encode_partitions,
    encode_reassignments,
)
from cordwood.core.errors import DamagedFileError
from cordwood.core.types import PartitionId, TopicName, TopicPartition

PARTITION = TopicPartition(TopicName("orders.a-b_c"), PartitionId(3))
LIST = b'{"version":1,"partitions":[{"topic":"orders.a-b_c","partition":3}]}'
REASSIGNMENTS = (
    b'{"version":1,"partitions":[{"topic":"orders.a-b_c","partition":3,"replicas":[4,2]}]}'
)


def test_partitions_are_read_and_written_as_by_kafka() -> None:
    assert decode_partitions(LIST, path="/a") == (PARTITION,)
    assert encode_partitions([PARTITION]) == LIST


def test_reassignments_are_read_and_written_as_by_kafka() -> None:
    assert decode_reassignments(REASSIGNMENTS) == {PARTITION: (4, 2)}
    assert encode_reassignments({PARTITION: (4, 2)}) == REASSIGNMENTS


@pytest.mark.parametrize("entry", (b"{}", b'{"topic":1,"partition":1}', b"1"))
def test_unusable_list_is_an_error(entry: bytes) -> None:
    data = b'{"version":1,"partitions":[' + entry + b"]}"

    with pytest.raises(DamagedFileError, match="/a: "):
        decode_partitions(data, path="/a")
    with pytest.raises(DamagedFileError, match="/admin/reassign_partitions: "):
        decode_reassignments(data)
