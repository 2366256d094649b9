"""Paths and contents of metadata nodes."""

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.metadata_paths import (
    ALL_BROKERS,
    BROKER,
    TOPIC,
    config_path,
    decode_texts,
    encode_texts,
    topic_path,
)


def test_nodes_have_the_paths_of_kafka() -> None:
    assert topic_path("orders") == "/brokers/topics/orders"
    assert config_path(TOPIC, "orders") == "/config/topics/orders"
    assert config_path(BROKER, "1") == "/config/brokers/1"
    assert config_path(BROKER, ALL_BROKERS) == "/config/brokers/<default>"


def test_texts_round_trip() -> None:
    kept = encode_texts({"retention.ms": "5"})

    assert kept == b'{"version":1,"config":{"retention.ms":"5"}}'
    assert decode_texts(kept, path="/x") == {"retention.ms": "5"}


@pytest.mark.parametrize("data", (b"", b"[]", b"{}", b'{"config":{"a":1}}', b"\xff"))
def test_invalid_configuration_is_rejected_with_its_path(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match=r"/config/topics/x: not a configuration"):
        decode_texts(data, path="/config/topics/x")
