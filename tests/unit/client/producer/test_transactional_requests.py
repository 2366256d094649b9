"""Requests of a transactional producer are retried, and their versions follow the cluster."""

from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.runtime import system_runtime
from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.producer.transaction_manager import TransactionManager
from cordwood.client.producer.transactional_requests import CoordinatorRequests
from cordwood.client.settings import ProducerSettings
from cordwood.client.topic_partitions import partitions_of
from cordwood.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from tests.unit.client.admin.coordinator_scripts import coordinates, finalizes
from tests.unit.client.fake_broker import FakeBroker, broker, run

(PARTITION,) = partitions_of([("t", 0)])


def requests(fake: FakeBroker, version: int) -> tuple[NetworkClient, CoordinatorRequests]:
    coordinates(fake)
    finalizes(fake, version)
    settings = ProducerSettings(
        bootstrap_servers=fake.address, transactional_id="etl", retry_backoff_ms=1
    )
    client, manager = NetworkClient(settings, system_runtime(), None), TransactionManager("etl")
    manager.initialize(ProducerIdentity(7, 3), version)
    return client, CoordinatorRequests(client, settings, manager)


def test_present_identity_asks_for_the_next_epoch() -> None:
    def answer(code: int) -> InitProducerIdResponse:
        return InitProducerIdResponse(error_code=code, producer_id=7, producer_epoch=4)

    async def scene() -> None:
        async with broker() as fake:
            client, asking = requests(fake, 2)
            fake.script(InitProducerIdRequest, lambda _: answer(51), lambda _: answer(0))
            assert await asking.request_identity() == (ProducerIdentity(7, 4), 2)
            first, second = fake.requests(InitProducerIdRequest)
            assert first == second
            assert (first.transactional_id, first.producer_epoch) == ("etl", 3)
            await client.close()

    run(scene())


def test_group_is_added_before_its_offsets_only_before_version_2() -> None:
    async def scene(version: int) -> int:
        async with broker() as fake:
            client, asking = requests(fake, version)
            fake.script(AddOffsetsToTxnRequest, lambda _: AddOffsetsToTxnResponse(error_code=0))
            fake.script(TxnOffsetCommitRequest, lambda _: TxnOffsetCommitResponse(topics=[]))
            await asking.commit_offsets({PARTITION: GroupOffset(1)}, GroupMetadata("g"))
            await client.close()
            return len(fake.requests(AddOffsetsToTxnRequest))

    assert [run(scene(version)) for version in (1, 2)] == [1, 0]


def test_end_without_an_identity_in_its_answer_keeps_the_present_one() -> None:
    async def scene() -> None:
        async with broker() as fake:
            client, asking = requests(fake, 1)
            fake.script(EndTxnRequest, lambda _: EndTxnResponse(error_code=0))
            assert await asking.end(commit=True) is None
            await client.close()

    run(scene())
