"""Tests of the port to the changes of configurations, for both brokers that have it."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import topic_resource
from cordwood.broker.topics.config_administration import ConfigAdministration
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.cluster_admin.admin_world import AdminWorld, play
from tests.unit.broker.image_samples import topic

Texts = Mapping[str, str]
Scene = Callable[[ConfigAdministration, BrokerConfigs], Awaitable[list[Texts]]]

ORDERS = topic_resource("orders")


def embedded(scene: Scene) -> list[Texts]:
    harness = BrokerHarness()
    harness.metadata.publish(harness.metadata.image.with_topic(topic("orders")))

    async def played() -> list[Texts]:
        return await scene(harness.broker.config_changes, harness.configs)

    return run(played())


def clustered(scene: Scene) -> list[Texts]:
    async def played(world: AdminWorld) -> list[Texts]:
        broker = await world.broker()
        broker.publish(topic("orders"))
        return await scene(broker.config_changes, broker.configs)

    return play(played)


@pytest.mark.parametrize("broker", (embedded, clustered))
def test_configuration_is_applied_when_it_is_stored(
    broker: Callable[[Scene], list[Texts]],
) -> None:
    async def scene(changes: ConfigAdministration, configs: BrokerConfigs) -> list[Texts]:
        shorter = ConfigAlteration("retention.ms", AlterOperation.SET, "5")
        found = []
        for validate_only in (True, False):
            await changes.alter(ORDERS, [shorter], validate_only=validate_only)
            found.append(configs.texts(ORDERS))
        await changes.replace(ORDERS, [("segment.ms", "7")], validate_only=False)
        await changes.refresh([ORDERS])
        return [*found, configs.texts(ORDERS)]

    assert broker(scene) == [{}, {"retention.ms": "5"}, {"segment.ms": "7"}]
