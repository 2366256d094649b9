"""Records of several partitions are deleted at their leaders, each for itself (K-C7)."""

import pytest

from cordwood.client.admin.admin_client import Admin
from cordwood.core.errors import KafkaError, UnknownTopicOrPartitionError
from cordwood.protocol.messages.delete_records import DeleteRecordsRequest
from tests.unit.client.admin.test_record_deletion import NOT_LEADER, OUT_OF_RANGE, T0, T1, response
from tests.unit.client.fake_broker import broker, run


def test_partition_that_is_missing_does_not_keep_the_others() -> None:
    async def scene() -> None:
        async with (
            broker(t=2, u=1) as fake,
            Admin(fake.address, retry_backoff_ms=1, default_api_timeout_ms=200) as admin,
        ):
            fake.script(DeleteRecordsRequest, lambda _: response({0: 0, 1: 0}))
            with pytest.raises(
                UnknownTopicOrPartitionError,
                match=r"partition 9.*; deleted: t-0 up to 10, t-1 up to 11; not confirmed: t-9",
            ):
                await admin.delete_records({("t", 9): 1, T0: 1, T1: 1})
            assert len(fake.requests(DeleteRecordsRequest)) == 1

    run(scene())


def test_admin_deletes_records_of_all_partitions_before_it_raises() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, Admin(fake.address, retry_backoff_ms=1) as admin:
            fake.script(
                DeleteRecordsRequest,
                lambda _: response({0: OUT_OF_RANGE, 1: NOT_LEADER}),
                lambda _: response({1: 0}),
            )
            with pytest.raises(KafkaError, match=r"t-0: .*; deleted: t-1 up to 11"):
                await admin.delete_records({T0: 99, T1: -1})
            asked = fake.requests(DeleteRecordsRequest)
            sent = [[each.partition_index for each in one.topics[0].partitions] for one in asked]
            assert sent == [[0, 1], [1]]

    run(scene())
