"""What a server is told by a broker's settings."""

from cordwood.broker.config_resources import ALL_BROKERS, Resource, ResourceType
from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.limits import ServerSettings
from cordwood.broker.listeners import listeners_of
from cordwood.broker.server_settings import live_server_settings, server_settings
from cordwood.core.settings import Source

LIMIT = "listener.name.plaintext.max.connections"


def test_server_is_told_the_defaults_where_nothing_is_given() -> None:
    configs = BrokerConfigs(1, [])

    assert server_settings(configs, listeners_of(configs).listeners) == ServerSettings()


def test_server_is_told_limits_of_listeners_and_addresses() -> None:
    texts = {LIMIT: "5", "max.connections.per.ip.overrides": "::1:7", "max.connections": "9"}
    configs = BrokerConfigs(1, [Source("x", {**texts, "queued.max.request.bytes": "1000"})])

    settings = server_settings(configs, listeners_of(configs).listeners)

    assert settings.max_connections_of_listener == {"PLAINTEXT": 5}
    assert settings.max_connections_per_ip_overrides == {"::1": 7}
    assert (settings.max_connections, settings.queued_max_bytes) == (9, 1000)


def test_server_is_told_of_changes_at_once() -> None:
    configs = BrokerConfigs(1, [])
    ask = live_server_settings(configs, listeners_of(configs).listeners)

    configs.apply(ALL_BROKERS, {"max.connections": "5"})
    configs.apply(Resource(ResourceType.BROKER, "1"), {LIMIT: "3"})

    assert ask().max_connections == 5
    assert ask().max_connections_of_listener == {"PLAINTEXT": 3}
