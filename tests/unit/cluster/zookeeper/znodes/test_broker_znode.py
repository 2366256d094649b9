"""Tests of the registration of a broker; the contents were written by Kafka 3.9.1."""

import json

import pytest

from cordwood.cluster.controller.context.live_broker import BrokerEndpoint, LiveBroker
from cordwood.cluster.zookeeper.znodes.broker_znode import (
    BrokerRegistration,
    VersionRange,
    decode_broker,
    encode_broker,
)
from cordwood.core.errors import DamagedFileError

PLAIN = BrokerEndpoint("PLAINTEXT", "h4", 9092, 0)
INTERNAL = BrokerEndpoint("INTERNAL", "::1", 9093, 3)
V1 = b'{"jmx_port":9999,"port":9092,"host":"h4","version":1,"timestamp":"1795806252960"}'
V2 = (
    b'{"endpoints":["PLAINTEXT://h4:9092"],"jmx_port":9999,"port":9092,"host":"h4","version":2,'
    b'"timestamp":"1795806253352"}'
)
V3 = (
    b'{"endpoints":["PLAINTEXT://h4:9092"],"rack":"r1","jmx_port":9999,"port":9092,"host":"h4",'
    b'"version":3,"timestamp":"1795806253353"}'
)
V4 = (
    b'{"listener_security_protocol_map":{"INTERNAL":"SASL_SSL","PLAINTEXT":"PLAINTEXT"},"endpoints"'
    b':["INTERNAL://[::1]:9093","PLAINTEXT://h4:9092"],"rack":"r1","jmx_port":9999,"port":9092,'
    b'"host":"h4","version":4,"timestamp":"1795806253353"}'
)
V5 = (
    b'{"features":{"f":{"min_version":1,"max_version":3}},"listener_security_protocol_map":'
    b'{"INTERNAL":"SASL_SSL","PLAINTEXT":"PLAINTEXT"},"endpoints":["INTERNAL://[::1]:9093",'
    b'"PLAINTEXT://h4:9092"],"rack":"r1","jmx_port":9999,"port":9092,"host":"h4","version":5,'
    b'"timestamp":"1795806253362"}'
)
NO_PLAINTEXT = (
    b'{"features":{},"listener_security_protocol_map":{"SSL":"SSL"},"endpoints":["SSL://h4:9093"],'
    b'"jmx_port":-1,"port":-1,"host":null,"version":5,"timestamp":"1795806253383"}'
)


@pytest.mark.parametrize(
    ("data", "endpoints", "rack"),
    (
        (V1, (PLAIN,), None),
        (V2, (PLAIN,), None),
        (V3, (PLAIN,), "r1"),
        (V4, (INTERNAL, PLAIN), "r1"),
        (V5, (INTERNAL, PLAIN), "r1"),
        (NO_PLAINTEXT, (BrokerEndpoint("SSL", "h4", 9093, 1),), None),
    ),
)
def test_every_version_is_read(
    data: bytes, endpoints: tuple[BrokerEndpoint, ...], rack: str | None
) -> None:
    broker = decode_broker(4, data)

    assert (broker.broker_id, broker.endpoints, broker.rack) == (4, endpoints, rack)
    assert str(broker.timestamp_ms) == json.loads(data)["timestamp"]


def test_features_and_jmx_port_are_read() -> None:
    broker = decode_broker(4, V5)

    assert broker.features == {"f": VersionRange(1, 3)}
    assert broker.jmx_port == 9999


@pytest.mark.parametrize("data", (V5, NO_PLAINTEXT))
def test_version_5_is_written_as_by_kafka(data: bytes) -> None:
    assert json.loads(encode_broker(decode_broker(4, data))) == json.loads(data)


def test_old_registration_is_written_as_version_5() -> None:
    again = decode_broker(4, encode_broker(decode_broker(4, V1)))

    assert again == decode_broker(4, V1)


def test_listener_names_are_in_upper_case() -> None:
    data = b'{"version":2,"endpoints":["ssl://h:1"],"jmx_port":-1,"timestamp":"1"}'

    assert decode_broker(1, data).endpoints == (BrokerEndpoint("SSL", "h", 1, 1),)


@pytest.mark.parametrize(
    "data",
    (
        b'{"version":0}',
        b'{"version":1,"host":null,"port":1}',
        b'{"version":5}',
        b'{"version":5,"endpoints":"PLAINTEXT://h:1"}',
        b'{"version":5,"endpoints":["h:1"]}',
        b'{"version":5,"endpoints":["NAME://h:1"]}',
        b'{"version":5,"endpoints":[],"rack":7}',
        b'{"version":5,"endpoints":[],"features":{"f":1}}',
    ),
)
def test_unusable_registration_is_an_error(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="/brokers/ids/4"):
        decode_broker(4, data)


def test_live_broker_has_the_epoch_of_the_registration() -> None:
    broker = BrokerRegistration(broker_id=4, endpoints=(PLAIN,), rack="r1")

    assert broker.live(77) == LiveBroker(4, 77, (PLAIN,), "r1")
