"""Paths and contents of metadata nodes."""

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.metadata_paths import (
    ALL_BROKERS,
    BROKER,
    GROUP,
    TOPIC,
    config_path,
    decode_name,
    decode_texts,
    encode_name,
    encode_texts,
    topic_path,
)


def test_nodes_have_the_paths_of_kafka() -> None:
    assert topic_path("orders") == "/brokers/topics/orders"
    assert config_path(TOPIC, "orders") == "/config/topics/orders"
    assert config_path(BROKER, "1") == "/config/brokers/1"
    assert config_path(BROKER, ALL_BROKERS) == "/config/brokers/<default>"
    assert config_path(GROUP, "billing") == "/config/groups/billing"


@pytest.mark.parametrize(
    ("name", "node"),
    (
        ("a-Z.0_9", "a-Z.0_9"),
        ("a/b", "a%2Fb"),
        ("100%41", "100%2541"),
        ("é ~*+", "%C3%A9%20%7E%2A%2B"),
        ("<default>", "%3Cdefault%3E"),
    ),
)
def test_name_of_a_node_has_no_separators(name: str, node: str) -> None:
    assert encode_name(name) == node
    assert decode_name(node) == name


def test_texts_round_trip() -> None:
    kept = encode_texts({"retention.ms": "5"})

    assert kept == b'{"version":1,"config":{"retention.ms":"5"}}'
    assert decode_texts(kept, path="/x") == {"retention.ms": "5"}


@pytest.mark.parametrize("data", (b"", b"[]", b"{}", b'{"config":{"a":1}}', b"\xff"))
def test_invalid_configuration_is_rejected_with_its_path(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match=r"/config/topics/x: not a configuration"):
        decode_texts(data, path="/config/topics/x")
