"""Where a configuration is kept, and in which words."""

import pytest

from cordwood.broker.config_resources import (
    ALL_BROKERS,
    ResourceType,
    decode_texts,
    encode_texts,
    resource_asked_for,
    topic_resource,
)
from cordwood.core.errors import DamagedFileError


def test_resource_is_kept_where_kafka_kept_it() -> None:
    assert topic_resource("orders").path == "/config/topics/orders"
    assert resource_asked_for(4, "1", node_id=1).path == "/config/brokers/1"
    assert ALL_BROKERS.path == "/config/brokers/<default>"


def test_resource_of_loggers_is_this_broker_s() -> None:
    assert resource_asked_for(8, "1", node_id=1).type is ResourceType.BROKER_LOGGER


def test_texts_come_back_as_they_were_kept() -> None:
    kept = encode_texts({"retention.ms": "5"})

    assert kept == b'{"version":1,"config":{"retention.ms":"5"}}'
    assert decode_texts(kept, path="/x") == {"retention.ms": "5"}


@pytest.mark.parametrize("data", (b"", b"[]", b"{}", b'{"config":{"a":1}}', b"\xff"))
def test_what_is_no_configuration_is_refused_by_its_path(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match=r"/config/topics/x: this is no configuration"):
        decode_texts(data, path="/config/topics/x")
