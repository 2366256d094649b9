"""Tests of a fetcher: one request at a time, and each answer's effect on the local log."""

import asyncio

from cordwood.cluster.partition.partition_fetch_state import FetchPhase
from cordwood.core.errors import (
    CorruptMessageError,
    KafkaStorageError,
    NetworkError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
)
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.unit.cluster.fetchers.fetcher_world import (
    LEADER,
    ORDERS_ID,
    SETTINGS,
    A,
    B,
    FetcherWorld,
    MemoryLog,
    data,
    response,
    run,
)

LOST = NetworkError("lost")


def offsets(offset: int) -> ListOffsetsResponse:
    found = ListOffsetsPartitionResponse(partition_index=0, error_code=0, offset=offset)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=[found])])


def test_records_are_appended_and_the_next_fetch_continues_the_log() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        await world.answer(response(data(A, 3, high_watermark=2)))

        assert world.channel.fetched == [[(0, 0)], [(0, 3)]]
        assert world.replicas.changes == [("append", 0, 3)]
        assert world.replicas.logs[A].high_watermark == 2

    run(scene)


def test_one_request_is_on_its_way_at_a_time() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        await world.follow(B)
        assert world.channel.fetched == [[(0, 0)]]

        await world.answer(response(data(A, 1)))

        assert world.channel.fetched == [[(0, 0)], [(1, 0), (0, 1)]]

    run(scene)


def test_log_start_and_high_watermark_follow_without_records() -> None:
    async def scene(world: FetcherWorld) -> None:
        log = world.replicas.logs[A]
        log.log_end = 9
        log.epochs.assign(LeaderEpoch(3), Offset(0))
        await world.follow(A)
        await world.answer(response(data(A, high_watermark=8, log_start=5)))

        assert (log.high_watermark, log.log_start, log.log_end) == (8, 5, 9)

    run(scene)


def test_request_waits_for_the_changes_of_the_response_before() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.replicas.logs[B].is_held = True
        await world.follow(A, B)
        await world.answer(response(data(B, 1), data(A, 1)))
        assert (len(world.channel.fetches), world.end_of(A), world.end_of(B)) == (1, 1, 0)

        world.replicas.go_on()
        await world.pass_time(0)

        assert world.channel.fetched[1:] == [[(0, 1), (1, 1)]]

    run(scene)


def test_diverging_log_is_truncated_and_fetched_from_there() -> None:
    async def scene(world: FetcherWorld) -> None:
        log = world.replicas.logs[A]
        log.log_end = log.high_watermark = 9
        log.epochs.assign(LeaderEpoch(3), Offset(0))
        await world.follow(A)
        await world.answer(response(data(A, diverging=(3, 6))))

        assert world.replicas.changes == [("truncate", 0, 6)]
        assert world.channel.fetched == [[(0, 9)], [(0, 6)]]
        assert world.manager.counts.truncations == 1

    run(scene)


def test_fetch_below_the_leaders_log_start_begins_there() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        await world.answer(response(data(A, error=OffsetOutOfRangeError.code)))
        await world.answer(offsets(50))
        await world.answer(offsets(40))

        asked = [each for each in world.channel.sent if isinstance(each, ListOffsetsRequest)]
        assert [each.topics[0].partitions[0].timestamp for each in asked] == [-1, -2]
        assert world.replicas.changes == [("start", 0, 40)]
        assert world.channel.fetched[-1] == [(0, 40)]

    run(scene)


def test_request_without_a_response_is_repeated_after_the_backoff() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        await world.answer(LOST)
        assert len(world.channel.sent) == 1

        await world.pass_time(SETTINGS.backoff_ms)

        assert world.channel.fetched == [[(0, 0)], [(0, 0)]]
        assert world.manager.counts.failed_requests == 1

    run(scene)


def test_errors_of_requests_are_reported_once_until_one_succeeds() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        for each in (LOST, LOST, response(data(A, 1)), LOST):
            await world.answer(each)
            await world.pass_time(SETTINGS.backoff_ms)

        assert world.events == ["fetcher 0 of broker 2: a request has failed: lost"] * 2

    run(scene)


def test_damaged_records_are_fetched_again_after_the_backoff() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.replicas.logs[A].error = CorruptMessageError("damaged")
        await world.follow(A)
        await world.answer(response(data(A, 3)))
        assert len(world.channel.sent) == 1

        await world.pass_time(SETTINGS.backoff_ms)
        await world.answer(response(data(A, 3)))

        assert world.end_of(A) == 3

    run(scene)


