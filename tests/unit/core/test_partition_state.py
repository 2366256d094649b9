"""Partition states have Kafka's JSON, with the log directory of the replica."""

import json

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.partition_state import (
    PartitionState,
    decode_state,
    encode_state,
    state_nodes,
)
from cordwood.core.uuids import Uuid, format_uuid

DIRECTORY = Uuid(bytes(range(16)))
PATH = "/brokers/topics/orders/partitions/0/state"


@pytest.mark.parametrize("directory", (None, DIRECTORY))
def test_state_survives_encoding(directory: Uuid | None) -> None:
    state = PartitionState(1, 7, (1, 2), directory)

    assert decode_state(encode_state(state), path=PATH) == state


def test_state_has_the_fields_of_kafka() -> None:
    content = json.loads(encode_state(PartitionState(1, 7, (1, 2), DIRECTORY)))

    assert content == {
        "version": 1,
        "leader": 1,
        "leader_epoch": 7,
        "controller_epoch": 0,
        "isr": [1, 2],
        "directory": format_uuid(DIRECTORY),
    }


def test_state_that_kafka_wrote_has_no_directory() -> None:
    data = b'{"controller_epoch":3,"leader":0,"version":1,"leader_epoch":2,"isr":[0,1]}'

    assert decode_state(data, path=PATH) == PartitionState(0, 2, (0, 1))


@pytest.mark.parametrize(
    "data", (b"", b"[]", b"{}", b'{"leader":1,"leader_epoch":null,"isr":[1]}', b'{"leader":1}')
)
def test_damaged_state_is_an_error_that_names_its_path(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match=r"orders/partitions/0/state.*restore the metadata"):
        decode_state(data, path=PATH)


def test_nodes_of_a_topic_begin_with_the_node_above_them() -> None:
    states = [PartitionState(1, 0, (1,))] * 2

    paths = [
        node.path.removeprefix("/brokers/topics/orders") for node in state_nodes("orders", states)
    ]

    assert paths == [
        "/partitions",
        "/partitions/0",
        "/partitions/0/state",
        "/partitions/1",
        "/partitions/1/state",
    ]
    later = state_nodes("orders", states, first=2)
    assert later[0].path.endswith("/partitions/2")
    assert len(later) == 4
