"""What a broker listens on: `listeners` and its like, read into values.

    listeners                        NAME://host:port, by commas; [::1] for an address of IPv6
    listener.security.protocol.map   NAME:PROTOCOL, by commas; a protocol's own name needs no entry
    advertised.listeners             as listeners, of names that are there; port and host may differ

An empty host listens on every address. Port 0 is a free one, known once the listener is open; what
is advertised then is what was not said here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from cordwood.broker.configs import BrokerConfigs
from cordwood.core.errors import SettingError

_ENDPOINT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9_-]+)://(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^\[\]:/\s]*)):(?P<port>[0-9]{1,5})"
)
_ANYWHERE: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - told apart, not listened on
_LARGEST_PORT: Final = 65_535


class SecurityProtocol(Enum):
    """What is spoken below Kafka's protocol, with Kafka's numbers."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


_SERVED: Final = (SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host and a port under a listener's name."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """One listener. Who advertises nothing of its own is found where it listens."""

    name: str
    host: str
    port: int
    protocol: SecurityProtocol
    advertised: Endpoint | None = None

    @property
    def is_secure(self) -> bool:
        return self.protocol in {SecurityProtocol.SSL, SecurityProtocol.SASL_SSL}

    @property
    def key_prefix(self) -> str:
        """How the keys of this listener alone begin."""
        return f"listener.name.{self.name.lower()}."


@dataclass(frozen=True, slots=True)
class Listeners:
    """All of a broker's listeners in their order, and the name of the one between brokers."""

    listeners: tuple[ListenerSettings, ...]
    inter_broker: str


def listeners_of(configs: BrokerConfigs) -> Listeners:
    """Return what the configuration says of listeners; raise for what cannot be."""
    bound = _endpoints(configs, "listeners")
    if not bound:
        raise _refused("listeners", "names none", "give one, as PLAINTEXT://127.0.0.1:9092")
    ports = [each.port for each in bound if each.port]
    if len(ports) != len({(each.host, each.port) for each in bound if each.port}):
        raise _refused("listeners", "has two on one port", "give each a port of its own")
    advertised = {each.name: each for each in _endpoints(configs, "advertised.listeners")}
    strange = sorted(set(advertised) - {each.name for each in bound})
    if strange:
        raise _refused(
            "advertised.listeners",
            f"names {strange[0]}, which is no listener",
            "advertise listeners that are in listeners",
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


def parse_endpoint(text: str, *, key: str) -> Endpoint:
    """Return the endpoint that one part of `key` names."""
    found = _ENDPOINT.fullmatch(text)
    if found is None or int(found["port"]) > _LARGEST_PORT:
        raise _refused(
            key, f"has {text!r} in it", "give NAME://host:port, with a port from 0 to 65535"
        )
    return Endpoint(found["name"].upper(), found["six"] or found["host"], int(found["port"]))


def is_anywhere(host: str) -> bool:
    """Say whether a host stands for every address, which nobody can be told to connect to."""
    return host in _ANYWHERE


def _endpoints(configs: BrokerConfigs, key: str) -> list[Endpoint]:
    endpoints = [parse_endpoint(text, key=key) for text in configs.words(key)]
    names = [each.name for each in endpoints]
    if len(names) != len(set(names)):
        raise _refused(key, "names one listener twice", "give each a name of its own")
    for each in endpoints if key == "advertised.listeners" else ():
        if is_anywhere(each.host):
            raise _refused(
                key, f"advertises {each.name} at every address", "give the host that clients reach"
            )
    return endpoints


def _protocols(configs: BrokerConfigs) -> dict[str, SecurityProtocol]:
    key = "listener.security.protocol.map"
    protocols = {each.name: each for each in SecurityProtocol}
    for part in filter(None, map(str.strip, configs.text(key).split(","))):
        name, _, protocol = part.partition(":")
        if protocol.strip().upper() not in SecurityProtocol.__members__:
            raise _refused(
                key, f"has {part!r} in it", f"give NAME:PROTOCOL, of {_listed(SecurityProtocol)}"
            )
        protocols[name.strip().upper()] = SecurityProtocol[protocol.strip().upper()]
    return protocols


def _protocol_of(name: str, protocols: dict[str, SecurityProtocol]) -> SecurityProtocol:
    protocol = protocols.get(name)
    if protocol is None:
        raise _refused(
            "listener.security.protocol.map",
            f"does not say what {name} speaks",
            f"add {name}:PLAINTEXT or {name}:SSL",
        )
    if protocol not in _SERVED:
        raise _refused(
            "listeners",
            f"has {name}, which speaks {protocol.name}",
            f"only {_listed(_SERVED)} are served",
        )
    return protocol


def _inter_broker(configs: BrokerConfigs, listeners: Sequence[ListenerSettings]) -> str:
    named = configs.text("inter.broker.listener.name").upper()
    if named:
        if named not in {each.name for each in listeners}:
            raise _refused(
                "inter.broker.listener.name",
                f"names {named}, which is no listener",
                "name one of listeners",
            )
        return named
    protocol = SecurityProtocol[configs.text("security.inter.broker.protocol")]
    same = [each.name for each in listeners if each.protocol is protocol]
    return same[0] if same else listeners[0].name


def _listed(protocols: "type[SecurityProtocol] | Sequence[SecurityProtocol]") -> str:
    return ", ".join(each.name for each in protocols)


def _refused(key: str, problem: str, remedy: str) -> SettingError:
    return SettingError(f"setting {key} {problem}", key=key, remedy=remedy)
