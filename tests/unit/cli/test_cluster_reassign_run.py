"""Moves with throttles over three brokers, as the command makes and verifies them."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import pytest

from cordwood.broker.services import BrokerServices
from cordwood.cli import cluster_reassign_run
from cordwood.cli.cluster_reassign_run import COMPLETE, MoveOptions
from cordwood.client.blocking import Admin
from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import ReassignmentInProgressError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from tests.unit.node.cluster_samples import (
    Cluster,
    addresses,
    cluster,
    create_orders,
    in_sync,
    log_end,
    produce,
    until,
)
from tests.unit.node.node_samples import run

T = TypeVar("T")

NAME = TopicPartition(TopicName("orders"), PartitionId(0))
ORDERS = ("orders", 0)


async def call(found: Cluster, use: Callable[[Admin], T]) -> T:
    """Call in another thread, as the brokers need this one."""

    def with_admin() -> T:
        with Admin(addresses(found)) as admin:
            return use(admin)

    return await asyncio.to_thread(with_admin)


async def execute(found: Cluster, target: list[int], options: MoveOptions) -> None:
    errors = await call(
        found,
        lambda admin: cluster_reassign_run.execute(admin, {ORDERS: target}, options=options),
    )
    assert errors == {NAME: None}


async def states(found: Cluster, target: list[int], *, preserve: bool = False) -> list[object]:
    rows = await call(
        found,
        lambda admin: cluster_reassign_run.verify(
            admin, [ORDERS], target=target, preserve_throttles=preserve
        ),
    )
    return [each["State"] for each in rows]


def limits(broker: BrokerServices) -> tuple[int, int]:
    return broker.throttles.leader.limit, broker.throttles.follower.limit


def is_listed(broker: BrokerServices) -> tuple[bool, bool]:
    return broker.throttles.leader.is_listed(NAME), broker.throttles.follower.is_listed(NAME)


def has_no_throttle(broker: BrokerServices) -> bool:
    return limits(broker) == (INT64_MAX, INT64_MAX) and is_listed(broker) == (False, False)


async def orders_on(found: Cluster, *brokers: int) -> None:
    """Create the topic with its replicas on these brokers, and some records."""
    await create_orders(found)
    await execute(found, [*brokers], MoveOptions())
    await until(lambda: all(in_sync(each) == {*brokers} for each in found.brokers.values()))
    for number in range(8):
        await produce(found, b"%1000d" % number)


def test_throttled_move_waits_until_the_limit_is_raised() -> None:
    async def scene() -> None:
        async with cluster() as found:
            for node_id in (1, 2, 3):
                await found.start(node_id, min_insync_replicas="1", replica_fetch_max_bytes="1500")
            await orders_on(found, 1, 2)
            brokers = found.brokers

            # After the first response nothing is allowed for the time of the windows.
            await execute(found, [1, 3], MoveOptions(0))
            await until(lambda: all(limits(each) == (0, 0) for each in brokers.values()))
            await until(lambda: is_listed(brokers[3]) == (False, True))
            assert [is_listed(brokers[each]) for each in (1, 2)] == [(True, False)] * 2
            await until(lambda: 3 in brokers and NAME in brokers[3].logs.logs)
            await until(lambda: log_end(found, 3) > 0)
            await produce(found, b"in sync")
            assert await states(found, [1, 3]) == ["in progress"]
            assert (log_end(found, 1), in_sync(brokers[1])) == (9, {1, 2})
            assert 0 < log_end(found, 3) < 9
            assert limits(brokers[1]) == (0, 0)

            await execute(found, [1, 3], MoveOptions(1 << 40, is_additional=True))
            await until(lambda: all(in_sync(each) == {1, 3} for each in brokers.values()))
            await until(lambda: 2 not in found.nodes or NAME not in brokers[2].logs.logs)
            assert await states(found, [1, 2]) == ["other replicas"]
            await until(lambda: all(map(has_no_throttle, brokers.values())))

    run(scene())


def test_ended_move_is_complete_and_throttles_are_preserved_if_wished() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            await execute(found, [2], MoveOptions(1 << 40))
            await until(lambda: all(in_sync(each) == {2} for each in found.brokers.values()))
            await until(lambda: limits(found.brokers[2]) == (1 << 40, 1 << 40))

            assert await states(found, [2], preserve=True) == [COMPLETE]
            assert limits(found.brokers[2]) == (1 << 40, 1 << 40)
            assert await states(found, [2]) == [COMPLETE]
            await until(lambda: all(map(has_no_throttle, found.brokers.values())))

    run(scene())


def test_second_move_needs_the_option_and_a_cancellation_removes_throttles() -> None:
    async def scene() -> None:
        async with cluster() as found:
            for node_id in (1, 2, 3):
                await found.start(node_id, min_insync_replicas="1", replica_fetch_max_bytes="1500")
            await orders_on(found, 1, 2)
            await execute(found, [1, 3], MoveOptions(0))
            await until(lambda: limits(found.brokers[1]) == (0, 0))

            assert await call(found, cluster_reassign_run.moving) == [ORDERS]
            assert await call(found, cluster_reassign_run.moved) == [ORDERS]
            with pytest.raises(ReassignmentInProgressError, match="--additional"):
                await execute(found, [1, 3], MoveOptions())
            errors = await call(
                found,
                lambda admin: cluster_reassign_run.cancel(
                    admin, [ORDERS], preserve_throttles=False
                ),
            )

            assert errors == {NAME: None}
            await until(lambda: all(map(has_no_throttle, found.brokers.values())))
            assert await states(found, [1, 2]) == [COMPLETE]

    run(scene())


def logs_of(admin: Admin) -> set[tuple[int, str, bool]]:
    """Return the logs of the partition: broker, directory, and whether it is a future log."""
    return {
        (node_id, directory.path, each.is_future)
        for node_id in (1, 2, 3)
        for directory in admin.describe_log_dirs(node_id)
        for each in directory.partitions
        if each.topic == "orders"
    }


def test_cancellation_ends_moves_between_directories_too() -> None:
    async def scene() -> None:
        async with cluster() as found:
            for node_id in (1, 2, 3):
                await found.start(node_id, log_dirs="/a,/b", replica_fetch_max_bytes="1500")
            await create_orders(found)
            for number in range(8):
                await produce(found, b"%1000d" % number)
            before = await call(found, logs_of)
            other = {node_id: "/b" if path == "/a" else "/a" for node_id, path, _ in before}
            await execute(found, [1, 2, 3], MoveOptions(log_dirs=other, log_dirs_throttle=1))
            copied = await call(found, logs_of) - before
            assert copied == {(node_id, path, True) for node_id, path in other.items()}
            assert await call(found, cluster_reassign_run.moving) == [ORDERS]

            errors = await call(
                found,
                lambda admin: cluster_reassign_run.cancel(
                    admin, [ORDERS], preserve_throttles=False
                ),
            )

            assert errors == {NAME: None}
            assert await call(found, logs_of) == before
            assert await call(found, cluster_reassign_run.moving) == []

    run(scene())
