"""Tests of configuration changes in a cluster."""

import pytest

from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    ConfigResource,
    group_resource,
    topic_resource,
)
from cordwood.cluster.zookeeper.store.metadata_event import ConfigChanged
from cordwood.cluster.zookeeper.store.watched_subjects import Subject
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import (
    InvalidConfigError,
    InvalidRequestError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from tests.unit.broker.cluster_admin.admin_world import AdminBroker, AdminWorld, play
from tests.unit.broker.image_samples import topic

ORDERS = topic_resource("orders")
OWN = ConfigResource(ResourceType.BROKER, "1")


def change(name: str, value: str | None) -> ConfigAlteration:
    operation = AlterOperation.DELETE if value is None else AlterOperation.SET
    return ConfigAlteration(name, operation, value)


async def broker_with_orders(world: AdminWorld, node_id: int = 1) -> AdminBroker:
    broker = await world.broker(node_id)
    broker.publish(topic("orders"))
    return broker


async def alter(broker: AdminBroker, resource: ConfigResource, *changes: ConfigAlteration) -> None:
    await broker.config_changes.alter(resource, changes, validate_only=False)


def test_change_is_stored_applied_and_notified() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker, other = await broker_with_orders(world), await broker_with_orders(world, 2)
        other.member.store.events.follow(Subject.CONFIGS)
        seen = other.member.collect(world.keeper.world)
        await world.keeper.settle()
        await alter(broker, ORDERS, change("retention.ms", "5"))
        await world.keeper.settle()
        changed = [each.entities for each in seen if isinstance(each, ConfigChanged)]
        for each in changed:
            await other.manager.apply_change(each)
        return (
            world.nodes()["/config/topics/orders"],
            changed,
            [each.configs.config_for("orders").retention_ms for each in (broker, other)],
        )

    assert play(scene) == (
        b'{"version":1,"config":{"retention.ms":"5"}}',
        [(ConfigEntity("topics", "orders"),)],
        [5, 5],
    )


def test_change_builds_on_the_stored_configuration_of_another_broker() -> None:
    async def scene(world: AdminWorld) -> dict[str, str]:
        broker, other = await broker_with_orders(world), await broker_with_orders(world, 2)
        await alter(other, ORDERS, change("retention.ms", "5"))
        await alter(broker, ORDERS, change("segment.ms", "7"))
        return dict(broker.configs.texts(ORDERS))

    assert play(scene) == {"retention.ms": "5", "segment.ms": "7"}


def test_texts_that_this_release_ignores_stay_until_they_are_altered() -> None:
    async def scene(world: AdminWorld) -> list[dict[str, str]]:
        broker = await broker_with_orders(world)
        configs, entity = broker.member.store.configs, ConfigEntity("topics", "orders")
        await configs.write((entity,), {"of.kafka": "1", "more": "2"})
        found = []
        for each in (change("retention.ms", "5"), change("more", None)):
            await alter(broker, ORDERS, each)
            found.append(await configs.read(entity))
        await broker.config_changes.replace(ORDERS, [("segment.ms", "7")], validate_only=False)
        return [*found, await configs.read(entity)]

    assert play(scene) == [
        {"of.kafka": "1", "more": "2", "retention.ms": "5"},
        {"of.kafka": "1", "retention.ms": "5"},
        {"segment.ms": "7"},
    ]


def test_validated_change_is_not_stored() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await broker_with_orders(world)
        changes = [change("retention.ms", "5")]
        await broker.config_changes.alter(ORDERS, changes, validate_only=True)
        return dict(broker.configs.texts(ORDERS)), "/config/topics/orders" in world.nodes()

    assert play(scene) == ({}, False)


@pytest.mark.parametrize(
    ("resource", "changed", "error"),
    (
        (topic_resource("no"), change("retention.ms", "5"), UnknownTopicOrPartitionError),
        (ORDERS, change("no.such", "5"), InvalidConfigError),
        (ORDERS, change("retention.ms", "soon"), InvalidConfigError),
        (OWN, change("log.cleaner.threads", "100"), InvalidRequestError),
        (ALL_BROKERS, change("advertised.listeners", "x"), InvalidRequestError),
        (OWN, change("listener.name.x.ssl.keystore.password", "secret"), InvalidRequestError),
        (group_resource("g"), change("consumer.session.timeout.ms", "1"), InvalidRequestError),
    ),
)
def test_invalid_change_is_rejected(
    resource: ConfigResource, changed: ConfigAlteration, error: type[Exception]
) -> None:
    async def scene(world: AdminWorld) -> dict[str, bytes]:
        broker = await broker_with_orders(world)
        with pytest.raises(error):
            await alter(broker, resource, changed)
        return world.keeper.nodes("/config/changes")

    assert play(scene) == {}


def test_settings_of_all_brokers_and_of_one_are_stored() -> None:
    async def scene(world: AdminWorld) -> dict[str, bytes]:
        broker = await broker_with_orders(world)
        await alter(broker, ALL_BROKERS, change("log.cleaner.threads", "2"))
        await alter(broker, OWN, change("log.segment.bytes", "2097152"))
        return world.keeper.nodes("/config/brokers")

    assert play(scene) == {
        "/config/brokers/<default>": b'{"version":1,"config":{"log.cleaner.threads":"2"}}',
        "/config/brokers/1": b'{"version":1,"config":{"log.segment.bytes":"2097152"}}',
    }


def test_damaged_configuration_is_not_overwritten() -> None:
    async def scene(world: AdminWorld) -> bytes:
        broker = await broker_with_orders(world)
        await broker.member.client.create("/config/topics/orders", b"{")
        with pytest.raises(UnknownServerError):
            await alter(broker, ORDERS, change("retention.ms", "5"))
        return world.nodes()["/config/topics/orders"]

    assert play(scene) == b"{"


def test_description_is_of_the_stored_configuration() -> None:
    async def scene(world: AdminWorld) -> dict[str, str]:
        broker, other = await broker_with_orders(world), await broker_with_orders(world, 2)
        await alter(other, ORDERS, change("retention.ms", "5"))
        await broker.config_changes.refresh([ORDERS, OWN, group_resource("g")])
        return dict(broker.configs.texts(ORDERS))

    assert play(scene) == {"retention.ms": "5"}
