"""Clients can connect after each alteration that is accepted, and the broker starts again."""

import asyncio
from dataclasses import replace

import pytest

from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import ALL_BROKERS, ConfigResource
from cordwood.broker.services import BrokerServices
from cordwood.broker.settings.catalogue import BROKER_SETTINGS, LISTENER_ONLY
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import KafkaError
from cordwood.core.settings import Setting, SettingScope, SettingSource, SettingType
from cordwood.node.node import Node
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.server_samples import Peer, request

OWN = ConfigResource(ResourceType.BROKER, "1")
INTEGERS = ("-2147483648", "-1", "0", "1", "2", "2147483647", "9223372036854775807")
VALUES = {
    SettingType.BOOLEAN: ("true", "false"),
    SettingType.INT: INTEGERS,
    SettingType.LONG: INTEGERS,
    SettingType.SHORT: INTEGERS,
    SettingType.DOUBLE: ("-1", "0", "1e-300", "0.5", "1", "1e308"),
    SettingType.STRING: ("", "x", "none", "required", "/etc/hostname", "::1:0", "127.0.0.1:9"),
    SettingType.PASSWORD: ("", "x"),
    SettingType.CLASS: ("", "x"),
    SettingType.LIST: ("", "x", "delete", "compact", "delete,compact", "TLSv1.2"),
}
DYNAMIC = [each for each in BROKER_SETTINGS if each.scope is not SettingScope.STATIC]


async def start(files: MemoryFiles) -> tuple[Node, BrokerServices]:
    clock = VirtualClock()
    runtime = inline_runtime(files, clock=clock, scheduler=clock, random=SeededRandom(1))
    given = {"log.dirs": "/logs", "listeners": "PLAINTEXT://127.0.0.1:0", "node.id": "1"}
    node = Node([SettingSource("test", given)], replace(runtime, host="127.0.0.1"))
    return node, await node.start()


async def is_answered(node: Node) -> bool:
    """Ask for the versions of all APIs on a new connection."""
    peer = Peer(*await asyncio.open_connection(*node.addresses["PLAINTEXT"]))
    peer.send(request(7))
    correlation_id, _ = await peer.answer()
    await peer.close()
    return correlation_id == 7


def key_of(setting: Setting) -> str:
    return (
        f"listener.name.plaintext.{setting.name}" if setting.name in LISTENER_ONLY else setting.name
    )


async def alter_with_each_value(setting: Setting) -> None:
    files = MemoryFiles()
    resource = OWN if setting.scope is SettingScope.BROKER else ALL_BROKERS
    node, broker = await start(files)
    for value in (*VALUES[setting.type], *setting.one_of):
        change = ConfigAlteration(key_of(setting), AlterOperation.SET, value)
        try:
            await broker.config_changes.alter(resource, [change], validate_only=False)
        except KafkaError:
            continue
        assert await is_answered(node), value
        await node.stop()
        node, broker = await start(files)
        assert await is_answered(node), value
    await node.stop()


@pytest.mark.parametrize("setting", DYNAMIC, ids=lambda setting: setting.name)
def test_altered_broker_is_reachable_and_starts_again(setting: Setting) -> None:
    asyncio.run(asyncio.wait_for(alter_with_each_value(setting), 30))
