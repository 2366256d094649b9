"""The asyncio admin client (Java: `KafkaAdminClient`): topics, settings, offsets, groups,
transactions.

A call is retried while its error is retriable, for at most `default_api_timeout_ms`. Other errors
are raised with the broker's message. A topic that does not exist is reported at once, apart from
the time that a new one takes to reach all brokers.
"""

import ssl
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Self, TypeVar, Unpack, cast

from cordwood.client.admin.admin_api_driver import delete_records
from cordwood.client.admin.admin_responses import (
    RESOURCE_TYPES,
    cluster_of,
    configs_of,
    created_of,
    log_dirs_of,
    topic_of,
)
from cordwood.client.admin.admin_types import (
    ClusterDescription,
    ConfigDescription,
    CreatedTopic,
    LogDirDescription,
    TopicDescription,
)
from cordwood.client.admin.group_administration import GroupAdministration
from cordwood.client.admin.leadership_administration import LeadershipAdministration
from cordwood.client.admin.transaction_administration import TransactionAdministration
from cordwood.client.client_repr import client_repr
from cordwood.client.consumer.offset_fetcher import FoundOffset, list_offsets
from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.response_errors import ensure_success
from cordwood.client.network.runtime import ClientRuntime, system_runtime
from cordwood.client.network.tls import tls_context
from cordwood.client.option_signature import named_options
from cordwood.client.settings import ClientOptions, ClientSettings, options_of, settings_of
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    InvalidRequestError,
    SettingError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from cordwood.core.settings import SettingValue, texts_of
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from cordwood.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from cordwood.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from cordwood.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from cordwood.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from cordwood.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from cordwood.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)
T = TypeVar("T")

#: A broker may receive the metadata of a new topic so much later than the controller.
_METADATA_LAG_MS: Final = 300
#: The most time of brokers for a topic that they auto-create.
_CREATION_MS: Final = 5_000
_HIGH_WATERMARK: Final = -1
#: The first version of ListConfigResources for other kinds than client metrics.
_LISTS_ALL_KINDS: Final = 1
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


