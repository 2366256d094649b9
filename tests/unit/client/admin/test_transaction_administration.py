"""Calls about transactions against a fake coordinator; `tests/interop` runs them against Kafka."""

import pytest

from cordwood.client.admin.admin_client import Admin
from cordwood.client.network.coordinator_call import TRANSACTION
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import ProducerFencedError, UnsupportedVersionError
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
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


@pytest.mark.parametrize("given", ({"pattern": "e.*"}, {"min_duration_ms": 5}))
def test_filter_that_a_broker_lacks_is_an_error(given: dict[str, object]) -> None:
    async def scene() -> None:
        async with broker() as fake, Admin(fake.address, retry_backoff_ms=1) as asking:
            fake.script(ApiVersionsRequest, lambda _: versions(ListTransactions=(0, 0)))
            with pytest.raises(UnsupportedVersionError, match="too old to filter transactions"):
                await asking.list_transactions(**given)  # type: ignore[arg-type]  # by name

    run(scene())
