"""Tests of the socket server's settings."""

import socket

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import ALL_BROKERS, ConfigResource
from cordwood.broker.config.listeners import listeners_of
from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.socket_server_settings import (
    live_server_settings,
    read_server_settings,
    server_listeners,
)
from cordwood.core.config_codes import ResourceType
from cordwood.core.settings import SettingSource
from tests.unit.broker.conftest import Identity

LIMIT = "listener.name.plaintext.max.connections"


def test_server_settings_are_the_defaults_if_none_is_set() -> None:
    configs = BrokerConfigs(1, [])

    assert read_server_settings(configs, listeners_of(configs).listeners) == SocketServerSettings()


def test_server_settings_have_limits_of_listeners_and_addresses() -> None:
    texts = {LIMIT: "5", "max.connections.per.ip.overrides": "::1:7", "max.connections": "9"}
    configs = BrokerConfigs(1, [SettingSource("x", {**texts, "queued.max.request.bytes": "1000"})])

    settings = read_server_settings(configs, listeners_of(configs).listeners)

    assert settings.max_connections_of_listener == {"PLAINTEXT": 5}
    assert settings.max_connections_per_ip_overrides == {"::1": 7}
    assert (settings.max_connections, settings.queued_max_bytes) == (9, 1000)


def test_server_settings_follow_changes_immediately() -> None:
    configs = BrokerConfigs(1, [])
    ask = live_server_settings(configs, listeners_of(configs).listeners)

    configs.apply(ALL_BROKERS, {"max.connections": "5"})
    configs.apply(ConfigResource(ResourceType.BROKER, "1"), {LIMIT: "3"})

    assert ask().max_connections == 5
    assert ask().max_connections_of_listener == {"PLAINTEXT": 3}


def test_buffer_sizes_default_to_those_of_the_system() -> None:
    configs = BrokerConfigs(1, [SettingSource("x", {"socket.send.buffer.bytes": "4096"})])

    settings = read_server_settings(configs, ())

    assert (settings.send_buffer_bytes, settings.receive_buffer_bytes) == (4096, -1)


def test_server_listeners_have_addresses_and_tls(identity: Identity) -> None:
    texts = {
        "listeners": "PLAINTEXT://:1,SSL://h:2",
        "socket.listen.backlog.size": "7",
        "listener.name.ssl.ssl.keystore.key": identity.key,
        "listener.name.ssl.ssl.keystore.certificate.chain": identity.certificate,
    }
    configs = BrokerConfigs(1, [SettingSource("x", texts)])

    plain, secure = server_listeners(configs, listeners_of(configs).listeners)

    assert (plain.name, plain.host, plain.port, plain.backlog) == ("PLAINTEXT", "", 1, 7)
    assert (plain.tls is None, secure.tls is None) == (True, False)


def test_backlog_is_as_long_as_the_system_allows_unless_it_is_set() -> None:
    configs = BrokerConfigs(1, [])

    (listener,) = server_listeners(configs, listeners_of(configs).listeners)

    assert listener.backlog == socket.SOMAXCONN
