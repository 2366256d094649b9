"""The admin client against a fake broker; `tests/interop` runs it against real brokers."""

from collections import Counter

import pytest

from cordwood.client.admin.admin_client import Admin
from cordwood.core.errors import (
    InvalidRequestError,
    SettingError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from cordwood.protocol.messages.alter_configs import AlterConfigsResourceResponse
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from cordwood.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from cordwood.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from cordwood.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from cordwood.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from cordwood.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from cordwood.protocol.messages.metadata import MetadataRequest
from tests.unit.client.fake_broker import FakeBroker, broker, run, versions


def admin(fake: FakeBroker) -> Admin:
    return Admin(fake.address, retry_backoff_ms=1)


def created(code: int, message: str | None = None) -> CreateTopicsResponse:
    response = CreatableTopicResult(
        name="t", error_code=code, error_message=message, num_partitions=3, replication_factor=1
    )
    return CreateTopicsResponse(topics=[response])


def deleted(code: int) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(responses=[DeletableTopicResult(name="t", error_code=code)])


def test_parts_of_the_client_share_no_names() -> None:
    """A name in two base classes would be that of the first one in both."""
    names = Counter(
        name for base in Admin.__bases__ for name in vars(base) if not name.startswith("__")
    )

    shared = {name for name, count in names.items() if count > 1}

    assert shared <= {"_abc_impl", "_started"}


def test_topics_are_listed_in_their_order() -> None:
    async def scene() -> None:
        async with broker(b=1, a=1) as fake, admin(fake) as asking:
            assert await asking.list_topics() == ["a", "b"]

    run(scene())


def test_topic_is_described_with_its_leaders() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, admin(fake) as asking:
            (topic,) = await asking.describe_topics(["t"])
            assert [each.leader for each in topic.partitions] == [1, 1]

    run(scene())


def test_topics_are_described_by_few_answers() -> None:
    async def scene() -> None:
        async with broker(t=1, u=2, v=3) as fake, admin(fake) as asking:
            topics = await asking.describe_topics(["t", "u", "v"])
            assert [each.name for each in topics] == ["t", "u", "v"]
            assert len(fake.requests(MetadataRequest)) == 1

    run(scene())


def test_topic_that_is_described_is_not_created() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, admin(fake) as asking:
            await asking.describe_topics(["t"])
            asked = fake.requests(MetadataRequest)
            assert not any(each.allow_auto_topic_creation for each in asked)

    run(scene())


def test_topic_is_created_by_the_controller() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(CreateTopicsRequest, lambda _: created(41), lambda _: created(0))
            made = await asking.create_topic("t", assignments={0: [1, 2]}, configs={"a": "b"})
            assert made.partitions == 3
            (topic,) = fake.requests(CreateTopicsRequest)[-1].topics
            assert topic.assignments[0].broker_ids == [1, 2]
            assert topic.configs[0].value == "b"

    run(scene())


def test_error_has_the_message_of_the_broker() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(CreateTopicsRequest, lambda _: created(36, "It is there."))
            with pytest.raises(TopicAlreadyExistsError, match="topic 't': It is there"):
                await asking.create_topic("t")

    run(scene())


def test_topic_is_deleted_by_name() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, admin(fake) as asking:
            fake.script(DeleteTopicsRequest, lambda _: deleted(0))
            await asking.delete_topic("t")
            assert fake.requests(DeleteTopicsRequest)[0].topics[0].name == "t"

    run(scene())


def test_missing_topic_is_rejected_without_a_retry() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(DeleteTopicsRequest, lambda _: deleted(3))
            with pytest.raises(UnknownTopicOrPartitionError, match="'t'"):
                await asking.delete_topic("t")

    run(scene())


def test_partitions_are_added() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, admin(fake) as asking:
            response = CreatePartitionsTopicResult(name="t", error_code=0)
            fake.script(
                CreatePartitionsRequest, lambda _: CreatePartitionsResponse(results=[response])
            )
            await asking.create_partitions("t", 4)
            assert fake.requests(CreatePartitionsRequest)[0].topics[0].count == 4

    run(scene())


def test_cluster_is_described() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            node = DescribeClusterBroker(broker_id=1, host="h", port=9)
            answer = DescribeClusterResponse(error_code=0, cluster_id="c", brokers=[node])
            fake.script(DescribeClusterRequest, lambda _: answer)
            assert (await asking.describe_cluster()).brokers[0].host == "h"

    run(scene())


def test_settings_are_changed_individually() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            response = AlterConfigsResourceResponse(
                error_code=0, error_message=None, resource_type=2, resource_name="t"
            )
            fake.script(
                IncrementalAlterConfigsRequest,
                lambda _: IncrementalAlterConfigsResponse(responses=[response]),
            )
            await asking.alter_configs(("topic", "t"), change={"a": "1"}, reset=["b"])
            (asked,) = fake.requests(IncrementalAlterConfigsRequest)[0].resources
            changes = [(each.name, each.config_operation, each.value) for each in asked.configs]
            assert changes == [("a", 0, "1"), ("b", 1, None)]

    run(scene())


def test_missing_broker_is_rejected() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            with pytest.raises(InvalidRequestError, match="no broker 9; it has"):
                await asking.describe_configs(("broker", "9"))
            with pytest.raises(InvalidRequestError, match="not a broker id"):
                await asking.describe_configs(("broker", "x"))

    run(scene())


def test_resource_of_unknown_type_is_rejected() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            with pytest.raises(SettingError, match="choose one of topic"):
                await asking.describe_configs(("tpoic", "t"))

    run(scene())


def test_resources_of_a_kind_are_listed() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            found = [ConfigResource(resource_name=each, resource_type=32) for each in "ba"]
            answer = ListConfigResourcesResponse(error_code=0, config_resources=found)
            fake.script(ListConfigResourcesRequest, lambda _: answer)
            assert await asking.list_config_resources("group") == ["a", "b"]
            assert fake.requests(ListConfigResourcesRequest)[0].resource_types == [32]

    run(scene())


def test_broker_that_lists_client_metrics_alone_is_an_error() -> None:
    async def scene() -> None:
        async with broker() as fake, admin(fake) as asking:
            fake.script(ApiVersionsRequest, lambda _: versions(ListConfigResources=(0, 0)))
            with pytest.raises(UnsupportedVersionError, match="too old to list resources"):
                await asking.list_config_resources("group")

    run(scene())
