"""Tests of one partition of an internal topic."""

import pytest

from cordwood.coordination.runtime.coordinator_context import CoordinatorContext, ShardState
from cordwood.coordination.runtime.coordinator_timers import CoordinatorTimers
from cordwood.coordination.runtime.runtime_ports import ShardKind
from cordwood.coordination.topic_view import Topics
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    KafkaStorageError,
    NotCoordinatorError,
)
from cordwood.protocol.messages.internal import GROUP_RECORDS
from tests.unit.broker.broker_samples import run
from tests.unit.coordination.runtime.runtime_samples import (
    CountingShard,
    MemoryLog,
    RuntimeHarness,
)


def context_of(log: MemoryLog, harness: RuntimeHarness) -> CoordinatorContext[CountingShard]:
    kind = ShardKind("t", GROUP_RECORDS, CountingShard)
    return CoordinatorContext(log, kind, harness.ports, timers=CoordinatorTimers(harness.ports))


def test_partition_serves_once_it_is_loaded() -> None:
    harness = RuntimeHarness()
    context = context_of(harness.log(), harness)
    with pytest.raises(CoordinatorLoadInProgressError):
        context.require_active()

    run(context.load(lambda: Topics(version=3)))

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

    run(context.load(Topics))

    assert context.state is ShardState.FAILED
    with pytest.raises(NotCoordinatorError):
        context.require_active()


def test_partition_that_is_closed_while_it_loads_does_not_serve() -> None:
    harness = RuntimeHarness()
    context = context_of(harness.log(), harness)
    loading = context.load(Topics)
    context.close(NotCoordinatorError("moved"))

    run(loading)

    assert context.active is None


def test_time_of_a_load_is_counted() -> None:
    harness = RuntimeHarness()
    context = context_of(harness.log(), harness)

    run(context.load(Topics))

    assert harness.loads == [("t", 0)]
