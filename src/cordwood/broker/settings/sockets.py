"""Settings of listeners, sockets and connection limits (Kafka: `SocketServerConfigs`)."""

import re
from typing import Final

from cordwood.core.binary import INT32_MAX
from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType, SettingValue

_OVERRIDE: Final = re.compile(
    r"(?P<address>[0-9]+(?:\.[0-9]+){3}|\[[0-9a-fA-F:.]+\]|[0-9a-fA-F.]*(?::[0-9a-fA-F.]*)+)"
    r":(?P<number>[0-9]{1,9})"
)


def numbers_by_address(text: str) -> dict[str, int]:
    """Return the limit of each address in `max.connections.per.ip.overrides`."""
    found = [_OVERRIDE.fullmatch(part) for part in _parts(text)]
    return {each["address"].strip("[]"): int(each["number"]) for each in found if each is not None}


def _problem_of_overrides(value: SettingValue) -> str:
    parts = _parts(value) if isinstance(value, str) else []
    wrong = [part for part in parts if _OVERRIDE.fullmatch(part) is None]
    return f"contains {wrong[0]!r} instead of address:number" if wrong else ""


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


SOCKETS: Final = SettingTable(
    (
        Setting(
            name="listeners",
            type=SettingType.LIST,
            # Kafka's default has an empty host, which opens a broker without access control to
            # the network.
            default=("PLAINTEXT://127.0.0.1:9092",),
            doc=(
                "The listeners as NAME://host:port, comma-separated. An empty host binds every "
                "address, port 0 any free port. The default serves this machine alone."
            ),
        ),
        Setting(
            name="advertised.listeners",
            type=SettingType.LIST,
            default=None,
            doc="The endpoints that clients connect to, if they differ from listeners.",
        ),
        Setting(
            name="listener.security.protocol.map",
            type=SettingType.STRING,
            default="SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
            doc="The protocol of each listener as NAME:PROTOCOL, comma-separated.",
        ),
        Setting(
            name="inter.broker.listener.name",
            type=SettingType.STRING,
            default=None,
            doc="The listener for connections between brokers.",
        ),
        Setting(
            name="security.inter.broker.protocol",
            type=SettingType.STRING,
            default="PLAINTEXT",
            doc="The protocol between brokers if inter.broker.listener.name is not set.",
            one_of=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        ),
        Setting(
            name="socket.request.max.bytes",
            type=SettingType.INT,
            default=104_857_600,
            doc="The largest request. A larger one closes the connection.",
            at_least=1,
        ),
        Setting(
            name="socket.listen.backlog.size",
            type=SettingType.INT,
            default=50,
            doc="The number of connections that may wait to be accepted; by default the system's.",
            at_least=1,
        ),
        Setting(
            name="socket.send.buffer.bytes",
            type=SettingType.INT,
            default=102_400,
            doc="The size of the socket's send buffer; -1 is the system's default.",
        ),
        Setting(
            name="socket.receive.buffer.bytes",
            type=SettingType.INT,
            default=102_400,
            doc="The size of the socket's receive buffer; -1 is the system's default.",
        ),
        Setting(
            name="connections.max.idle.ms",
            type=SettingType.LONG,
            default=600_000,
            doc="The time without a request after which a connection is closed.",
        ),
        Setting(
            name="max.connections",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="The highest number of connections, over all listeners or on one listener.",
            scope=SettingScope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="max.connections.per.ip",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="The highest number of connections from one address.",
            scope=SettingScope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="max.connections.per.ip.overrides",
            type=SettingType.STRING,
            default="",
            doc="Other limits for single addresses, as address:number, comma-separated.",
            scope=SettingScope.CLUSTER,
            check=_problem_of_overrides,
        ),
        Setting(
            name="queued.max.request.bytes",
            type=SettingType.LONG,
            default=-1,
            doc=(
                "The memory for requests that are received or handled; -1 is 128 MiB. The lowest "
                "value in effect is 5/4 of socket.request.max.bytes."
            ),
        ),
    )
)
