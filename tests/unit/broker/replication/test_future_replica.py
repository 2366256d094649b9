"""Tests of the copy of a replica to another log directory, and of its replacement."""

import asyncio

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.partition_leader import AppendRequest
from cordwood.broker.pending_results import wait_for
from cordwood.storage.log.log_read import FetchIsolation
from tests.unit.broker.broker_samples import turns
from tests.unit.broker.replication.replica_moves import FIRST, SMALL, Mover, scene
from tests.unit.storage.log_samples import batch, offsets, produced
from tests.unit.storage.manager_samples import HeldWorker


def test_moved_replica_has_all_records_in_the_other_directory() -> None:
    moved = scene(Mover.move, Mover(config=SMALL))

    assert moved.directory == "/b/orders-0"
    assert moved.values() == [(at, at) for at in range(5)]
    assert moved.harness.manager.futures == {}
    assert moved.orders.log.bounds.high_watermark == 5
    assert moved.orders.log.bounds.recovery_point == 5
    assert moved.orders.log.lease.is_free
    assert moved.harness.storage.names("/a")[0].endswith("-delete")
    assert "orders-0 has moved to /b/orders-0" in moved.harness.storage.events


def test_moved_leader_goes_on_with_appends_in_its_epoch() -> None:
    moved = scene(Mover.move)

    moved.append()

    assert moved.values()[-1] == (5, 5)
    assert moved.orders.log.bounds.high_watermark == 6
    assert [*moved.orders.log.epochs.entries] == [(3, 0)]


def test_epoch_without_records_is_known_after_the_move() -> None:
    mover = Mover(records=2)
    mover.orders.apply(PartitionImage((1,), (1,), 1, 7))

    scene(Mover.move, mover)

    assert mover.orders.last_offset_for_leader_epoch(6).end_offset == 2
    assert [*mover.orders.log.epochs.entries] == [(3, 0), (7, 2)]


def test_log_start_and_high_watermark_are_kept() -> None:
    mover = Mover()
    mover.orders.delete_records(3)

    scene(Mover.move, mover)

    bounds = mover.orders.log.bounds
    assert (bounds.log_start, bounds.high_watermark, bounds.log_end) == (3, 5, 5)


def test_log_that_begins_within_a_batch_keeps_that_batch() -> None:
    mover = Mover(records=0)
    mover.orders.append(memoryview(batch(4)))
    mover.orders.delete_records(2)

    scene(Mover.move, mover)

    assert mover.orders.log.bounds.log_start == 2
    assert offsets(mover.orders.read(2, max_bytes=1 << 20, isolation=FetchIsolation.LOG_END)) == [
        (0, 3)
    ]


def test_producer_continues_its_sequence_after_the_move() -> None:
    mover = Mover(records=0)
    mover.orders.append(memoryview(produced(0)))

    scene(Mover.move, mover)
    repeated = mover.orders.append(memoryview(produced(0))).result()
    following = mover.orders.append(memoryview(produced(1))).result()

    assert (repeated.result.first_offset, following.result.first_offset) == (0, 1)


def test_append_during_the_replacement_waits_and_is_in_the_moved_log() -> None:
    worker = HeldWorker(holds_files=True)

    async def go_on() -> None:
        worker.go_on()
        await turns(1)

    async def play(mover: Mover) -> None:
        mover.append()
        while mover.orders.log.bounds.log_end == 0:
            await go_on()
        moving = asyncio.get_running_loop().create_task(mover.moves.alter(FIRST, "/b"))
        while mover.orders.log.changes.end_before_append() is None:
            assert mover.directory == "/a/orders-0"
            await go_on()
        pending = mover.orders.append(memoryview(batch()))
        assert not pending.done()
        while not pending.done():
            assert mover.orders.log.bounds.log_end == 1
            await go_on()
        await moving
        while not any("has moved" in each for each in mover.harness.storage.events):
            await go_on()
        assert pending.result().result.first_offset == 1
        assert mover.directory == "/b/orders-0"

    assert scene(play, Mover(records=0, worker=worker)).values() == [(0, 0), (1, 1)]


def test_acknowledgement_that_waits_for_followers_survives_the_move() -> None:
    async def play(mover: Mover) -> None:
        mover.orders.apply(PartitionImage((1, 2), (1, 2), 1, 4))
        mover.orders.follower(2, leader_epoch=4)(5)
        pending = mover.orders.append(memoryview(batch()), AppendRequest(acks=-1))
        await mover.move()
        assert not pending.done()
        mover.orders.follower(2, leader_epoch=4)(6)
        assert (await wait_for(pending)).result.first_offset == 5

    assert scene(play).directory == "/b/orders-0"


def test_rate_above_the_limit_delays_the_copy() -> None:
    async def play(mover: Mover) -> None:
        quota = mover.harness.broker.throttles.log_dirs
        quota.limit = 1
        await mover.move()
        assert mover.directory == "/a/orders-0"
        copied = mover.harness.manager.futures[FIRST].bounds.log_end
        assert 0 < copied < 5
        quota.limit = 1 << 40
        mover.harness.time.advance(ms=1_000)
        await mover.settle()

    assert scene(play, Mover(config=SMALL)).directory == "/b/orders-0"


def test_truncated_records_leave_the_copy_too() -> None:
    async def play(mover: Mover) -> None:
        mover.harness.broker.throttles.log_dirs.limit = 1
        mover.orders.apply(PartitionImage((1, 2), (1, 2), 2, 4))
        await mover.move()
        copied = mover.harness.manager.futures[FIRST].bounds.log_end
        assert copied > 1
        pending = mover.orders.followed(4).truncate(1)
        if pending is not None:
            await wait_for(pending)
        mover.harness.broker.throttles.log_dirs.limit = 1 << 40
        mover.harness.time.advance(ms=1_000)
        await mover.settle()

    moved = scene(play, Mover(config=SMALL))

    assert moved.directory == "/b/orders-0"
    assert moved.orders.log.bounds.log_end == 1


def test_follower_goes_on_with_its_moved_log() -> None:
    async def play(mover: Mover) -> None:
        mover.orders.apply(PartitionImage((1, 2), (1, 2), 2, 4))
        await mover.move()

    moved = scene(play).orders

    assert moved.followed(4).log.directory == "/b/orders-0"
