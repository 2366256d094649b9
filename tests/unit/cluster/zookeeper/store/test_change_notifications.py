"""Tests of notifications between brokers."""

from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from tests.unit.cluster.zookeeper.store.store_values import PARTITIONS
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld, play


def test_notifications_are_the_nodes_of_kafka() -> None:
    async def scene(world: StoreWorld) -> dict[str, bytes]:
        notifications = (await world.member(1)).store.notifications
        await notifications.notify_isr_changes(PARTITIONS[:1])
        await notifications.notify_log_dir_failure(1)
        await notifications.notify_config_change((ConfigEntity("brokers", ""),))
        return {path: data for path, data in world.nodes().items() if "_0000000000" in path}

    assert play(scene) == {
        "/isr_change_notification/isr_change_0000000000": (
            b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
        ),
        "/log_dir_event_notification/log_dir_event_0000000000": (
            b'{"version":1,"broker":1,"event":1}'
        ),
        "/config/changes/config_change_0000000000": (
            b'{"version":2,"entity_path":"brokers/<default>"}'
        ),
    }


def test_handled_notifications_are_dropped_by_their_numbers() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member = await world.member(1)
        guard, notifications = await member.elected(), member.store.notifications
        for _ in range(3):
            await notifications.notify_isr_changes(PARTITIONS)
            await notifications.notify_log_dir_failure(1)
        await notifications.drop_isr_changes([0, 2, 7], guard)
        await notifications.drop_log_dir_failures([1], guard)
        left = [
            *world.nodes("/isr_change_notification"),
            *world.nodes("/log_dir_event_notification"),
        ]
        await notifications.drop_all(guard)
        return left, world.nodes("/isr_change_notification")

    assert play(scene) == (
        [
            "/isr_change_notification/isr_change_0000000001",
            "/log_dir_event_notification/log_dir_event_0000000000",
            "/log_dir_event_notification/log_dir_event_0000000002",
        ],
        {},
    )


def test_old_notifications_of_configurations_are_purged() -> None:
    async def scene(world: StoreWorld) -> list[str]:
        notifications = (await world.member(1)).store.notifications
        entities = (ConfigEntity("topics", "t"),)
        await notifications.notify_config_change(entities)
        world.world.clock.jump_wall(15 * 60 * 1_000)
        await notifications.notify_config_change(entities)
        await notifications.purge_config_changes(world.world.clock.now_ms())
        return [*world.nodes("/config/changes")]

    assert play(scene) == ["/config/changes/config_change_0000000001"]
