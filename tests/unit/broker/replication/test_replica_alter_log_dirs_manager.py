"""Tests of moves between log directories: their begin, their end, their errors."""

import asyncio
import errno

import pytest

from cordwood.core.errors import (
    InvalidTopicError,
    KafkaStorageError,
    LogDirNotFoundError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import TopicName
from cordwood.storage.manager import log_creation, log_renames
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.replication.replica_moves import FIRST, SMALL, Mover, scene
from tests.unit.storage.manager_samples import ORDERS_ID, partition


def test_move_back_is_a_move_too_and_the_present_directory_none() -> None:
    async def play(mover: Mover) -> None:
        await mover.move("/a")
        assert mover.directory == "/a/orders-0"
        await mover.move("/b")
        await mover.move("/a")

    moved = scene(play)

    assert moved.directory == "/a/orders-0"
    assert moved.values() == [(at, at) for at in range(5)]


def test_other_target_replaces_a_move_and_the_present_directory_cancels_it() -> None:
    async def play(mover: Mover) -> None:
        mover.harness.broker.throttles.log_dirs.limit = 1
        await mover.move("/b")
        assert FIRST in mover.harness.manager.futures
        await mover.move("/a")

    moved = scene(play, Mover(config=SMALL))

    assert moved.directory == "/a/orders-0"
    assert moved.harness.manager.futures == {}
    assert moved.orders.log.lease.is_free


def test_deleted_partition_ends_its_move() -> None:
    async def play(mover: Mover) -> None:
        mover.harness.broker.throttles.log_dirs.limit = 1
        await mover.move()
        mover.harness.drop(3)
        log_renames.delete_future(mover.harness.manager, FIRST)
        log_renames.delete(mover.harness.manager, FIRST)
        mover.harness.time.advance(ms=1_000)
        await mover.settle()

    moved = scene(play, Mover(config=SMALL))

    assert moved.harness.manager.logs_of(TopicName("orders")) == []
    assert any("while it moved" in each for each in moved.harness.storage.events)


def test_partition_that_is_created_again_moves_after_the_end_of_its_former_move() -> None:
    async def play(mover: Mover) -> None:
        harness = mover.harness
        harness.broker.throttles.log_dirs.limit = 1
        await mover.move()
        harness.drop(3)
        log_renames.delete_future(harness.manager, FIRST)
        log_renames.delete(harness.manager, FIRST)
        await asyncio.to_thread(harness.host, 3)
        mover.orders = harness.broker.partitions.get("orders", 0)
        source = mover.directory
        target = "/b" if source.startswith("/a/") else "/a"
        harness.broker.throttles.log_dirs.limit = 1 << 40
        await mover.move(target)
        assert mover.directory == source  # the former move sleeps, and has not noticed
        harness.time.advance(ms=1_000)
        await mover.settle()
        assert mover.directory == f"{target}/orders-0"

    scene(play, Mover(config=SMALL))


def test_unknown_directory_and_long_names_are_rejected() -> None:
    async def play(mover: Mover) -> None:
        with pytest.raises(LogDirNotFoundError, match="/c is not one of"):
            await mover.moves.alter(FIRST, "/c")
        with pytest.raises(InvalidTopicError):
            await mover.moves.alter(partition(0, "t" * 240), "/b")

    scene(play)


def test_offline_directory_is_rejected() -> None:
    async def play(mover: Mover) -> None:
        mover.harness.manager.fail(mover.harness.manager.directories[1], OSError("gone"))
        with pytest.raises(KafkaStorageError):
            await mover.moves.alter(FIRST, "/b")

    scene(play)


def test_replica_that_does_not_exist_is_created_in_the_wanted_directory() -> None:
    async def play(mover: Mover) -> None:
        with pytest.raises(UnknownTopicOrPartitionError):
            await mover.moves.alter(partition(9), "/a")

    moved = scene(play)
    log = log_creation.create(moved.harness.manager, partition(9), topic_id=ORDERS_ID)

    assert log.directory == "/a/orders-9"


def test_failed_rename_leaves_the_log_in_its_directory() -> None:
    async def play(mover: Mover) -> None:
        mover.harness.storage.files.script.add(
            FileFault(on="rename", path="/b/orders-0", code=errno.ENOSPC)
        )
        await mover.move()
        assert mover.directory == "/a/orders-0"
        mover.append()
        # The request again continues the move.
        await mover.move()

    moved = scene(play)

    assert moved.directory == "/b/orders-0"
    assert moved.values()[-1] == (5, 5)
    assert any("does not move" in each for each in moved.harness.storage.events)


def test_stopped_move_is_continued_by_the_next_life() -> None:
    async def play(mover: Mover) -> None:
        mover.harness.broker.throttles.log_dirs.limit = 1
        await mover.move()
        assert 0 < mover.harness.manager.futures[FIRST].bounds.log_end < 5

    async def next_life(mover: Mover) -> None:
        mover.harness.broker.throttles.log_dirs.limit = 1 << 40
        mover.moves.start()
        await mover.settle()

    mover = scene(play, Mover(config=SMALL))
    scene(next_life, mover)

    assert mover.directory == "/b/orders-0"
    assert mover.values() == [(at, at) for at in range(5)]