def test_unexpected_error_of_one_log_does_not_stop_the_others() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.replicas.logs[A].error = ValueError("wrong")
        await world.follow(A, B)
        await world.answer(response(data(A, 1), data(B, 1)))

        assert world.manager.failed_partitions() == [A]
        assert world.channel.fetched[1:] == [[(1, 1)]]
        assert world.events == ["fetcher 0 of broker 2: orders-0: orders-0: ValueError('wrong')"]

    run(scene)


def test_error_of_a_change_that_waited_fails_the_partition() -> None:
    async def scene(world: FetcherWorld) -> None:
        log = world.replicas.logs[A]
        log.is_held, log.log_end = True, 9
        log.epochs.assign(LeaderEpoch(3), Offset(0))
        log.error = KafkaStorageError("the disk")
        await world.follow(A)
        await world.answer(response(data(A, diverging=(3, 6))))

        world.replicas.go_on()
        await world.pass_time(0)

        state = world.manager.state_of(A)
        assert state is not None
        assert (state.phase, str(state.error)) == (FetchPhase.FAILED, "the disk")

    run(scene)


def test_partition_whose_log_is_lost_is_not_fetched_any_longer() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, B)
        del world.replicas.logs[A]
        await world.answer(response(data(A, 1), data(B, 1)))

        assert world.manager.failed_partitions() == [A]
        assert world.channel.fetched[1:] == [[(1, 1)]]

    run(scene)


def test_next_leader_epoch_discards_the_response_of_the_one_before() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, epoch=4)
        await world.follow(A, epoch=5)
        await world.answer(response(data(A, 3)))

        assert world.replicas.changes == []
        fetch = world.channel.fetches[-1]
        assert fetch.topics[0].partitions[0].current_leader_epoch == 5

    run(scene)


def test_long_response_is_applied_in_several_turns_of_the_loop() -> None:
    async def scene(world: FetcherWorld) -> None:
        loop, ends = asyncio.get_running_loop(), list[tuple[int, int]]()

        def take_long() -> None:
            world.time.advance(ms=5)
            loop.call_soon(lambda: ends.append((world.end_of(A), world.end_of(B))))

        world.replicas.on_change = take_long
        await world.follow(A, B)
        await world.answer(response(data(A, 1), data(B, 1)))

        assert ends == [(1, 0), (1, 1)]

    run(scene)


def test_listed_partition_counts_and_waits_above_the_limit() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.quota.limit = 4
        world.quota.throttle("orders", [0])
        await world.follow(A)
        await world.answer(response(data(A, 9, high_watermark=20)))
        assert world.channel.fetched == [[(0, 0)]]

        await world.pass_time(1_000)
        assert world.quota.rate == 9
        assert world.channel.fetched == [[(0, 0)]]

        await world.pass_time(1_000)
        await world.pass_time(1_000)
        assert world.channel.fetched == [[(0, 0)], [(0, 9)]]

    run(scene)


def test_bytes_of_other_partitions_do_not_count() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.quota.throttle("orders", [0])
        await world.follow(B)
        await world.answer(response(data(B, 9)))

        assert world.quota.rate == 0

    run(scene)


def test_replica_in_sync_is_fetched_above_the_limit() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.quota.limit = 4
        world.quota.throttle("orders", None)
        await world.follow(A)
        await world.answer(response(data(A, 9, high_watermark=9)))
        await world.answer(response(data(A, 9, high_watermark=18)))

        assert world.channel.fetched == [[(0, 0)], [(0, 9)], [(0, 18)]]

    run(scene)


def test_replica_in_sync_follows_another_leader_above_the_limit() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.quota.limit = 4
        world.quota.throttle("orders", None)
        world.quota.record(9)
        await world.follow(B)
        assert world.channel.fetched == []

        world.manager.follow(A, ORDERS_ID, leader=LEADER, leader_epoch=5, is_in_sync=True)
        await world.pass_time(0)

        assert world.channel.fetched == [[(0, 0)]]

    run(scene)


def test_partition_that_returns_after_a_change_without_a_log_is_copied() -> None:
    """Its topic is deleted while a change waits for the disk, and created again after it."""

    async def scene(world: FetcherWorld) -> None:
        stopped = NotLeaderOrFollowerError("the partition has been deleted")
        world.replicas.logs[A] = MemoryLog(is_held=True, error=stopped)
        await world.follow(A, B)
        await world.answer(response(data(A, 1), data(B, 1)))
        world.manager.stop_following([A])
        del world.replicas.logs[A]
        world.replicas.go_on()
        await world.pass_time(0)

        world.replicas.logs[A] = MemoryLog()
        await world.follow(A)
        await world.answer(response(data(B, 1)))

        assert world.channel.fetched[-1] == [(0, 0), (1, 2)]

    run(scene)
