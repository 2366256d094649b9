"""Tests of the handlers of transactions, on a broker with its logs."""

import pytest

from cordwood.broker.handlers.group_offsets import offset_fetch
from cordwood.broker.handlers.transactions import add_partitions_to_txn
from cordwood.broker.loop_turns import TurnQueue
from cordwood.core.errors import OffsetMetadataTooLargeError
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.coordinators.coordinator_samples import TRANSACTION, coordinating, locate
from tests.unit.broker.handlers.transaction_samples import TransactionalProducerOf
from tests.unit.broker.test_loop_turns import SteppingClock, turns_of


async def begun(harness: BrokerHarness, *, version: int = 11) -> TransactionalProducerOf:
    """Return a producer that has its id."""
    await locate(harness)
    await locate(harness, "t", TRANSACTION)
    producer = TransactionalProducerOf(harness, version=version)
    assert await producer.init() == 0
    return producer


async def committed_offset(harness: BrokerHarness) -> tuple[int, int]:
    """Return the error and the committed offset of the group `g`."""
    request = OffsetFetchRequest(
        group_id="g",
        topics=[OffsetFetchRequestTopic(name="orders", partition_indexes=[0])],
        require_stable=True,
    )
    answer = await offset_fetch(harness.broker, harness.context(7), request)
    partition = answer.topics[0].partitions[0]
    return partition.error_code, partition.committed_offset


@pytest.mark.parametrize("is_commit", (True, False))
def test_transaction_with_added_partitions_ends_with_its_markers(*, is_commit: bool) -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            producer = await begun(harness)
            codes = [await producer.add(), await producer.send(), await producer.send()]
            open_bounds = producer.bounds()
            codes.append(await producer.end(committed=is_commit))
            return codes, open_bounds, producer.bounds(), producer.epoch

    assert run(scene()) == ([0, 0, 0, 0], (0, 2), (3, 3), 0)


def test_quirk_05_transaction_of_version_2_adds_its_partitions_itself() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            producer = await begun(harness, version=13)
            codes = [await producer.send(0), await producer.send(1)]
            codes.append(await producer.end(version=5))
            second = [await producer.send(0), await producer.end(version=5)]
            return codes, second, (producer.id, producer.epoch), producer.bounds()

    assert run(scene()) == ([0, 0, 0], [0, 0], (0, 2), (4, 4))


def test_batch_of_a_partition_that_was_not_added_is_rejected() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            producer = await begun(harness)
            found = [await producer.send()]
            producer.version = 10
            found.append(await producer.send())
            return found

    assert run(scene()) == [120, 48]


def test_batch_without_a_transactional_id_is_not_authorized() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            producer = await begun(harness)
            return await producer.send(key=None)

    assert run(scene()) == 53


def test_batch_of_an_unknown_transactional_id_is_rejected() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            producer = await begun(harness, version=12)
            return await producer.send(key="another")

    assert run(scene()) == 49


def test_batch_is_not_appended_while_no_coordinator_serves() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            producer = await begun(harness, version=12)
            transactions = harness.broker.coordinators.transactions
            transactions.runtime.resign(transactions.partition_of("t"))
            return await producer.send()

    assert run(scene()) == 19


def test_zombie_is_fenced_by_the_next_producer_of_its_id() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            zombie, successor = await begun(harness), TransactionalProducerOf(harness)
            await successor.init()
            return [
                await zombie.add(),
                await zombie.add(version=1),
                await zombie.end(),
                await successor.add(),
            ]

    assert run(scene()) == [90, 47, 90, 0]


@pytest.mark.parametrize(("is_commit", "found"), ((True, (0, 7)), (False, (0, -1))))
@pytest.mark.parametrize("version", (4, 5))
def test_offsets_in_a_transaction_count_once_it_is_committed(
    *, version: int, is_commit: bool, found: tuple[int, int]
) -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            producer = await begun(harness)
            codes = [0 if version == 5 else await producer.add_offsets()]
            codes.append(await producer.commit_offset(7, version=version))
            pending = await committed_offset(harness)
            codes.append(await producer.end(committed=is_commit, version=version))
            return codes, pending, await committed_offset(harness)

    assert run(scene()) == ([0, 0, 0], (88, -1), found)


def test_offsets_without_an_addition_are_rejected() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            producer = await begun(harness)
            return [await producer.commit_offset(7, version=each) for each in (4, 3)]

    assert run(scene()) == [120, 48]


