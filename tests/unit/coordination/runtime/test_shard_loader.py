"""Tests of the load of a shard."""

from dataclasses import replace

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.runtime import shard_loader
from cordwood.protocol.messages.internal import OffsetCommitKey, OffsetCommitValue
from tests.unit.broker.broker_samples import run
from tests.unit.coordination.runtime.runtime_samples import (
    CountingShard,
    MemoryLog,
    RuntimeHarness,
    group_record,
)


def loaded(log: MemoryLog, harness: RuntimeHarness) -> tuple[CountingShard, int]:
    shard = CountingShard()
    end = run(shard_loader.load(shard, log, kind=harness.kind, ports=harness.ports))
    return shard, end


def test_run_of_commits_is_replayed_as_one() -> None:
    harness, runs = RuntimeHarness(), list[CommittedRun]()
    kind = replace(harness.kind, replay_run=lambda _, run: runs.append(run))
    log = harness.log()
    value = OffsetCommitValue(offset=5, metadata="", commit_timestamp=7)
    key = OffsetCommitKey(group="g", topic="orders", partition=1)
    log.append([group_record("g"), group_record("h")])
    log.append([CoordinatorRecord(1, key, value, 4)] * 2)

    end = run(shard_loader.load(CountingShard(), log, kind=kind, ports=harness.ports))

    assert ([(each.topic, each.offset) for each in runs], end) == ([("orders", 3)], 4)


def test_empty_partition_is_loaded() -> None:
    harness = RuntimeHarness()

    shard, end = loaded(harness.log(), harness)

    assert (shard.groups, end) == ([], 0)


def test_records_and_markers_are_replayed_in_the_order_of_the_log() -> None:
    harness = RuntimeHarness()
    log = harness.log()
    log.append([group_record("g"), group_record("h")])
    log.append_marker(TransactionMarker(7, 2, 0, is_commit=False, partitions=frozenset()))

    shard, end = loaded(log, harness)

    assert (shard.groups, [each.offset for each in shard.markers], end) == (["g", "h"], [2], 3)


def test_large_chunk_is_decoded_on_the_worker() -> None:
    harness = RuntimeHarness()
    log = harness.log()
    log.append([group_record(f"{number:0100}") for number in range(100)])

    shard, end = loaded(log, harness)

    assert len(log.batches[0]) > shard_loader.SMALL_CHUNK_BYTES
    assert (len(shard.groups), end) == (100, 100)
