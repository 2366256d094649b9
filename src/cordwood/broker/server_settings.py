"""What a broker's settings say for its server: its limits, kept current, and its listeners."""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Final

from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.limits import DEFAULT_QUEUED_BYTES, ServerSettings
from cordwood.broker.listeners import ListenerSettings
from cordwood.broker.listening import Listener
from cordwood.broker.settings.sockets import numbers_by_address
from cordwood.broker.tls import tls_of_listener

_CHANGING: Final = ("max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides")


def server_settings(
    configs: BrokerConfigs, listeners: Sequence[ListenerSettings]
) -> ServerSettings:
    """Return what the server allows now. A listener has a limit if one was given for it alone."""
    queued_bytes = configs.integer("queued.max.request.bytes")
    overrides = numbers_by_address(configs.text("max.connections.per.ip.overrides"))
    keys = {each.name: f"{each.key_prefix}max.connections" for each in listeners}
    of_listener = {
        name: configs.integer(key) for name, key in keys.items() if configs.is_given(key)
    }
    return ServerSettings(
        request_max_bytes=configs.integer("socket.request.max.bytes"),
        queued_max_bytes=queued_bytes if queued_bytes > 0 else DEFAULT_QUEUED_BYTES,
        max_connections=configs.integer("max.connections"),
        max_connections_of_listener=MappingProxyType(of_listener),
        max_connections_per_ip=configs.integer("max.connections.per.ip"),
        max_connections_per_ip_overrides=MappingProxyType(overrides),
        connections_max_idle_ms=configs.integer("connections.max.idle.ms"),
        send_buffer_bytes=_buffer_bytes(configs, "socket.send.buffer.bytes"),
        receive_buffer_bytes=_buffer_bytes(configs, "socket.receive.buffer.bytes"),
    )


def live_server_settings(
    configs: BrokerConfigs, listeners: Sequence[ListenerSettings]
) -> Callable[[], ServerSettings]:
    """Return what a server asks each time: it costs nothing, and a change counts at once."""
    current = server_settings(configs, listeners)

    def renew() -> None:
        nonlocal current
        current = server_settings(configs, listeners)

    configs.on_change(_CHANGING, renew)
    return lambda: current


def server_listeners(
    configs: BrokerConfigs, listeners: Sequence[ListenerSettings]
) -> list[Listener]:
    """Return what a server opens, each with what it encrypts with, if it does."""
    return [
        Listener(
            name=each.name,
            host=each.host,
            port=each.port,
            backlog=configs.integer("socket.listen.backlog.size"),
            tls=tls_of_listener(configs, each.key_prefix) if each.is_secure else None,
        )
        for each in listeners
    ]


def _buffer_bytes(configs: BrokerConfigs, key: str) -> int:
    """Return what was asked for; the default is not, since the system's own grow with the line."""
    return configs.integer(key) if configs.is_given(key) else -1
