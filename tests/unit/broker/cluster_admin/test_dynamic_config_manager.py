"""Tests of configurations from ZooKeeper, applied to a broker."""

import pytest

from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    ConfigResource,
    group_resource,
    topic_resource,
)
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import RequestTimedOutError
from tests.unit.broker.cluster_admin.admin_world import AdminBroker, AdminWorld, play

ORDERS = topic_resource("orders")
OWN = ConfigResource(ResourceType.BROKER, "1")
TOPIC = (ConfigEntity("topics", "orders"),)
MINE = (ConfigEntity("brokers", "1"),)
OTHERS = (ConfigEntity("brokers", "2"),)
DEFAULT = (ConfigEntity("brokers", ""),)


async def store(broker: AdminBroker, entities: tuple[ConfigEntity, ...], **texts: str) -> None:
    """Store a configuration, as another broker does."""
    named = {name.replace("_", "."): text for name, text in texts.items()}
    await broker.member.store.configs.write(entities, named)


def test_stored_configurations_are_applied_at_the_start() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        await store(broker, TOPIC, retention_ms="5")
        await store(broker, DEFAULT, log_cleaner_threads="3")
        await store(broker, MINE, log_segment_bytes="2097152")
        await store(broker, OTHERS, log_segment_bytes="4194304")
        await store(broker, (ConfigEntity("topics", "other"),), segment_bytes="1048576")
        await broker.manager.load()
        configs = broker.configs
        return (
            configs.config_for("orders").retention_ms,
            configs.config_for("orders").segment_bytes,
            configs.config_for("other").segment_bytes,
            configs.integer("log.cleaner.threads"),
            broker.events,
        )

    assert play(scene) == (5, 2097152, 1048576, 3, [])


def test_many_topics_are_applied_at_the_start() -> None:
    async def scene(world: AdminWorld) -> list[int | None]:
        broker = await world.broker()
        names = [f"t{each}" for each in range(50)]
        for name in names:
            await store(broker, (ConfigEntity("topics", name),), retention_ms="5")
        await broker.manager.load()
        return [broker.configs.config_for(each).retention_ms for each in names]

    assert play(scene) == [5] * 50


@pytest.mark.parametrize(
    ("entities", "resource", "texts"),
    (
        (TOPIC, ORDERS, {"retention_ms": "5"}),
        (MINE, OWN, {"log_segment_bytes": "2097152"}),
        (DEFAULT, ALL_BROKERS, {"log_segment_bytes": "2097152"}),
    ),
)
def test_notified_change_is_applied(
    entities: tuple[ConfigEntity, ...], resource: ConfigResource, texts: dict[str, str]
) -> None:
    async def scene(world: AdminWorld) -> list[dict[str, str]]:
        broker, applied = await world.broker(), []
        for each in (texts, {}):
            await store(broker, entities, **each)
            await broker.manager.apply_change(entities)
            applied.append(dict(broker.configs.texts(resource)))
        return applied

    named = {name.replace("_", "."): text for name, text in texts.items()}
    assert play(scene) == [named, {}]


def test_changes_that_do_not_concern_the_broker_are_not_read() -> None:
    async def scene(world: AdminWorld) -> None:
        broker = await world.broker()
        broker.member.client.cut()
        user = ConfigEntity("users", "u")
        for entities in (OTHERS, (user,), (user, ConfigEntity("clients", "c"))):
            await broker.manager.apply_change(entities)
        await broker.manager.refresh([group_resource("g")])

    play(scene)


def test_unknown_texts_and_passwords_are_ignored_with_an_event() -> None:
    async def scene(world: AdminWorld) -> tuple[object, object, list[str]]:
        broker = await world.broker()
        await store(broker, TOPIC, retention_ms="5", no_such="1", segment_bytes="much")
        await store(broker, MINE, **{"listener.name.x.ssl.keystore.password": "encrypted"})
        await broker.manager.load()
        return dict(broker.configs.texts(ORDERS)), dict(broker.configs.texts(OWN)), broker.events

    topic, own, events = play(scene)

    assert (topic, own) == ({"retention.ms": "5"}, {})
    assert [each.split(":")[1].strip().split()[0] for each in events] == [
        "listener.name.x.ssl.keystore.password",
        "no.such",
        "segment.bytes",
    ]


def test_change_that_the_running_broker_cannot_take_is_not_applied() -> None:
    async def scene(world: AdminWorld) -> tuple[int, list[str]]:
        broker = await world.broker(log_cleaner_threads="8")
        await store(broker, DEFAULT, log_cleaner_threads="1")
        await broker.manager.apply_change(DEFAULT)
        return broker.configs.integer("log.cleaner.threads"), broker.events

    threads, (event,) = play(scene)

    assert threads == 8
    assert "not applied: Log cleaner threads cannot be reduced" in event


def test_damaged_configuration_keeps_the_former_one() -> None:
    async def scene(world: AdminWorld) -> tuple[list[int], list[str]]:
        broker = await world.broker()
        for entities in (TOPIC, (ConfigEntity("topics", "other"),)):
            await store(broker, entities, retention_ms="5")
        await broker.manager.apply_change(TOPIC)
        await broker.member.client.set("/config/topics/orders", b"{")
        await broker.manager.load()
        found = [broker.configs.config_for(each).retention_ms for each in ("orders", "other")]
        return found, broker.events

    found, (event,) = play(scene)

    assert found == [5, 5]
    assert "/config/topics/orders" in event


def test_configuration_of_a_later_topic_of_the_name_is_read_before_its_log_is_created() -> None:
    async def scene(world: AdminWorld) -> list[dict[str, str]]:
        broker, found = await world.broker(), []
        for texts in ({"retention_ms": "5"}, {}):
            await store(broker, TOPIC, **texts)
            await broker.manager.load_topics(["orders"])
            found.append(dict(broker.configs.texts(ORDERS)))
        return found

    assert play(scene) == [{"retention.ms": "5"}, {}]


def test_unchanged_configuration_is_not_applied_again_by_a_refresh() -> None:
    async def scene(world: AdminWorld) -> int:
        broker, calls = await world.broker(), list[None]()
        broker.configs.on_apply(lambda: calls.append(None))
        await store(broker, MINE, log_segment_bytes="2097152")
        for _ in range(2):
            await broker.manager.refresh([OWN])
        return len(calls)

    assert play(scene) == 1


def test_end_of_the_session_before_a_log_is_created_has_a_code_of_kafka() -> None:
    async def scene(world: AdminWorld) -> None:
        broker = await world.broker()
        broker.member.client.cut()
        reading = world.begin(broker.manager.load_topics(["orders"]))
        await world.keeper.settle(60_000)
        broker.member.client.heal()
        with pytest.raises(RequestTimedOutError):
            await reading

    play(scene)
