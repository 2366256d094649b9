"""Tests of listener settings."""

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.listeners import (
    ListenerEndpoint,
    Listeners,
    SecurityProtocol,
    is_wildcard,
    listeners_of,
)
from cordwood.core.errors import SettingError
from cordwood.core.settings import SettingSource

MAP = "listener.security.protocol.map"


def found(listeners: str, **more: str) -> Listeners:
    texts = {"listeners": listeners} | {key.replace("_", "."): text for key, text in more.items()}
    return listeners_of(BrokerConfigs(1, [SettingSource("x", texts)]))


def test_listener_has_name_place_and_protocol() -> None:
    (one,) = found("plaintext://127.0.0.1:0").listeners

    assert (one.name, one.host, one.port) == ("PLAINTEXT", "127.0.0.1", 0)
    assert (one.protocol, one.advertised) == (SecurityProtocol.PLAINTEXT, None)
    assert (one.is_secure, one.key_prefix) == (False, "listener.name.plaintext.")


def test_listener_of_another_name_has_the_protocol_of_the_map() -> None:
    given = found(
        "IN://[::1]:1, OUT://:2",
        listener_security_protocol_map="IN:PLAINTEXT,OUT:ssl",
        advertised_listeners="OUT://kafka.example:9093",
        inter_broker_listener_name="IN",
    )

    inside, outside = given.listeners
    assert (inside.host, inside.is_secure) == ("::1", False)
    assert outside.is_secure
    assert outside.advertised == ListenerEndpoint("OUT", "kafka.example", 9093)
    assert given.inter_broker == "IN"


def test_listener_between_brokers_is_the_first_of_their_protocol() -> None:
    assert found("SSL://:1,PLAINTEXT://:2").inter_broker == "PLAINTEXT"
    assert found("SSL://:1").inter_broker == "SSL"


def test_default_serves_this_machine_alone() -> None:
    (one,) = listeners_of(BrokerConfigs(1, [])).listeners

    assert (one.host, one.port) == ("127.0.0.1", 9092)


def test_empty_host_that_is_given_stands_for_every_address() -> None:
    (one,) = found("PLAINTEXT://:9092").listeners

    assert (one.host, one.port) == ("", 9092)
    assert is_wildcard(one.host)


def test_advertised_endpoint_of_the_default_listener_is_rejected() -> None:
    given = {"advertised.listeners": "PLAINTEXT://kafka.example:9092"}

    with pytest.raises(SettingError, match=r"without listeners.*; set listeners too"):
        listeners_of(BrokerConfigs(1, [SettingSource("test", given)]))


@pytest.mark.parametrize(
    ("listeners", "more", "told"),
    (
        ("", {}, "is empty"),
        ("127.0.0.1:9092", {}, "contains '127.0.0.1:9092'; give NAME://host:port"),
        ("PLAINTEXT://:70000", {}, "a port from 0 to 65535"),
        ("PLAINTEXT://:1,PLAINTEXT://:2", {}, "contains one listener name twice"),
        ("PLAINTEXT://:1,SSL://:1", {}, "has two listeners on one port"),
        ("SASL_SSL://:1", {}, "SASL_SSL, which is not supported; use PLAINTEXT, SSL"),
        ("IN://:1", {}, "has no protocol for listener IN; add IN:PLAINTEXT"),
        ("IN://:1", {"listener_security_protocol_map": "IN"}, "contains 'IN'; give NAME:PROTOCOL"),
        ("SSL://:1", {"advertised_listeners": "X://a:1"}, "contains X, which is not in listeners"),
        ("SSL://:1", {"advertised_listeners": "SSL://:1"}, "advertises SSL at every address"),
        ("SSL://:1", {"inter_broker_listener_name": "X"}, "is X, which is not in listeners"),
    ),
)
def test_invalid_listeners_are_rejected(listeners: str, more: dict[str, str], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        found(listeners, **more)
