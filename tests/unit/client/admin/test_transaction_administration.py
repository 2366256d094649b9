"""Calls about transactions against a fake coordinator; `tests/interop` runs them against Kafka."""

import pytest

from cordwood.client.admin.admin_client import Admin
from cordwood.client.group_offset import GroupOffset
from cordwood.client.network.coordinator_call import TRANSACTION
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import ProducerFencedError, UnsupportedVersionError
from cordwood.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tests.unit.client.admin.coordinator_scripts import coordinates, finalizes
from tests.unit.client.fake_broker import FakeBroker, broker, run, versions

HANDLE = TransactionHandle("etl", 7, 3, 2)


def admin(fake: FakeBroker, level: int = 2) -> Admin:
    coordinates(fake)
    finalizes(fake, level)
    return Admin(fake.address, retry_backoff_ms=1)


def ended(code: int = 0, producer_id: int = -1, epoch: int = -1) -> EndTxnResponse:
    return EndTxnResponse(error_code=code, producer_id=producer_id, producer_epoch=epoch)


def test_end_returns_the_handle_of_the_next_transaction() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(EndTxnRequest, lambda _: ended(51), lambda _: ended(0, 7, 4))
            assert await asking.end_transaction(HANDLE, commit=True) == HANDLE._replace(epoch=4)
            requests = fake.requests(EndTxnRequest)
            assert [each.committed for each in requests] == [True, True]
            assert {each.key_type for each in fake.requests(FindCoordinatorRequest)} == {
                TRANSACTION
            }

    run(scene())


def test_handle_of_the_old_protocol_stays() -> None:
    old = HANDLE._replace(transaction_version=1)

    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(EndTxnRequest, lambda _: ended())
            assert await asking.end_transaction(old, commit=False) == old

    run(scene())


def test_end_is_rejected_if_the_cluster_has_lost_the_protocol() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake, level=1) as asking:
            with pytest.raises(UnsupportedVersionError, match=r"lowered transaction\.version"):
                await asking.end_transaction(HANDLE, commit=True)
            assert fake.requests(EndTxnRequest) == []

    run(scene())


def test_error_of_an_end_names_handle_and_remedy() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(EndTxnRequest, lambda _: ended(90))
            with pytest.raises(
                ProducerFencedError, match=r"commit of transactional id 'etl', .*; a"
            ):
                await asking.end_transaction(HANDLE, commit=True)

    run(scene())


def test_fencing_returns_the_new_epoch() -> None:
    answer = InitProducerIdResponse(error_code=0, producer_id=7, producer_epoch=4)

    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(InitProducerIdRequest, lambda _: answer)
            assert await asking.fence_producers(["etl"]) == {"etl": HANDLE._replace(epoch=4)}
            (found,) = fake.requests(FindCoordinatorRequest)
            assert found.key_type == TRANSACTION

    run(scene())


def test_fencing_gives_the_id_a_transaction_timeout() -> None:
    answer = InitProducerIdResponse(error_code=0, producer_id=7, producer_epoch=4)

    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(InitProducerIdRequest, lambda _: answer)
            await asking.fence_producers(["etl"], timeout_ms=5_000)
            (request,) = fake.requests(InitProducerIdRequest)
            assert request.transaction_timeout_ms == 5_000

    run(scene())


def committed(code: int = 0) -> TxnOffsetCommitResponse:
    partition = TxnOffsetCommitResponsePartition(partition_index=0, error_code=code)
    return TxnOffsetCommitResponse(
        topics=[TxnOffsetCommitResponseTopic(name="t", partitions=[partition])]
    )


@pytest.mark.parametrize(("version", "additions"), ((1, 1), (2, 0)))
def test_offsets_are_committed_in_the_transaction_of_a_handle(version: int, additions: int) -> None:
    handle = HANDLE._replace(transaction_version=version)

    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(AddOffsetsToTxnRequest, lambda _: AddOffsetsToTxnResponse(error_code=0))
            fake.script(TxnOffsetCommitRequest, lambda _: committed(51), lambda _: committed())
            offsets = {("t", 0): GroupOffset(5, "record")}
            await asking.commit_transaction_offsets(handle, "g", offsets=offsets)
            assert len(fake.requests(AddOffsetsToTxnRequest)) == additions
            _, request = fake.requests(TxnOffsetCommitRequest)
            assert (request.group_id, request.producer_id, request.producer_epoch) == ("g", 7, 3)
            (found,) = request.topics[0].partitions
            assert (found.committed_offset, found.committed_metadata) == (5, "record")

    run(scene())


def test_error_of_committed_offsets_names_handle_group_and_partition() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(TxnOffsetCommitRequest, lambda _: committed(90))
            with pytest.raises(ProducerFencedError, match=r"'etl', .*group 'g', t-0.*fenced"):
                await asking.commit_transaction_offsets(HANDLE, "g", offsets={("t", 0): 5})

    run(scene())


@pytest.mark.parametrize("given", ({"pattern": "e.*"}, {"min_duration_ms": 5}))
def test_filter_that_a_broker_lacks_is_an_error(given: dict[str, object]) -> None:
    async def scene() -> None:
        async with broker() as fake, Admin(fake.address, retry_backoff_ms=1) as asking:
            fake.script(ApiVersionsRequest, lambda _: versions(ListTransactions=(0, 0)))
            with pytest.raises(UnsupportedVersionError, match="too old to filter transactions"):
                await asking.list_transactions(**given)  # type: ignore[arg-type]  # by name

    run(scene())
