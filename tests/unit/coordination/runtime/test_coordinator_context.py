"""Tests of one partition of an internal topic."""

import asyncio

import pytest

from cordwood.coordination.runtime.coordinator_context import CoordinatorContext, ShardState
from cordwood.coordination.runtime.coordinator_timers import CoordinatorTimers
from cordwood.coordination.runtime.runtime_ports import ShardKind
from cordwood.coordination.topic_view import Topics
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    KafkaStorageError,
    NotCoordinatorError,
    NotLeaderOrFollowerError,
)
from cordwood.protocol.messages.internal import GROUP_RECORDS
from tests.unit.broker.broker_samples import run, turns
from tests.unit.coordination.runtime.runtime_samples import (
    CountingShard,
    MemoryLog,
    RuntimeHarness,
)

SLOTS = asyncio.Semaphore(1)


def context_of(log: MemoryLog, harness: RuntimeHarness) -> CoordinatorContext[CountingShard]:
    kind = ShardKind("t", GROUP_RECORDS, CountingShard)
    return CoordinatorContext(log, kind, harness.ports, timers=CoordinatorTimers(harness.ports))


def test_partition_serves_once_it_is_loaded() -> None:
    harness = RuntimeHarness()
    context = context_of(harness.log(), harness)
    with pytest.raises(CoordinatorLoadInProgressError):
        context.require_active()

    run(context.load(lambda: Topics(version=3), SLOTS))

    shard = context.require_active().shard
    assert (context.state, shard.versions, shard.loaded_ms) == (
        ShardState.ACTIVE,
        [3],
        harness.clock.now_ms(),
    )


def test_partition_that_cannot_be_loaded_is_failed() -> None:
    harness = RuntimeHarness()
    log = harness.log()
    log.load_error = KafkaStorageError("a bad disk")
    context = context_of(log, harness)

    run(context.load(Topics, SLOTS))

    assert context.state is ShardState.FAILED
    with pytest.raises(NotCoordinatorError):
        context.require_active()


def test_partition_that_is_closed_while_it_loads_does_not_serve() -> None:
    harness = RuntimeHarness()
    context = context_of(harness.log(), harness)
    loading = context.load(Topics, SLOTS)
    context.close(NotCoordinatorError("moved"))

    run(loading)

    assert context.active is None


def test_partition_serves_once_the_loaded_records_count() -> None:
    async def scene() -> tuple[ShardState, bool, ShardState]:
        harness = RuntimeHarness()
        log = harness.log()
        log.committed = asyncio.get_running_loop().create_future()
        context, slots = context_of(log, harness), asyncio.Semaphore(1)
        loading = asyncio.ensure_future(context.load(Topics, slots))
        await turns(10)
        before, is_free = context.state, not slots.locked()
        log.committed.set_result(None)
        await loading
        return before, is_free, context.state

    assert run(scene()) == (ShardState.LOADING, True, ShardState.ACTIVE)


def test_leadership_that_ends_before_the_loaded_records_count_is_not_served() -> None:
    async def scene() -> ShardState:
        harness = RuntimeHarness()
        log = harness.log()
        log.committed = asyncio.get_running_loop().create_future()
        log.committed.set_exception(NotLeaderOrFollowerError("moved"))
        context = context_of(log, harness)
        await context.load(Topics, SLOTS)
        return context.state

    assert run(scene()) is ShardState.FAILED


def test_task_of_a_shard_is_cancelled_at_its_end() -> None:
    async def scene() -> list[bool]:
        harness = RuntimeHarness()
        log = harness.log()
        context = context_of(log, harness)
        found = list[bool]()
        for end in (
            lambda active: active.on_broken(NotCoordinatorError("failed")),
            lambda _: context.close(NotCoordinatorError("moved")),
        ):
            await context.load(Topics, SLOTS)
            task = asyncio.ensure_future(asyncio.Event().wait())
            context.cancel_at_end(task)  # type: ignore[arg-type]  # it has no result either
            end(context.require_active())
            await turns()
            found.append(task.cancelled())
        return found

    assert run(scene()) == [True, True]


def test_time_of_a_load_is_counted() -> None:
    harness = RuntimeHarness()
    context = context_of(harness.log(), harness)

    run(context.load(Topics, SLOTS))

    assert harness.loads == [("t", 0)]
