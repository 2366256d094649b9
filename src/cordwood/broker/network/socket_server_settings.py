"""Socket server settings of a broker: its listeners, and its limits, which may change."""

import socket
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.listeners import ListenerSettings
from cordwood.broker.network.acceptor import Listener
from cordwood.broker.network.connection_quotas import DEFAULT_QUEUED_BYTES, SocketServerSettings
from cordwood.broker.network.tls import ListenerTls
from cordwood.broker.settings.sockets import numbers_by_address
from cordwood.core.binary import INT32_MAX

_DYNAMIC: Final = ("max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides")


def read_server_settings(
    configs: BrokerConfigs,
    listeners: Sequence[ListenerSettings],
    *,
    capacity: int = INT32_MAX,
) -> SocketServerSettings:
    """Return the current settings; a listener's limit exists only under its own prefix."""
    queued_bytes = configs.integer("queued.max.request.bytes")
    overrides = numbers_by_address(configs.text("max.connections.per.ip.overrides"))
    keys = {each.name: f"{each.key_prefix}max.connections" for each in listeners}
    of_listener = {
        name: configs.integer(key) for name, key in keys.items() if configs.is_given(key)
    }
    return SocketServerSettings(
        request_max_bytes=configs.integer("socket.request.max.bytes"),
        queued_max_bytes=queued_bytes if queued_bytes > 0 else DEFAULT_QUEUED_BYTES,
        max_connections=configs.integer("max.connections"),
        capacity=capacity,
        max_connections_of_listener=MappingProxyType(of_listener),
        max_connections_per_ip=configs.integer("max.connections.per.ip"),
        max_connections_per_ip_overrides=MappingProxyType(overrides),
        connections_max_idle_ms=configs.integer("connections.max.idle.ms"),
        send_buffer_bytes=_buffer_bytes(configs, "socket.send.buffer.bytes"),
        receive_buffer_bytes=_buffer_bytes(configs, "socket.receive.buffer.bytes"),
    )


def live_server_settings(
    configs: BrokerConfigs,
    listeners: Sequence[ListenerSettings],
    *,
    capacity: int = INT32_MAX,
) -> Callable[[], SocketServerSettings]:
    """Return a function for the current settings; they are computed once a change."""
    current = read_server_settings(configs, listeners, capacity=capacity)

    def update() -> None:
        nonlocal current
        current = read_server_settings(configs, listeners, capacity=capacity)

    configs.on_change(_DYNAMIC, update)
    return lambda: current


def server_listeners(
    configs: BrokerConfigs, listeners: Sequence[ListenerSettings]
) -> list[Listener]:
    """Return the listeners to open, with the TLS of each that has it."""
    return [
        Listener(
            name=each.name,
            host=each.host,
            port=each.port,
            backlog=_backlog(configs),
            tls=ListenerTls(configs, each.key_prefix).context if each.is_secure else None,
        )
        for each in listeners
    ]


def _backlog(configs: BrokerConfigs) -> int:
    """Return the configured size, else the system's: with 50, a thousand clients need seconds."""
    key = "socket.listen.backlog.size"
    return configs.integer(key) if configs.is_given(key) else socket.SOMAXCONN


def _buffer_bytes(configs: BrokerConfigs, key: str) -> int:
    """Return the configured size, else -1: the system's default buffers grow as needed."""
    return configs.integer(key) if configs.is_given(key) else -1