def test_offsets_without_a_record_leave_no_guard_to_another_append() -> None:
    async def scene() -> tuple[int, object]:
        async with coordinating() as harness:
            producer = await begun(harness)
            code = await producer.commit_offset(7, version=5, metadata="m" * 4_097)
            coordinators = harness.broker.coordinators
            log = coordinators.group_log(coordinators.groups.partition_of("g"))
            return code, log.guard

    assert run(scene()) == (OffsetMetadataTooLargeError.code, None)


def test_offsets_in_a_transaction_survive_a_restart_of_both_coordinators() -> None:
    async def scene() -> tuple[tuple[int, int], ...]:
        async with coordinating() as harness:
            producer = await begun(harness)
            await producer.commit_offset(7, version=5)
            found = harness.broker.coordinators
            for runtime in (found.groups.runtime, found.transactions.runtime):
                for number in runtime.partitions():
                    log = runtime.log(number)
                    assert log is not None
                    runtime.elect(log)
            await locate(harness)
            pending = await committed_offset(harness)
            await producer.end(version=5)
            return pending, await committed_offset(harness)

    assert run(scene()) == ((88, -1), (0, 7))


def test_missing_partition_fails_the_whole_addition() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            producer = await begun(harness)
            request = AddPartitionsToTxnRequest(
                transactions=[
                    AddPartitionsToTxnTransaction(
                        transactional_id="t",
                        producer_id=producer.id,
                        producer_epoch=producer.epoch,
                        topics=[AddPartitionsToTxnTopic(name="orders", partitions=[0, 9])],
                    )
                ]
            )
            answer = await add_partitions_to_txn(harness.broker, harness.context(5), request)
            (topic,) = answer.results_by_transaction[0].topic_results
            return [each.partition_error_code for each in topic.results_by_partition]

    assert run(scene()) == [55, 3]


def test_requests_without_a_coordinator_have_its_error() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            producer = TransactionalProducerOf(harness)
            return [
                await producer.init(),
                await producer.add(),
                await producer.add_offsets(),
                await producer.commit_offset(7, version=5),
                await producer.end(),
            ]

    assert run(scene()) == [16, 16, 16, 16, 16]


def test_transaction_that_times_out_is_aborted_by_the_clock_of_the_logs() -> None:
    async def scene() -> tuple[tuple[int, int], tuple[int, int], int]:
        async with coordinating() as harness:
            producer = await begun(harness)
            await producer.add()
            await producer.send()
            before = producer.bounds()
            harness.storage.clock.advance(seconds=75)
            await locate(harness)
            return before, producer.bounds(), await producer.end()

    assert run(scene()) == ((0, 1), (2, 2), 90)


def added_once(*topics: AddPartitionsToTxnTopic) -> list[tuple[str, list[tuple[int, int]]]]:
    """Add partitions to a new transaction; return the results."""

    async def scene() -> list[tuple[str, list[tuple[int, int]]]]:
        async with coordinating() as harness:
            producer = await begun(harness)
            request = AddPartitionsToTxnRequest(
                transactional_id="t",
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                topics=[*topics],
            )
            answer = await add_partitions_to_txn(harness.broker, harness.context(3), request)
            return [
                (
                    each.name,
                    [
                        (one.partition_index, one.partition_error_code)
                        for one in each.results_by_partition
                    ],
                )
                for each in answer.results_by_topic
            ]

    return run(scene())


def test_partition_that_is_named_twice_is_added_and_answered_once() -> None:
    first = AddPartitionsToTxnTopic(name="orders", partitions=[1, 1, 0])
    second = AddPartitionsToTxnTopic(name="orders", partitions=[1])

    assert added_once(first, second) == [("orders", [(1, 0), (0, 0)])]


def test_missing_partition_fails_the_others_of_its_transaction() -> None:
    orders = AddPartitionsToTxnTopic(name="orders", partitions=[0, 9])

    assert added_once(orders) == [("orders", [(0, 55), (9, 3)])]


def test_results_of_many_missing_partitions_are_made_in_turns() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            producer = await begun(harness)
            request = AddPartitionsToTxnRequest(
                transactional_id="t",
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                topics=[AddPartitionsToTxnTopic(name="none", partitions=[*range(200)])],
            )
            harness.broker.turns = TurnQueue(SteppingClock())
            return await turns_of(
                add_partitions_to_txn(harness.broker, harness.context(3), request)
            )

    checked_in, made_in = 20, 20
    assert run(scene()) > checked_in + made_in - 5
