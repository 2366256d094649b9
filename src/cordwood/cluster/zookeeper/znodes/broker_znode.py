"""Registration of a broker (Kafka: `BrokerIdZNode`).

    v1  host, port, jmx_port, timestamp              one PLAINTEXT endpoint
    v2  endpoints: ["NAME://host:port"]              the name is the security protocol
    v3  rack
    v4  listener_security_protocol_map: {name: protocol}
    v5  features: {name: {"min_version": 1, "max_version": 1}}

Version 5 is written. `host` and `port` repeat the first PLAINTEXT endpoint, for old clients;
without one they are null and -1. The transaction that created the node is the broker epoch.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.cluster.controller.context.live_broker import BrokerEndpoint, LiveBroker
from cordwood.cluster.zookeeper.znodes.cluster_paths import broker_path
from cordwood.cluster.zookeeper.znodes.znode_json import (
    decode_json,
    encode_json,
    integer,
    mapping,
    text,
)
from cordwood.core.address import Address

VERSION: Final = 5
_NO_PORT: Final = -1
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PLAINTEXT: Final = 0
_ENDPOINT: Final = re.compile(r"(?P<name>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?\d+)")


class VersionRange(NamedTuple):
    """The versions of a feature that a broker supports."""

    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """The facts that a broker registers."""

    broker_id: int
    endpoints: tuple[BrokerEndpoint, ...]
    rack: str | None = None
    timestamp_ms: int = 0
    jmx_port: int = _NO_PORT
    features: Mapping[str, VersionRange] = field(default_factory=lambda: MappingProxyType({}))

    def live(self, epoch: int) -> LiveBroker:
        """Return the broker with the epoch of this registration."""
        return LiveBroker(self.broker_id, epoch, self.endpoints, self.rack)


def encode_broker(broker: BrokerRegistration) -> bytes:
    """Return the content of a broker's node."""
    plaintext = next(
        (each for each in broker.endpoints if each.security_protocol == _PLAINTEXT), None
    )
    content: dict[str, object] = {
        "features": {name: each._asdict() for name, each in broker.features.items()},
        "listener_security_protocol_map": {
            each.listener: _PROTOCOLS[each.security_protocol] for each in broker.endpoints
        },
        "endpoints": [
            f"{each.listener}://{Address(each.host, each.port)}" for each in broker.endpoints
        ],
        "jmx_port": broker.jmx_port,
        "port": _NO_PORT if plaintext is None else plaintext.port,
        "host": None if plaintext is None else plaintext.host,
        "version": VERSION,
        "timestamp": str(broker.timestamp_ms),
    }
    if broker.rack is not None:
        content["rack"] = broker.rack
    return encode_json(content)


def decode_broker(broker_id: int, data: bytes) -> BrokerRegistration:
    """Return the registration in a node of any version; DamagedFileError."""
    return decode_json(
        data,
        lambda content: _registration(broker_id, content),
        path=broker_path(broker_id),
        expected='{"version":5,"endpoints":["PLAINTEXT://host:9092"],...}',
    )


def registration_version(broker_id: int, data: bytes) -> int:
    """Return the version of a registration; DamagedFileError."""
    return decode_json(
        data,
        lambda content: integer(content, "version"),
        path=broker_path(broker_id),
        expected='{"version":5,...}',
    )


def _registration(broker_id: int, content: dict[str, object]) -> BrokerRegistration:
    version = integer(content, "version")
    if version < 1:
        raise ValueError(f"unknown version {version}")
    rack = content.get("rack")
    if not (rack is None or isinstance(rack, str)):
        raise TypeError("the rack is not a text")
    return BrokerRegistration(
        broker_id=broker_id,
        endpoints=_endpoints(content) if version > 1 else (_old_endpoint(content),),
        rack=rack,
        timestamp_ms=integer(content, "timestamp", default=0),
        jmx_port=integer(content, "jmx_port", default=_NO_PORT),
        features={name: _range(each) for name, each in mapping(content, "features").items()},
    )


def _old_endpoint(content: dict[str, object]) -> BrokerEndpoint:
    return BrokerEndpoint("PLAINTEXT", text(content, "host"), integer(content, "port"), _PLAINTEXT)


def _endpoints(content: dict[str, object]) -> tuple[BrokerEndpoint, ...]:
    protocols = mapping(content, "listener_security_protocol_map")
    endpoints = content["endpoints"]
    if not isinstance(endpoints, list):
        raise TypeError("the endpoints are not a list")
    return tuple(_endpoint(each, protocols) for each in endpoints)


def _endpoint(written: str, protocols: Mapping[str, object]) -> BrokerEndpoint:
    found = _ENDPOINT.fullmatch(written)
    if found is None:
        raise ValueError(f"not an endpoint: {written}")
    name = found["name"].upper()
    protocol = protocols.get(name, name)
    if protocol not in _PROTOCOLS:
        raise ValueError(f"not a security protocol: {protocol}")
    return BrokerEndpoint(name, found["host"], int(found["port"]), _PROTOCOLS.index(str(protocol)))


def _range(versions: object) -> VersionRange:
    if not isinstance(versions, dict):
        raise TypeError("not a range of versions")
    return VersionRange(integer(versions, "min_version"), integer(versions, "max_version"))