@named_options(ClientSettings)
class Admin(  # tidy: allow[class-lines] the calls of its users
    GroupAdministration, LeadershipAdministration, TransactionAdministration
):
    """Admin client of one cluster.

    >>> async def main():
    ...     async with aio.Admin("127.0.0.1:9092") as admin:
    ...         await admin.create_topic("invoices", partitions=3)
    ...         return await admin.list_topics()
    >>> asyncio.run(main())
    ['invoices', 'orders']
    """

    def __init__(
        self,
        bootstrap: str = "",
        *,
        tls: ssl.SSLContext | None = None,
        runtime: Callable[[], ClientRuntime] = system_runtime,
        **options: Unpack[ClientOptions],
    ) -> None:
        """Create an admin client; it starts with `async with` or `start`.

        Args:
            bootstrap: Addresses of brokers as host:port, with commas between them.
            tls: TLS context for security_protocol=SSL, by default with the system's certificates.
        """
        if bootstrap:
            options["bootstrap_servers"] = bootstrap
        self.settings = settings_of(ClientSettings, options, other_options=("tls",))
        self._tls = tls_context(self.settings, tls)
        self._runtime = runtime
        self._client: NetworkClient | None = None

    @classmethod
    def from_config(
        cls, config: Mapping[str, object], *, tls: ssl.SSLContext | None = None
    ) -> Self:
        """Return an admin client configured by Kafka's setting names."""
        return cls(tls=tls, **cast("ClientOptions", options_of(ClientSettings, config)))

    def __repr__(self) -> str:
        return client_repr("Admin", self.settings, is_running=self._client is not None)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Start on the running loop."""
        self._client = NetworkClient(
            self.settings, self._runtime(), self._tls, creates_topics=False
        )

    async def close(self) -> None:
        """Close the client."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # Topics.

    async def list_topics(self, *, with_internal: bool = False) -> list[str]:
        """Return the names of all topics, sorted."""
        topics = await self._started().retry_until_timeout(self._started().current_topics)
        return sorted(topic.name for topic in topics if with_internal or not topic.is_internal)

    async def describe_topics(
        self, names: Iterable[str], *, creates_topics: bool = False
    ) -> list[TopicDescription]:
        """Return the present metadata of these topics.

        With `creates_topics` brokers may auto-create them, as for a producer.
        """
        if isinstance(names, str):
            raise InvalidRequestError(f"{names!r} is one name; give a list of names")
        client, wanted = self._started(), tuple(names)
        lag_ms = _CREATION_MS if creates_topics else _METADATA_LAG_MS
        read = partial(client.current_topics, dict.fromkeys(wanted), creates_topics=creates_topics)
        found = await _retry(client, read, lag_ms=lag_ms)
        topics = {each.name: topic_of(each) for each in found}
        return [topics[name] for name in wanted]

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        assignments: Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, SettingValue] | None = None,
        validate_only: bool = False,
    ) -> CreatedTopic:
        """Create a topic; -1: the broker's default; `assignments`: broker ids by partition."""
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            assignments=[
                CreatableReplicaAssignment(partition_index=each, broker_ids=list(brokers))
                for each, brokers in (assignments or {}).items()
            ],
            configs=[
                CreatableTopicConfig(name=key, value=value)
                for key, value in texts_of(configs or {}).items()
            ],
        )
        request = CreateTopicsRequest(
            topics=[topic], timeout_ms=self.settings.request_timeout_ms, validate_only=validate_only
        )

        async def attempt() -> CreatedTopic:
            response = await self._started().send_to_controller(request, CreateTopicsResponse)
            (result,) = response.topics
            ensure_success(
                result.error_code, subject=f"topic {name!r}", message=result.error_message
            )
            return created_of(result)

        return await self._started().retry_until_timeout(attempt)

    async def delete_topic(self, name: str) -> None:
        """Delete a topic and its data."""
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name, topic_id=NO_UUID)],
            topic_names=[name],
            timeout_ms=self.settings.request_timeout_ms,
        )

        async def attempt() -> None:
            response = await self._started().send_to_controller(request, DeleteTopicsResponse)
            (result,) = response.responses
            if result.error_code == UnknownTopicOrPartitionError.code:
                raise _TopicNotFoundError(f"the cluster has no topic {name!r}")
            ensure_success(
                result.error_code, subject=f"topic {name!r}", message=result.error_message
            )

        await self._started().retry_until_timeout(attempt)
        self._started().forget_topic(name)

    async def create_partitions(
        self, topic: str, total: int, *, validate_only: bool = False
    ) -> None:
        """Increase a topic's partition count to `total`."""
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=topic, count=total, assignments=None)],
            timeout_ms=self.settings.request_timeout_ms,
            validate_only=validate_only,
        )

        async def attempt() -> None:
            response = await self._started().send_to_controller(request, CreatePartitionsResponse)
            (result,) = response.results
            ensure_success(
                result.error_code, subject=f"topic {topic!r}", message=result.error_message
            )

        await _retry(self._started(), attempt)
        self._started().refresh_soon()

    # The cluster.

    async def describe_cluster(self) -> ClusterDescription:
        """Return the cluster id, the brokers and the controller."""
        request = DescribeClusterRequest(include_cluster_authorized_operations=False)

        async def attempt() -> ClusterDescription:
            response = await self._started().send_to_any(request, DescribeClusterResponse)
            ensure_success(response.error_code, subject="cluster", message=response.error_message)
            return cluster_of(response)

        return await self._started().retry_until_timeout(attempt)

    async def describe_log_dirs(self, node_id: int) -> list[LogDirDescription]:
        """Return the log directories of a broker."""

        async def attempt() -> list[LogDirDescription]:
            response = await self._send_to_broker(
                node_id, DescribeLogDirsRequest(topics=None), kind=DescribeLogDirsResponse
            )
            ensure_success(response.error_code, subject=f"log directories of broker {node_id}")
            return log_dirs_of(response, node_id)

        return await self._started().retry_until_timeout(attempt)

    # Settings.

    async def describe_configs(
        self, resource: tuple[str, str], *, keys: Sequence[str] | None = None
    ) -> ConfigDescription:
        """Return the settings of a resource: ("topic", "orders"), ("broker", "1"), ("group", "g").

        The empty broker name stands for the cluster-wide broker defaults. A group need not exist.
        """
        resource_request = DescribeConfigsResource(
            resource_type=_resource_type(resource),
            resource_name=resource[1],
            configuration_keys=None if keys is None else list(keys),
        )
        request = DescribeConfigsRequest(
            resources=[resource_request], include_synonyms=True, include_documentation=True
        )

        async def attempt() -> ConfigDescription:
            response = await self._send_to_owner(resource, request, kind=DescribeConfigsResponse)
            (result,) = response.results
            ensure_success(
                result.error_code,
                subject=" ".join(filter(None, resource)),
                message=result.error_message,
            )
            return configs_of(result)

        return await _retry(self._started(), attempt)

    async def alter_configs(
        self,
        resource: tuple[str, str],
        *,
        change: Mapping[str, SettingValue] | None = None,
        append: Mapping[str, SettingValue] | None = None,
        subtract: Mapping[str, SettingValue] | None = None,
        reset: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Alter single settings (Java: `incrementalAlterConfigs`).

        `append` and `subtract` edit list values; `reset` restores defaults.
        """
        changes = [
            *(_altered(key, _SET, value) for key, value in texts_of(change or {}).items()),
            *(_altered(key, _APPEND, value) for key, value in texts_of(append or {}).items()),
            *(_altered(key, _SUBTRACT, value) for key, value in texts_of(subtract or {}).items()),
            *(_altered(key, _DELETE, None) for key in reset),
        ]
        altered = AlterConfigsResource(
            resource_type=_resource_type(resource), resource_name=resource[1], configs=changes
        )
        request = IncrementalAlterConfigsRequest(resources=[altered], validate_only=validate_only)

        async def attempt() -> None:
            response = await self._send_to_owner(
                resource, request, kind=IncrementalAlterConfigsResponse
            )
            (result,) = response.responses
            ensure_success(
                result.error_code,
                subject=" ".join(filter(None, resource)),
                message=result.error_message,
            )

        await _retry(self._started(), attempt)

    async def list_config_resources(self, kind: str) -> list[str]:
        """Return the names of the resources of a kind, sorted; of "group", those with settings.

        Needs Kafka 4.1.
        """
        request = ListConfigResourcesRequest(resource_types=[_resource_type((kind, ""))])

        def build(connection: BrokerConnection) -> ListConfigResourcesRequest:
            if connection.version_of(ListConfigResourcesRequest) < _LISTS_ALL_KINDS:
                raise UnsupportedVersionError(
                    f"broker {connection.address} is too old to list resources of kind {kind!r}"
                )
            return request

        async def attempt() -> list[str]:
            response = await self._started().send_built_to_any(build, ListConfigResourcesResponse)
            ensure_success(response.error_code, subject=f"resources of kind {kind!r}")
            return sorted(each.resource_name for each in response.config_resources)

        return await self._started().retry_until_timeout(attempt)

    # Records.

    async def delete_records(
        self, offsets: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, int]:
        """Delete all records before each offset; return the new log start offsets.

        Offset -1 stands for the high watermark. An error of one partition is raised after all
        others are done, and states which.
        """
        return await delete_records(self._started(), offsets)

    async def list_offsets(
        self, timestamps: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset]:
        """Return offsets by timestamp, EARLIEST, LATEST or MAX_TIMESTAMP (`offset_fetcher`)."""
        offset_by_partition = dict(zip(partitions_of(timestamps), timestamps.values(), strict=True))
        return await list_offsets(self._started(), offset_by_partition)

    # Internals.

    async def _send_to_broker(self, node_id: int, request: Request, *, kind: type[R]) -> R:
        client = self._started()
        if node_id not in client.cluster.brokers:
            await client.refresh()
            _ensure_member(node_id, client.cluster.brokers)
        return await client.send(node_id, request, kind=kind)

    async def _send_to_owner(
        self, resource: tuple[str, str], request: Request, *, kind: type[R]
    ) -> R:
        """Send to the broker that a broker resource names, else to any broker."""
        resource_type, name = resource
        if resource_type in {"broker", "broker_logger"} and name:
            if not name.isdecimal():
                raise InvalidRequestError(f"{name!r} is not a broker id; give its number")
            return await self._send_to_broker(int(name), request, kind=kind)
        return await self._started().send_to_any(request, kind)

    def _started(self) -> NetworkClient:
        if self._client is None:
            raise InvalidRequestError(
                "the admin client is closed or not started;"
                " use it in its `with` or `async with` block"
            )
        return self._client


class _TopicNotFoundError(UnknownTopicOrPartitionError):
    """The topic does not exist; not retriable, unlike its base class."""

    retriable = False


async def _retry(
    client: NetworkClient, attempt: Callable[[], Awaitable[T]], *, lag_ms: int = _METADATA_LAG_MS
) -> T:
    """Retry an attempt, but an unknown topic only until brokers have the metadata of a new one."""
    latest_ms = client.runtime.now_ms() + lag_ms

    async def checked() -> T:
        try:
            return await attempt()
        except UnknownTopicOrPartitionError as error:
            if client.runtime.now_ms() < latest_ms:
                raise
            raise _TopicNotFoundError(str(error)) from error

    return await client.retry_until_timeout(checked)


def _altered(name: str, operation: int, value: str | None) -> AlterableConfig:
    return AlterableConfig(name=name, config_operation=operation, value=value)


def _resource_type(resource: tuple[str, str]) -> int:
    name = resource[0]
    if name not in RESOURCE_TYPES:
        raise SettingError(
            f"{name!r} has no settings",
            key="resource_type",
            remedy=f"choose one of {', '.join(RESOURCE_TYPES)}",
        )
    return RESOURCE_TYPES[name]


def _ensure_member(node_id: int, brokers: Collection[int]) -> None:
    """Raise InvalidRequestError for a broker that the cluster does not have."""
    if node_id not in brokers:
        known = ", ".join(map(str, sorted(brokers)))
        raise InvalidRequestError(f"the cluster has no broker {node_id}; it has {known}")
