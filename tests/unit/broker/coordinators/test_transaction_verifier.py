"""Tests of the verification of transactions before their first append."""

import asyncio

import pytest

from cordwood.broker.coordinators.transaction_verifier import TransactionalBatch, Verified
from cordwood.coordination.runtime.transaction_runtime import (
    FIRST_BACKOFF_MS as MARKER_BACKOFF_MS,
)
from cordwood.core.errors import InvalidProducerIdMappingError, KafkaError
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.storage.producers.verification_guard import VerificationGuard
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.coordinators.coordinator_samples import coordinating
from tests.unit.broker.handlers.test_transactions import begun
from tests.unit.broker.handlers.transaction_samples import TransactionalProducerOf
from tests.unit.storage.log_samples import produced


def header(producer_id: int, epoch: int = 0) -> BatchHeader:
    found = read_header(produced(0, producer=(producer_id, epoch), is_transactional=True))
    assert found is not None
    return found


async def verify(
    harness: BrokerHarness, *headers: BatchHeader, version: int = 12
) -> list[Verified]:
    """Verify batches for the first partition of `orders`."""
    partition = harness.broker.partitions.get("orders", 0)
    batches = [TransactionalBatch(partition, each) for each in headers]
    verifier = harness.broker.coordinators.verifier
    return await verifier.verify_batches("t", batches, api_version=version)


def codes(verified: list[Verified]) -> list[int]:
    return [each.code if isinstance(each, KafkaError) else 0 for each in verified]


def test_first_batch_of_a_transaction_gets_a_guard_and_later_ones_need_none() -> None:
    async def scene() -> tuple[bool, list[Verified]]:
        async with coordinating() as harness:
            producer = await begun(harness, version=12)
            (guard,) = await verify(harness, header(producer.id))
            await producer.send()
            return isinstance(guard, VerificationGuard), await verify(harness, header(producer.id))

    assert run(scene()) == (True, [None])


def test_batches_of_several_producers_are_rejected() -> None:
    async def scene() -> None:
        async with coordinating() as harness:
            await verify(harness, header(1), header(2))

    with pytest.raises(InvalidProducerIdMappingError):
        run(scene())


def test_batch_with_an_old_epoch_is_rejected_without_a_request() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            producer = await begun(harness, version=12)
            await producer.send()
            await producer.end(version=5)
            await producer.send()
            return codes(await verify(harness, header(producer.id, 0)))

    assert run(scene()) == [47]


def test_verification_that_is_off_is_left_out_but_not_the_addition() -> None:
    async def scene() -> tuple[list[Verified], list[int]]:
        given = {"transaction_partition_verification_enable": "false"}
        async with coordinating(**given) as harness:
            producer = await begun(harness)
            return (
                await verify(harness, header(producer.id), version=11),
                codes(await verify(harness, header(99), version=12)),
            )

    assert run(scene()) == ([None], [49])


async def busy(harness: BrokerHarness) -> TransactionalProducerOf:
    """Return a producer whose last transaction has no markers yet."""
    producer = await begun(harness, version=12)
    await producer.send()
    orders = harness.broker.partitions.get("orders", 0)
    state = harness.metadata.image.topics["orders"].partitions[0]
    orders.apply(state._replace(leader=2, leader_epoch=1))
    await producer.end(version=5)
    orders.apply(state._replace(leader=1, leader_epoch=2))
    return producer


def test_transaction_whose_markers_are_on_their_way_is_asked_for_again() -> None:
    async def scene() -> tuple[bool, list[int]]:
        async with coordinating() as harness:
            producer = await busy(harness)
            asking = asyncio.ensure_future(verify(harness, header(producer.id, producer.epoch)))
            await turns(20)
            waits = not asking.done()
            harness.time.advance(ms=20)
            await turns(20)
            harness.time.advance(ms=20)
            await turns(20)
            return waits, codes(await asking)

    assert run(scene()) == (True, [0])


def test_transaction_is_asked_for_again_as_soon_as_its_markers_are_written() -> None:
    async def scene() -> tuple[bool, list[int]]:
        given = {"add_partitions_to_txn_retry_backoff_ms": "100"}
        async with coordinating(**given) as harness:
            producer = await busy(harness)
            asking = asyncio.ensure_future(verify(harness, header(producer.id, producer.epoch)))
            await turns(20)
            waits = not asking.done()
            harness.time.advance(ms=MARKER_BACKOFF_MS)
            await turns(20)
            assert asking.done()
            return waits, codes(await asking)

    assert run(scene()) == (True, [0])


def test_transaction_that_stays_busy_is_rejected_after_a_short_time() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            producer = await busy(harness)
            state = harness.metadata.image.topics["orders"].partitions[0]
            orders = harness.broker.partitions.get("orders", 0)
            orders.apply(state._replace(leader=2, leader_epoch=3))
            other = TransactionalBatch(
                harness.broker.partitions.get("orders", 1), header(producer.id, producer.epoch)
            )
            asking = asyncio.ensure_future(
                harness.broker.coordinators.verifier.verify_batches("t", [other], api_version=12)
            )
            for _ in range(6):
                await turns(20)
                harness.time.advance(ms=20)
            return codes(await asking)

    assert run(scene()) == [51]
