"""Tests of the runtime of the shards of one internal topic."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

import pytest

from cordwood.broker.network.stop_signal import StopSignal
from cordwood.coordination.outcome import Outcome
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.runtime.coordinator_runtime import CoordinatorRuntime
from cordwood.coordination.runtime.pending_result import result_of
from cordwood.coordination.runtime.runtime_ports import TURN_MS
from cordwood.coordination.topic_view import Topics
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    KafkaError,
    KafkaStorageError,
    MessageTooLargeError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    UnknownServerError,
)
from cordwood.protocol.messages.heartbeat import HeartbeatResponse
from tests.unit.broker.broker_samples import run, turns
from tests.unit.coordination.runtime.runtime_samples import RuntimeHarness, group_record


async def error_of(scene: Awaitable[object]) -> type[KafkaError]:
    with pytest.raises(KafkaError) as caught:
        await scene
    return type(caught.value)


def test_request_for_a_partition_that_is_not_led_here_gets_not_coordinator() -> None:
    async def scene() -> type[KafkaError]:
        return await error_of(RuntimeHarness().add("g"))

    assert run(scene()) is NotCoordinatorError


def test_request_to_a_partition_that_loads_gets_load_in_progress() -> None:
    async def scene() -> type[KafkaError]:
        harness = RuntimeHarness()
        harness.runtime.elect(harness.log())
        return await error_of(harness.add("g"))

    assert run(scene()) is CoordinatorLoadInProgressError


def test_records_are_replayed_and_the_answer_is_given() -> None:
    async def scene() -> tuple[list[str], HeartbeatResponse]:
        harness = RuntimeHarness()
        shard = await harness.elect()
        answer = await harness.add("g", "h")
        return shard.groups, answer

    assert run(scene()) == (["g", "h"], HeartbeatResponse(error_code=0))


def test_loaded_shard_has_the_records_and_offsets_of_a_live_one() -> None:
    async def scene() -> tuple[list[tuple[str, int]], ...]:
        harness = RuntimeHarness()
        log = harness.log()
        live = await harness.elect(log)
        await harness.add("g", "h")
        await harness.add("i")
        harness.runtime.resign(0)
        loaded = await harness.elect(log)
        return tuple(
            [(group, each.offset) for group, each in zip(shard.groups, shard.stored, strict=True)]
            for shard in (live, loaded)
        )

    live, loaded = run(scene())

    assert live == loaded == [("g", 0), ("h", 1), ("i", 2)]


def test_answers_wait_until_all_earlier_appends_count() -> None:
    async def scene() -> tuple[list[bool], list[str]]:
        harness = RuntimeHarness()
        log = harness.log()
        shard = await harness.elect(log)
        log.holds = True
        async with asyncio.TaskGroup() as group:
            first = group.create_task(harness.add("g"))
            second = group.create_task(harness.add("h"))
            await turns()
            second_append = log.held.pop(1)
            second_append.set_result(1)
            await turns()
            states = [first.done(), second.done()]
            log.count()
            await turns()
            states += [first.done(), second.done()]
        return states, shard.groups

    assert run(scene()) == ([False, False, True, True], ["g", "h"])


def test_rejected_append_changes_nothing_and_has_the_error_for_clients() -> None:
    async def scene() -> tuple[type[KafkaError], list[str], int]:
        harness = RuntimeHarness()
        log = harness.log()
        shard = await harness.elect(log)
        log.rejection = NotEnoughReplicasError("none")
        error = await error_of(harness.add("g"))
        return error, shard.groups, len(harness.shards)

    assert run(scene()) == (CoordinatorNotAvailableError, [], 1)


def test_append_that_fails_late_loads_the_shard_again() -> None:
    async def scene() -> tuple[type[KafkaError], list[str], list[str]]:
        harness = RuntimeHarness()
        log = harness.log()
        shard = await harness.elect(log)
        log.holds = True
        task = asyncio.ensure_future(harness.add("g"))
        await turns()
        log.batches.clear()
        log.held.pop().set_exception(KafkaStorageError("broken"))
        error = await error_of(task)
        await turns(10)
        return error, shard.groups, harness.shards[-1].groups

    assert run(scene()) == (NotCoordinatorError, ["g"], [])


def test_shared_batch_that_is_rejected_loads_the_shard_again_without_its_records() -> None:
    async def scene() -> tuple[list[type[KafkaError]], list[str], HeartbeatResponse]:
        harness = RuntimeHarness()
        loop, log = asyncio.get_running_loop(), harness.log()
        ports = replace(harness.ports, call_soon=loop.call_soon)
        harness.runtime = CoordinatorRuntime(harness.kind, ports)
        await harness.elect(log)
        await harness.add("acknowledged")
        waiting = asyncio.ensure_future(harness.wait())
        await turns()
        log.late_rejection = MessageTooLargeError("a smaller limit")
        shared = [asyncio.ensure_future(harness.add(each)) for each in ("g", "h")]
        errors = [await error_of(each) for each in (waiting, *shared)]
        log.late_rejection = None
        await turns(10)
        return errors, harness.shards[-1].groups, await harness.add("g")

    errors, groups, answer = run(scene())

    assert errors == [CoordinatorNotAvailableError] * 3
    assert (groups, answer) == (["acknowledged", "g"], HeartbeatResponse(error_code=0))


def test_leadership_that_ends_answers_the_requests_that_wait() -> None:
    async def scene() -> type[KafkaError]:
        harness = RuntimeHarness()
        await harness.elect()
        task = asyncio.ensure_future(harness.wait())
        await turns()
        harness.runtime.resign(0)
        return await error_of(task)

    assert run(scene()) is NotCoordinatorError


def test_later_leader_epoch_replaces_the_shard_and_an_older_one_is_fenced() -> None:
    async def scene() -> tuple[int, int]:
        harness = RuntimeHarness()
        await harness.elect(harness.log(epoch=3))
        await harness.elect(harness.log(epoch=4))
        with pytest.raises(FencedLeaderEpochError):
            harness.runtime.elect(harness.log(epoch=3))
        log = harness.runtime.log(0)
        assert log is not None
        return len(harness.shards), log.leader_epoch

    assert run(scene()) == (2, 4)


def test_unexpected_error_of_a_shard_fails_its_requests_and_loads_it_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> tuple[type[KafkaError], list[str]]:
        harness = RuntimeHarness()
        shard = await harness.elect()
        shard.on_replay = lambda _: 1 // 0
        error = await error_of(harness.add("g"))
        await turns(10)
        await harness.add("h")
        return error, harness.shards[-1].groups

    assert run(scene()) == (UnknownServerError, ["h"])
    assert "ZeroDivisionError" in caplog.text


def test_partition_that_cannot_be_loaded_is_tried_again_after_a_backoff() -> None:
    async def scene() -> tuple[type[KafkaError], int, int]:
        harness = RuntimeHarness()
        log = harness.log()
        log.load_error = KafkaStorageError("a bad disk")
        await harness.elect(log)
        error = await error_of(harness.add("g"))
        before, log.load_error = log.loads, None
        harness.network_clock.advance(ms=100)
        await turns(10)
        await harness.add("g")
        return error, before, log.loads

    assert run(scene()) == (NotCoordinatorError, 1, 2)


def test_failures_in_a_row_wait_longer_each_time() -> None:
    async def scene() -> list[int]:
        harness = RuntimeHarness()
        log = harness.log()
        log.load_error = KafkaStorageError("a bad disk")
        await harness.elect(log)
        loads = []
        for _ in range(4):
            harness.network_clock.advance(ms=100)
            await turns(10)
            loads.append(log.loads)
        return loads

    assert run(scene()) == [2, 2, 3, 3]


def test_cancelled_request_leaves_no_trace() -> None:
    async def scene() -> bool:
        harness = RuntimeHarness()
        log = harness.log()
        await harness.elect(log)
        log.holds = True
        task = asyncio.ensure_future(harness.add("g"))
        await turns()
        task.cancel()
        await asyncio.wait([task])
        log.count()
        return task.cancelled()

    assert run(scene())


def test_request_whose_client_has_gone_does_not_wait() -> None:
    async def scene() -> type[KafkaError]:
        harness = RuntimeHarness()
        await harness.elect()
        gone = StopSignal()
        task = asyncio.ensure_future(harness.wait(gone))
        await turns()
        gone.fire()
        return await error_of(task)

    assert run(scene()) is CoordinatorNotAvailableError


def test_read_does_not_see_the_middle_of_a_long_event() -> None:
    async def scene() -> set[tuple[str, ...]]:
        harness = RuntimeHarness()
        call_soon = asyncio.get_running_loop().call_soon
        harness.runtime = CoordinatorRuntime(
            harness.kind, replace(harness.ports, call_soon=call_soon)
        )
        shard = await harness.elect()
        harness.shard_time_ms = TURN_MS
        records = [group_record(each) for each in "ghi"]
        harness.runtime.begin(0, lambda *_: Outcome(rest=lambda: Outcome(records=records)))
        reads = []
        while len(shard.groups) < len(records):
            read = harness.runtime.read(0, lambda shard: (*shard.groups,))
            reads.append(asyncio.ensure_future(read))
            await turns(1)
        assert len(reads) > 1
        return {*await asyncio.gather(*reads)}

    assert run(scene()) == {("g", "h", "i")}


def test_marker_is_written_and_applied() -> None:
    async def scene() -> tuple[list[tuple[int, ...]], ...]:
        harness = RuntimeHarness()
        log = harness.log()
        live = await harness.elect(log)
        await harness.add("g")
        marker = TransactionMarker(7, 2, 0, is_commit=True, partitions=frozenset())
        await result_of(harness.runtime.end_transaction(0, marker))
        harness.runtime.resign(0)
        loaded = await harness.elect(log)
        return tuple([tuple(each) for each in shard.markers] for shard in (live, loaded))

    live, loaded = run(scene())

    assert live == loaded == [(7, 2, 1, True)]


def test_every_active_shard_sees_changed_topics_once() -> None:
    async def scene() -> list[list[int]]:
        harness = RuntimeHarness()
        await harness.elect(harness.log(0))
        await harness.elect(harness.log(1))
        harness.runtime.update_topics(Topics(version=3))
        harness.runtime.update_topics(Topics(version=4))
        await turns()
        await harness.elect(harness.log(2))
        return [each.versions for each in harness.shards]

    assert run(scene()) == [[0, 4], [0, 4], [4]]


def test_load_gives_the_loop_a_turn_when_its_own_is_over() -> None:
    async def scene() -> int:
        harness = RuntimeHarness()
        log = harness.log()
        for number in range(3):
            log.append([group_record(f"g{number}-{each}") for each in range(30)])
        harness.shard_time_ms = 1
        await harness.elect(log)
        return harness.passed_turns

    assert run(scene()) == 3


def test_stopped_runtime_answers_everything_and_serves_nothing() -> None:
    async def scene() -> list[type[KafkaError]]:
        harness = RuntimeHarness()
        await harness.elect()
        task = asyncio.ensure_future(harness.wait())
        await turns()
        await harness.runtime.stop()
        await harness.elect()
        return [await error_of(task), await error_of(harness.add("g"))]

    assert run(scene()) == [CoordinatorNotAvailableError, CoordinatorNotAvailableError]
