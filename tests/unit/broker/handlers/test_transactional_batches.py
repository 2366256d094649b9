"""Tests of the transactional batches of a Produce request."""

from cordwood.broker.handlers.transactional_batches import verify_batches
from cordwood.broker.loop_turns import LoopTurns
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from cordwood.storage.producers.verification_guard import VerificationGuard
from tests.unit.broker.broker_samples import run
from tests.unit.broker.coordinators.coordinator_samples import coordinating
from tests.unit.broker.handlers.test_transactions import begun
from tests.unit.storage.log_samples import batch, produced


async def verified(*records: bytearray | None, key: str | None = "t") -> dict[int, str]:
    """Verify a request with these record sets, one a partition; return the kinds of outcomes."""
    async with coordinating() as harness:
        producer = await begun(harness)
        assert producer.id == 0
        request = ProduceRequest(
            transactional_id=key,
            acks=-1,
            timeout_ms=1000,
            topics=[
                TopicProduceData(
                    name="orders",
                    partitions=[
                        PartitionProduceData(
                            index=index, records=None if each is None else memoryview(each)
                        )
                        for index, each in enumerate(records)
                    ],
                )
            ],
        )
        found = await verify_batches(
            harness.broker, harness.context(12), request, turns=LoopTurns(harness.broker.turns)
        )
        return {
            index: "guard" if isinstance(each, VerificationGuard) else type(each).__name__
            for (_, index), each in found.items()
        }


def in_transaction(producer_id: int) -> bytearray:
    return produced(0, producer=(producer_id, 0), is_transactional=True)


def test_transactional_batches_alone_are_verified() -> None:
    found = run(verified(in_transaction(0), batch(1)))

    assert found == {0: "guard"}


def test_request_without_a_transactional_id_has_nothing_to_verify() -> None:
    assert run(verified(in_transaction(0), key=None)) == {}


def test_invalid_batches_and_missing_partitions_are_left_to_the_append() -> None:
    found = run(verified(None, bytearray(b"short"), in_transaction(0)))

    assert found == {}


def test_batches_of_several_producers_are_all_rejected() -> None:
    found = run(verified(in_transaction(0), in_transaction(1)))

    assert found == {0: "InvalidProducerIdMappingError", 1: "InvalidProducerIdMappingError"}
