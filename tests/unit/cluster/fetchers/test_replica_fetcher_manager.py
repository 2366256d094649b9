"""Tests of the manager: which fetcher copies which partition, and the ends of fetchers."""

import pytest

from cordwood.cluster.fetchers.fetcher_settings import FetcherSettings
from cordwood.cluster.fetchers.replica_fetcher_manager import LeaderEndpoint
from cordwood.core.address import Address
from cordwood.core.types import LeaderEpoch, Offset
from tests.unit.cluster.fetchers.fetcher_world import (
    LEADER,
    A,
    B,
    C,
    FetcherWorld,
    data,
    response,
    run,
    turns,
)

OTHER = LeaderEndpoint(3, Address("other", 9092))


def test_partitions_of_one_leader_share_a_connection() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, B)

        assert len(world.channels.opened) == world.manager.fetchers == 1
        assert world.channel.address == LEADER.address
        assert world.channel.client_id == "broker-1-fetcher-0"

    run(scene)


def test_partitions_are_spread_over_the_fetchers_by_kafkas_hash() -> None:
    """Kafka: `(31 * "orders".hashCode() + partition)`, as an int, modulo 4."""

    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, B, C)

        numbers = {
            each.client_id: [partition for fetch in each.fetched for partition, _ in fetch]
            for each in world.channels.opened
        }
        assert numbers == {
            "broker-1-fetcher-1": [0],
            "broker-1-fetcher-0": [1],
            "broker-1-fetcher-3": [2],
        }

    run(scene, settings=FetcherSettings(fetchers_per_leader=4))


def test_partition_moves_to_the_leader_of_the_next_epoch() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, B)
        first = world.channel
        await world.follow(A, epoch=5, leader=OTHER)
        first.answer(response(data(A, 3), data(B, 1)))
        await turns()

        assert world.replicas.changes == [("append", 1, 1)]
        assert first.fetched[1:] == [[(1, 1)]]
        assert world.channel.fetched == [[(0, 0)]]

    run(scene)


def test_older_leader_epoch_has_no_effect() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, epoch=5)
        await world.follow(A, epoch=4, leader=OTHER)

        assert [each.address for each in world.channels.opened] == [LEADER.address]

    run(scene)


def test_partition_that_is_not_followed_any_longer_does_not_change() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, B)
        world.manager.stop_following([A, C])
        await world.answer(response(data(A, 3), data(B, 1)))

        assert world.replicas.changes == [("append", 1, 1)]
        assert world.manager.state_of(A) is None

    run(scene)


def test_fetcher_ends_after_its_last_partition() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        world.manager.stop_following([A])
        await world.answer(response(data(A, 3)))

        assert (world.manager.fetchers, world.channel.is_closed) == (0, True)

    run(scene)


def test_fetcher_whose_last_partition_comes_back_continues() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        world.manager.stop_following([A])
        await world.follow(B)
        await world.answer(response(data(A, 3)))

        assert len(world.channels.opened) == 1
        assert world.channel.fetched == [[(0, 0)], [(1, 0)]]

    run(scene)


def test_new_address_of_a_leader_is_used_at_once() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        first = world.channel
        await world.follow(A, epoch=5, leader=LeaderEndpoint(2, Address("moved", 9092)))

        assert first.is_closed
        assert world.channel.address == Address("moved", 9092)
        assert world.channel.fetched == [[(0, 0)]]

    run(scene)


def test_partition_without_a_log_is_not_followed() -> None:
    async def scene(world: FetcherWorld) -> None:
        del world.replicas.logs[A]
        await world.follow(A)

        assert world.manager.state_of(A) is None
        assert world.events == ["orders-0 is not copied: orders-0 is offline"]
        assert world.manager.fetchers == 0

    run(scene)


def test_failed_partition_that_is_followed_again_is_fetched_again() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, B)
        world.replicas.logs[A].error = ValueError("wrong")
        await world.answer(response(data(A, 1)))
        assert world.manager.failed_partitions() == [A]

        await world.follow(A)
        await world.answer(response(data(B, 1)))

        assert world.manager.failed_partitions() == []
        assert (0, 0) in world.channel.fetched[-1]

    run(scene)


def test_paused_partition_is_not_fetched_until_it_is_resumed() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, B)
        world.manager.pause(A)
        await world.answer(response(data(B, 1)))
        forgotten = world.channel.fetches[-1].forgotten_topics
        world.manager.resume(A)
        await world.answer(response(data(B, 1)))

        assert [each.partitions for each in forgotten] == [[0]]
        assert world.channel.fetched[1:] == [[(1, 1)], [(0, 0), (1, 2)]]

    run(scene)


def test_stopped_manager_sends_nothing_and_changes_nothing() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        await world.manager.stop()
        await world.follow(B)

        assert (world.manager.fetchers, world.channel.is_closed) == (0, True)
        assert world.replicas.changes == []
        assert len(world.channels.opened) == 1

    run(scene)


def test_change_that_ends_after_the_stop_has_no_effect_on_the_fetcher() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.replicas.logs[A].is_held = True
        await world.follow(A)
        await world.answer(response(data(A, 1)))
        await world.manager.stop()
        world.replicas.go_on()
        await turns()

        assert world.end_of(A) == 1
        assert len(world.channel.sent) == 1

    run(scene)


def test_counts_are_those_of_all_fetchers() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, B)
        await world.answer(response(data(A, 3, high_watermark=10), data(B, 2, high_watermark=2)))

        assert world.manager.counts.bytes == 5
        assert world.manager.max_lag() == 7

    run(scene)


@pytest.mark.parametrize("epoch", (4, 5))
def test_log_without_epochs_is_truncated_to_its_high_watermark_first(epoch: int) -> None:
    async def scene(world: FetcherWorld) -> None:
        log = world.replicas.logs[A]
        log.log_end, log.high_watermark = 9, 6
        await world.follow(A, epoch=epoch)

        assert world.replicas.changes == [("truncate", 0, 6)]
        assert world.channel.fetched == [[(0, 6)]]
        assert log.epochs.end_offset_for(LeaderEpoch(0), Offset(6)).end_offset == -1

    run(scene)
