"""Tests of the stored form of topics."""

import pytest

from cordwood.broker.metadata.topic_znodes import StoredTopic, decode_topic, encode_topic, folders
from cordwood.core.errors import DamagedFileError
from cordwood.core.metadata_paths import topic_path
from cordwood.core.uuids import Uuid
from cordwood.core.znodes import CreateZNode
from cordwood.testing.memory_metadata import MemoryMetadata

TOPIC = StoredTopic(Uuid(bytes(range(16))), [(1, 2), (2, 1)])
DATA = (
    b'{"version":3,"topic_id":"AAECAwQFBgcICQoLDA0ODw","partitions":{"0":[1,2],"1":[2,1]},'
    b'"adding_replicas":{},"removing_replicas":{}}'
)


def test_topic_is_encoded_as_in_kafka() -> None:
    assert encode_topic(TOPIC) == DATA


def test_encoded_topic_is_decoded() -> None:
    assert decode_topic(DATA, path="/p") == TOPIC


@pytest.mark.parametrize(
    "data",
    (
        b"",
        b"[]",
        b"{}",
        DATA.replace(b'"0"', b'"7"'),
        DATA.replace(b"AAEC", b"!"),
        DATA.replace(b"[1,2]", b"1"),
    ),
)
def test_invalid_topic_node_is_rejected(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="/brokers/topics/x: not a topic"):
        decode_topic(data, path=topic_path("x"))


def test_topics_find_their_place_in_a_new_store() -> None:
    store = MemoryMetadata()

    store.multi([*folders(), CreateZNode(topic_path("orders"), DATA)])

    assert store.children("/brokers/topics") == ["orders"]
