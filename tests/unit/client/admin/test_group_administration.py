"""Calls about groups against a fake coordinator; `tests/interop` runs them against Kafka."""

import pytest

from cordwood.client.admin.admin_client import Admin
from cordwood.core.errors import NonEmptyGroupError, UnsupportedVersionError
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from cordwood.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from cordwood.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.unit.client.admin.coordinator_scripts import coordinates
from tests.unit.client.admin.test_group_responses import classic
from tests.unit.client.fake_broker import FakeBroker, broker, run, versions


def admin(fake: FakeBroker) -> Admin:
    coordinates(fake)
    return Admin(fake.address, retry_backoff_ms=1)


def missing() -> ConsumerGroupDescribeResponse:
    group = DescribedGroup(
        error_code=69,
        group_id="g",
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )
    return ConsumerGroupDescribeResponse(groups=[group])


def test_group_is_described_as_a_classic_one_if_it_is_not_a_consumer_group() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(ConsumerGroupDescribeRequest, lambda _: missing())
            fake.script(DescribeGroupsRequest, lambda _: DescribeGroupsResponse(groups=[classic()]))
            (found,) = await asking.describe_groups(["g"])
            assert found.type == "classic"

    run(scene())


def test_commit_is_retried_while_the_coordinator_loads() -> None:
    def committed(code: int) -> OffsetCommitResponse:
        partition = OffsetCommitResponsePartition(partition_index=0, error_code=code)
        topic = OffsetCommitResponseTopic(name="t", partitions=[partition])
        return OffsetCommitResponse(topics=[topic])

    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(OffsetCommitRequest, lambda _: committed(14), lambda _: committed(0))
            await asking.alter_group_offsets("g", {("t", 0): 5})
            first, second = fake.requests(OffsetCommitRequest)
            assert first == second
            assert first.topics[0].partitions[0].committed_offset == 5

    run(scene())


def test_all_groups_are_deleted_before_an_error_is_raised() -> None:
    def deleted(request: DeleteGroupsRequest) -> DeleteGroupsResponse:
        (name,) = request.group_names
        result = DeletableGroupResult(group_id=name, error_code=68 if name == "a" else 0)
        return DeleteGroupsResponse(results=[result])

    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(DeleteGroupsRequest, deleted, deleted)
            with pytest.raises(NonEmptyGroupError, match=r"'a': .*; stop the group's members"):
                await asking.delete_groups(["a", "b"])
            assert len(fake.requests(DeleteGroupsRequest)) == 2

    run(scene())


def test_filter_that_a_broker_lacks_is_an_error() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(ApiVersionsRequest, lambda _: versions(ListGroups=(0, 4)))
            with pytest.raises(UnsupportedVersionError, match="cannot filter groups by type"):
                await asking.list_groups(types=["consumer"])

    run(scene())
