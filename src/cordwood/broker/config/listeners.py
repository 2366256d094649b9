"""Listener settings of a broker as values (Kafka: `SocketServerConfigs`, `Endpoint`).

    listeners                        NAME://host:port, comma-separated; an IPv6 address as [::1]
    listener.security.protocol.map   NAME:PROTOCOL, comma-separated; a name that is a protocol maps
                                     to it without an entry
    advertised.listeners             same form, for names in `listeners`; host and port may differ

An empty host listens on every address; the default serves this machine alone. Port 0 stands for
any free port, known once the listener is open; a listener without an advertised endpoint then
advertises the bound one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.core.errors import SettingError

_ENDPOINT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9_-]+)://(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^\[\]:/\s]*)):(?P<port>[0-9]{1,5})"
)
_WILDCARDS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not listened on
_LARGEST_PORT: Final = 65_535


class SecurityProtocol(Enum):
    """The protocol below Kafka's, with Kafka's numbers."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


_SERVED: Final = (SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL)


@dataclass(frozen=True, slots=True)
class ListenerEndpoint:
    """A host and a port under a listener's name."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """One listener; without `advertised`, clients connect to the bound host and port."""

    name: str
    host: str
    port: int
    protocol: SecurityProtocol
    advertised: ListenerEndpoint | None = None

    @property
    def is_secure(self) -> bool:
        return self.protocol in {SecurityProtocol.SSL, SecurityProtocol.SASL_SSL}

    @property
    def key_prefix(self) -> str:
        """The prefix of setting keys for this listener alone."""
        return f"listener.name.{self.name.lower()}."


@dataclass(frozen=True, slots=True)
class Listeners:
    """A broker's listeners in their order, and the name of the inter-broker listener."""

    listeners: tuple[ListenerSettings, ...]
    inter_broker: str


def listeners_of(configs: BrokerConfigs) -> Listeners:
    """Return the configured listeners; raise SettingError if they are invalid."""
    bound = _endpoints(configs, "listeners")
    if not bound:
        raise _invalid(
            "listeners", "is empty", "give a listener, for example PLAINTEXT://127.0.0.1:9092"
        )
    ports = [each.port for each in bound if each.port]
    if len(ports) != len({(each.host, each.port) for each in bound if each.port}):
        raise _invalid("listeners", "has two listeners on one port", "give each its own port")
    advertised = {each.name: each for each in _endpoints(configs, "advertised.listeners")}
    if advertised and not configs.is_given("listeners"):
        raise _invalid(
            "advertised.listeners",
            "is given without listeners, whose default serves this machine alone",
            "set listeners too, for example PLAINTEXT://:9092 for every address",
        )
    unknown = sorted(set(advertised) - {each.name for each in bound})
    if unknown:
        raise _invalid(
            "advertised.listeners",
            f"contains {unknown[0]}, which is not in listeners",
            "advertise only names from listeners",
        )
    protocols = _protocols(configs)
    listeners = tuple(
        ListenerSettings(
            name=each.name,
            host=each.host,
            port=each.port,
            protocol=_protocol_of(each.name, protocols),
            advertised=advertised.get(each.name),
        )
        for each in bound
    )
    return Listeners(listeners, _inter_broker(configs, listeners))


def open_to_every_client(listeners: Sequence[ListenerSettings]) -> list[ListenerSettings]:
    """Return the listeners without TLS on every address: the network alone protects them."""
    return [
        each
        for each in listeners
        if each.host in _WILDCARDS and each.protocol is SecurityProtocol.PLAINTEXT
    ]


def parse_endpoint(text: str, *, key: str) -> ListenerEndpoint:
    """Return the endpoint in one element of `key`."""
    found = _ENDPOINT.fullmatch(text)
    if found is None or int(found["port"]) > _LARGEST_PORT:
        raise _invalid(
            key, f"contains {text!r}", "give NAME://host:port with a port from 0 to 65535"
        )
    return ListenerEndpoint(
        found["name"].upper(), found["six"] or found["host"], int(found["port"])
    )


def is_wildcard(host: str) -> bool:
    """Return whether a host stands for every address; no client can connect to such a host."""
    return host in _WILDCARDS


def _endpoints(configs: BrokerConfigs, key: str) -> list[ListenerEndpoint]:
    endpoints = [parse_endpoint(text, key=key) for text in configs.words(key)]
    names = [each.name for each in endpoints]
    if len(names) != len(set(names)):
        raise _invalid(key, "contains one listener name twice", "give each listener its own name")
    for each in endpoints if key == "advertised.listeners" else ():
        if is_wildcard(each.host):
            raise _invalid(
                key, f"advertises {each.name} at every address", "give a host that clients reach"
            )
    return endpoints


def _protocols(configs: BrokerConfigs) -> dict[str, SecurityProtocol]:
    key = "listener.security.protocol.map"
    protocols = {each.name: each for each in SecurityProtocol}
    for part in filter(None, map(str.strip, configs.text(key).split(","))):
        name, _, protocol = part.partition(":")
        if protocol.strip().upper() not in SecurityProtocol.__members__:
            raise _invalid(
                key,
                f"contains {part!r}",
                f"give NAME:PROTOCOL with a protocol of {_listed(SecurityProtocol)}",
            )
        protocols[name.strip().upper()] = SecurityProtocol[protocol.strip().upper()]
    return protocols


def _protocol_of(name: str, protocols: dict[str, SecurityProtocol]) -> SecurityProtocol:
    protocol = protocols.get(name)
    if protocol is None:
        raise _invalid(
            "listener.security.protocol.map",
            f"has no protocol for listener {name}",
            f"add {name}:PLAINTEXT or {name}:SSL",
        )
    if protocol not in _SERVED:
        raise _invalid(
            "listeners",
            f"contains {name} with protocol {protocol.name}, which is not supported",
            f"use {_listed(_SERVED)}",
        )
    return protocol


def _inter_broker(configs: BrokerConfigs, listeners: Sequence[ListenerSettings]) -> str:
    named = configs.text("inter.broker.listener.name").upper()
    if named:
        if named not in {each.name for each in listeners}:
            raise _invalid(
                "inter.broker.listener.name",
                f"is {named}, which is not in listeners",
                "give a name from listeners",
            )
        return named
    protocol = SecurityProtocol[configs.text("security.inter.broker.protocol")]
    same = [each.name for each in listeners if each.protocol is protocol]
    return same[0] if same else listeners[0].name


def _listed(protocols: "type[SecurityProtocol] | Sequence[SecurityProtocol]") -> str:
    return ", ".join(each.name for each in protocols)


def _invalid(key: str, problem: str, remedy: str) -> SettingError:
    return SettingError(f"setting {key} {problem}", key=key, remedy=remedy)
