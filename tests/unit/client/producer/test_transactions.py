"""Transactions of a producer against a fake broker; `tests/interop` runs them against Kafka."""

import pytest

from cordwood.client.producer.producer import Producer
from cordwood.core.errors import (
    ConcurrentTransactionsError,
    InvalidRequestError,
    InvalidTxnStateError,
    TransactionAbortableError,
)
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.produce import ProduceRequest
from cordwood.records.record_batch import RecordBatch
from tests.unit.client.admin.coordinator_scripts import coordinates, finalizes
from tests.unit.client.fake_broker import FakeBroker, broker, partition_answer, run


def producer(fake: FakeBroker, level: int = 2) -> "Producer[bytes, bytes]":
    coordinates(fake)
    finalizes(fake, level)
    return Producer(fake.address, transactional_id="etl", retry_backoff_ms=1, linger_ms=0)


def ended(code: int = 0, epoch: int = -1) -> EndTxnResponse:
    return EndTxnResponse(error_code=code, producer_id=-1 if epoch < 0 else 7, producer_epoch=epoch)


def added(_: AddPartitionsToTxnRequest, code: int = 0) -> AddPartitionsToTxnResponse:
    result = AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=code)
    topic = AddPartitionsToTxnTopicResult(name="t", results_by_partition=[result])
    return AddPartitionsToTxnResponse(results_by_topic=[topic])


def headers(fake: FakeBroker) -> list[tuple[int, int, bool]]:
    """Epoch, base sequence and transactional bit of each batch in the log."""
    batches = [RecordBatch(each) for each in fake.logs["t", 0]]
    return [(each.producer_epoch, each.base_sequence, each.is_transactional) for each in batches]


async def transaction(sending: "Producer[bytes, bytes]") -> None:
    await sending.begin()
    await (await sending.send("t", b"plank"))
    await sending.commit()


def test_sequences_begin_at_0_with_each_epoch_of_version_2() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sending:
            fake.script(EndTxnRequest, lambda _: ended(0, 1), lambda _: ended(0, 2))
            await transaction(sending)
            await transaction(sending)
            assert headers(fake) == [(0, 0, True), (1, 0, True)]
            assert {each.transactional_id for each in fake.requests(ProduceRequest)} == {"etl"}

    run(scene())


def test_partitions_are_added_and_sequences_go_on_before_version_2() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, 1) as sending:
            fake.script(AddPartitionsToTxnRequest, added, added)
            fake.script(EndTxnRequest, lambda _: ended(), lambda _: ended())
            await transaction(sending)
            await transaction(sending)
            assert headers(fake) == [(0, 0, True), (0, 1, True)]

    run(scene())


def test_abort_after_an_error_requests_an_epoch_before_version_2() -> None:
    bumped = InitProducerIdResponse(error_code=0, producer_id=7, producer_epoch=1)

    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, 1) as sending:
            fake.script(AddPartitionsToTxnRequest, added, added)
            fake.script(EndTxnRequest, lambda _: ended(), lambda _: ended())
            fake.script(ProduceRequest, lambda _: partition_answer(error_code=87))
            await sending.begin()
            await sending.send("t", b"invalid")
            with pytest.raises(Exception, match="call `abort`"):
                await sending.commit()
            fake.script(InitProducerIdRequest, lambda _: bumped)
            await sending.abort()
            await transaction(sending)
            assert headers(fake) == [(1, 0, True)]

    run(scene())


def test_abort_drops_the_records_that_were_not_sent() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sending:
            fake.script(EndTxnRequest, lambda _: ended(0, 1))
            await sending.begin()
            sent = await sending.send("t", b"a")
            await sent
            dropped = sending.offer(
                sending.record("t", b"b", key=None, partition=0, timestamp_ms=1, headers=())
            )
            await sending.abort()
            assert dropped is not None
            with pytest.raises(TransactionAbortableError, match="aborted before the record"):
                await dropped

    run(scene())


def test_abort_comes_after_the_partitions_before_version_2() -> None:
    """A partition that is added after EndTxn would begin another transaction."""
    both = (AddPartitionsToTxnRequest, EndTxnRequest)

    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, 1) as sending:
            fake.script(
                AddPartitionsToTxnRequest,
                lambda request: added(request, ConcurrentTransactionsError.code),
                added,
            )
            fake.script(EndTxnRequest, lambda _: ended())
            await sending.begin()
            await sending.send("t", b"a")
            while not fake.requests(AddPartitionsToTxnRequest):
                await fake.next_request()
            await sending.abort()
            assert [type(each) for each in fake.asked if isinstance(each, both)] == [
                AddPartitionsToTxnRequest,
                AddPartitionsToTxnRequest,
                EndTxnRequest,
            ]

    run(scene())


def test_abort_that_is_not_abortable_is_fatal() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sending:
            fake.script(EndTxnRequest, lambda _: ended(120))
            await sending.begin()
            await (await sending.send("t", b"a"))
            with pytest.raises(TransactionAbortableError):
                await sending.abort()
            with pytest.raises(TransactionAbortableError, match="create another one"):
                await sending.begin()

    run(scene())


def test_producer_without_an_id_has_no_transactions() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, Producer(fake.address) as sending:
            with pytest.raises(InvalidRequestError, match="no transactional_id"):
                await sending.begin()

    run(scene())


def test_record_outside_a_transaction_is_rejected() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sending:
            with pytest.raises(InvalidTxnStateError, match="call `begin` first"):
                await sending.send("t", b"a")

    run(scene())


def test_abort_of_a_transaction_that_the_coordinator_does_not_know_succeeds() -> None:
    """The request that would have begun it did not arrive; its producer cannot know that."""
    bumped = InitProducerIdResponse(error_code=0, producer_id=7, producer_epoch=1)

    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, 1) as sending:
            fake.script(AddPartitionsToTxnRequest, lambda request: added(request, 29), added)
            fake.script(
                EndTxnRequest, lambda _: ended(InvalidTxnStateError.code), lambda _: ended()
            )
            await sending.begin()
            await sending.send("t", b"a")
            with pytest.raises(Exception, match="call `abort`"):
                await sending.commit()
            fake.script(InitProducerIdRequest, lambda _: bumped)
            await sending.abort()
            await transaction(sending)
            assert headers(fake) == [(1, 0, True)]

    run(scene())


def test_repeated_abort_continues_with_the_next_epoch() -> None:
    """InitProducerId may have been handled: the next epoch would fence another EndTxn."""
    timed_out = InitProducerIdResponse(
        error_code=InvalidRequestError.code, producer_id=-1, producer_epoch=-1
    )
    bumped = InitProducerIdResponse(error_code=0, producer_id=7, producer_epoch=1)

    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, 1) as sending:
            fake.script(AddPartitionsToTxnRequest, added, added)
            fake.script(EndTxnRequest, lambda _: ended(), lambda _: ended())
            fake.script(ProduceRequest, lambda _: partition_answer(error_code=87))
            await sending.begin()
            await sending.send("t", b"invalid")
            with pytest.raises(Exception, match="call `abort`"):
                await sending.commit()
            fake.script(InitProducerIdRequest, lambda _: timed_out, lambda _: bumped)
            with pytest.raises(InvalidRequestError):
                await sending.abort()
            await sending.abort()
            assert len(fake.requests(EndTxnRequest)) == 1
            await transaction(sending)
            assert headers(fake) == [(1, 0, True)]

    run(scene())
