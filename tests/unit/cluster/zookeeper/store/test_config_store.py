"""Tests of configurations in the store."""

import pytest

from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntities, ConfigEntity
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld, play

TOPIC = (ConfigEntity("topics", "t"),)


@pytest.mark.parametrize(
    ("entities", "path"),
    (
        (TOPIC, "/config/topics/t"),
        ((ConfigEntity("brokers", ""),), "/config/brokers/<default>"),
        ((ConfigEntity("users", "a b"),), "/config/users/a%20b"),
        (
            (ConfigEntity("users", "a b"), ConfigEntity("clients", "")),
            "/config/users/a%20b/clients/<default>",
        ),
    ),
)
def test_configuration_is_stored_and_read(entities: ConfigEntities, path: str) -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        configs = (await world.member(1)).store.configs
        before = await configs.read(*entities)
        await configs.write(entities, {"k": "1"})
        await configs.write(entities, {"k": "2"})
        return before, await configs.read(*entities), world.nodes()[path]

    assert play(scene) == ({}, {"k": "2"}, b'{"version":1,"config":{"k":"2"}}')


def test_entities_with_a_configuration_are_listed() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        configs = (await world.member(1)).store.configs
        for name in ("b", "a c", ""):
            await configs.write((ConfigEntity("clients", name),), {"k": name})
        entities = await configs.entities("clients")
        return entities, await configs.read_all([(each,) for each in entities])

    assert play(scene) == (
        [ConfigEntity("clients", ""), ConfigEntity("clients", "a c"), ConfigEntity("clients", "b")],
        [{"k": ""}, {"k": "a c"}, {"k": "b"}],
    )
