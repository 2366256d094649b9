"""What a broker listens on, and how much it takes from those who connect."""

import re
from typing import Final

from cordwood.core.binary import INT32_MAX
from cordwood.core.settings import Scope, Setting, SettingTable, SettingType, SettingValue

_OVERRIDE: Final = re.compile(
    r"(?P<address>[0-9]+(?:\.[0-9]+){3}|\[[0-9a-fA-F:.]+\]|[0-9a-fA-F.]*(?::[0-9a-fA-F.]*)+)"
    r":(?P<number>[0-9]{1,9})"
)


def numbers_by_address(text: str) -> dict[str, int]:
    """Return how many connections each address of `max.connections.per.ip.overrides` may have."""
    found = [_OVERRIDE.fullmatch(part) for part in _parts(text)]
    return {each["address"].strip("[]"): int(each["number"]) for each in found if each is not None}


def _problem_of_overrides(value: SettingValue) -> str:
    parts = _parts(value) if isinstance(value, str) else []
    wrong = [part for part in parts if _OVERRIDE.fullmatch(part) is None]
    return f"has {wrong[0]!r} where address:number belongs" if wrong else ""


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


SOCKETS: Final = SettingTable(
    (
        Setting(
            name="listeners",
            type=SettingType.LIST,
            default=("PLAINTEXT://:9092",),
            doc=(
                "Where to listen: NAME://host:port, by commas. An empty host is every address, "
                "port 0 a free one."
            ),
        ),
        Setting(
            name="advertised.listeners",
            type=SettingType.LIST,
            default=None,
            doc="What clients are told to connect to, where that differs from listeners.",
        ),
        Setting(
            name="listener.security.protocol.map",
            type=SettingType.STRING,
            default="SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
            doc="Which protocol each listener speaks: NAME:PROTOCOL, by commas.",
        ),
        Setting(
            name="inter.broker.listener.name",
            type=SettingType.STRING,
            default=None,
            doc="The listener that other brokers use.",
        ),
        Setting(
            name="security.inter.broker.protocol",
            type=SettingType.STRING,
            default="PLAINTEXT",
            doc="The protocol between brokers, where no listener is named for it.",
            one_of=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        ),
        Setting(
            name="socket.request.max.bytes",
            type=SettingType.INT,
            default=104_857_600,
            doc="The largest request; who sends a larger one is cut off.",
            at_least=1,
        ),
        Setting(
            name="socket.listen.backlog.size",
            type=SettingType.INT,
            default=50,
            doc="How many connections may wait to be taken.",
            at_least=1,
        ),
        Setting(
            name="socket.send.buffer.bytes",
            type=SettingType.INT,
            default=102_400,
            doc="The size of the system's buffer for sending; -1 leaves it to the system.",
        ),
        Setting(
            name="socket.receive.buffer.bytes",
            type=SettingType.INT,
            default=102_400,
            doc="The size of the system's buffer for receiving; -1 leaves it to the system.",
        ),
        Setting(
            name="connections.max.idle.ms",
            type=SettingType.LONG,
            default=600_000,
            doc="After what time without a request a connection is closed.",
        ),
        Setting(
            name="max.connections",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="How many connections there may be, over all listeners or on one.",
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="max.connections.per.ip",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="How many connections one address may have.",
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="max.connections.per.ip.overrides",
            type=SettingType.STRING,
            default="",
            doc="Other numbers for some addresses: address:number, by commas.",
            scope=Scope.CLUSTER,
            check=_problem_of_overrides,
        ),
        Setting(
            name="queued.max.request.bytes",
            type=SettingType.LONG,
            default=-1,
            doc="How many bytes of requests may be in work at a time; -1 is 128 MiB.",
        ),
    )
)
