"""The admin client for asyncio: topics, settings, log directories, offsets.

    async with aio.Admin("127.0.0.1:9092") as admin:
        await admin.create_topic("orders", partitions=3, configs={"retention.ms": "86400000"})

A call is tried again while that may help, for `default_api_timeout_ms` at the most. What a broker
refuses is raised, in its own words.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Self, TypeVar, Unpack, cast

from cordwood.client.admin_answers import (
    RESOURCE_TYPES,
    cluster_of,
    configs_of,
    created_of,
    log_dirs_of,
    starts_of,
    topic_of,
)
from cordwood.client.described import (
    ClusterDescription,
    ConfigDescription,
    CreatedTopic,
    LogDirDescription,
    TopicDescription,
)
from cordwood.client.lookups import FoundOffset, list_offsets
from cordwood.client.machine import this_machine
from cordwood.client.places import by_topic, partitions_of
from cordwood.client.refusals import ensure_done
from cordwood.client.router import Router
from cordwood.client.settings import ClientOptions, ClientSettings, options_of, settings_of
from cordwood.client.surroundings import Surroundings
from cordwood.client.trust import tls_of
from cordwood.core.errors import InvalidRequestError, SettingError, UnknownTopicOrPartitionError
from cordwood.core.ids import NO_UUID
from cordwood.core.types import TopicPartition
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
from cordwood.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
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
from cordwood.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)

_HIGH_WATERMARK: Final = -1
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


class Admin:
    """Asks the brokers of a cluster to change it, or to tell of it."""

    def __init__(
        self,
        bootstrap: str = "",
        *,
        tls: ssl.SSLContext | None = None,
        surroundings: Callable[[], Surroundings] = this_machine,
        **options: Unpack[ClientOptions],
    ) -> None:
        if bootstrap:
            options["bootstrap_servers"] = bootstrap
        self.settings = settings_of(ClientSettings, options, beside=("tls",))
        self._tls = tls_of(self.settings, tls)
        self._surroundings = surroundings
        self._router: Router | None = None

    @classmethod
    def from_config(
        cls, config: Mapping[str, object], *, tls: ssl.SSLContext | None = None
    ) -> Self:
        """Return a client that is told its options by Kafka's names."""
        return cls(tls=tls, **cast("ClientOptions", options_of(ClientSettings, config)))

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Begin on the running loop."""
        self._router = Router(self.settings, self._surroundings(), self._tls, creates_topics=False)

    async def close(self) -> None:
        """End it."""
        router, self._router = self._router, None
        if router is not None:
            await router.close()

    # Topics.

    async def list_topics(self, *, with_internal: bool = False) -> list[str]:
        """Return the names of all topics, in their order."""
        answer = await self._started().persist(self._started().all_topics)
        return sorted(
            topic.name
            for topic in answer.topics
            if topic.name is not None and (with_internal or not topic.is_internal)
        )

    async def describe_topics(self, names: Iterable[str]) -> list[TopicDescription]:
        """Return what the cluster has of these topics."""
        router = self._started()
        timeout_ms = self.settings.default_api_timeout_ms
        found = await asyncio.gather(*(router.topic(name, timeout_ms=timeout_ms) for name in names))
        return list(map(topic_of, found))

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        assignments: Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> CreatedTopic:
        """Create a topic: -1 is the broker's default; `assignments` are brokers by partition."""
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
                for key, value in (configs or {}).items()
            ],
        )
        request = CreateTopicsRequest(
            topics=[topic], timeout_ms=self.settings.request_timeout_ms, validate_only=validate_only
        )

        async def attempt() -> CreatedTopic:
            answer = await self._started().ask_controller(request, CreateTopicsResponse)
            (told,) = answer.topics
            ensure_done(told.error_code, subject=f"topic {name!r}", message=told.error_message)
            return created_of(told)

        return await self._started().persist(attempt)

    async def delete_topic(self, name: str) -> None:
        """Delete a topic with everything in it."""
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name, topic_id=NO_UUID)],
            topic_names=[name],
            timeout_ms=self.settings.request_timeout_ms,
        )

        async def attempt() -> None:
            answer = await self._started().ask_controller(request, DeleteTopicsResponse)
            (told,) = answer.responses
            if told.error_code == UnknownTopicOrPartitionError.code:
                raise _GoneError(f"the cluster has no topic {name!r}")
            ensure_done(told.error_code, subject=f"topic {name!r}", message=told.error_message)

        await self._started().persist(attempt)
        self._started().forget(name)

    async def create_partitions(
        self, topic: str, total: int, *, validate_only: bool = False
    ) -> None:
        """Give a topic more partitions, so that it has `total` of them."""
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=topic, count=total, assignments=None)],
            timeout_ms=self.settings.request_timeout_ms,
            validate_only=validate_only,
        )

        async def attempt() -> None:
            answer = await self._started().ask_controller(request, CreatePartitionsResponse)
            (told,) = answer.results
            ensure_done(told.error_code, subject=f"topic {topic!r}", message=told.error_message)

        await self._started().persist(attempt)
        await self._started().refresh()

    # The cluster.

    async def describe_cluster(self) -> ClusterDescription:
        """Return the cluster's id, its brokers and its controller."""
        request = DescribeClusterRequest(include_cluster_authorized_operations=False)

        async def attempt() -> ClusterDescription:
            answer = await self._started().ask_any(request, DescribeClusterResponse)
            ensure_done(answer.error_code, subject="cluster", message=answer.error_message)
            return cluster_of(answer)

        return await self._started().persist(attempt)

    async def describe_log_dirs(self, node_id: int) -> list[LogDirDescription]:
        """Return the log directories of a broker."""

        async def attempt() -> list[LogDirDescription]:
            answer = await self._ask_broker(
                node_id, DescribeLogDirsRequest(topics=None), kind=DescribeLogDirsResponse
            )
            ensure_done(answer.error_code, subject=f"log directories of broker {node_id}")
            return log_dirs_of(answer, node_id)

        return await self._started().persist(attempt)

    # Settings.

    async def describe_configs(
        self, resource: tuple[str, str], *, keys: Sequence[str] | None = None
    ) -> ConfigDescription:
        """Return the settings of a resource, ("topic", "orders") or ("broker", "1") say.

        An empty name is all brokers together.
        """
        asked = DescribeConfigsResource(
            resource_type=_resource_type(resource),
            resource_name=resource[1],
            configuration_keys=None if keys is None else list(keys),
        )
        request = DescribeConfigsRequest(
            resources=[asked], include_synonyms=True, include_documentation=True
        )

        async def attempt() -> ConfigDescription:
            answer = await self._ask_owner(resource, request, kind=DescribeConfigsResponse)
            (told,) = answer.results
            ensure_done(
                told.error_code,
                subject=" ".join(filter(None, resource)),
                message=told.error_message,
            )
            return configs_of(told)

        return await self._started().persist(attempt)

    async def alter_configs(
        self,
        resource: tuple[str, str],
        *,
        change: Mapping[str, str] | None = None,
        append: Mapping[str, str] | None = None,
        subtract: Mapping[str, str] | None = None,
        reset: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Change single settings, or add to and take from lists; `reset` ones get their default."""
        changes = [
            *(_altered(key, _SET, value) for key, value in (change or {}).items()),
            *(_altered(key, _APPEND, value) for key, value in (append or {}).items()),
            *(_altered(key, _SUBTRACT, value) for key, value in (subtract or {}).items()),
            *(_altered(key, _DELETE, None) for key in reset),
        ]
        altered = AlterConfigsResource(
            resource_type=_resource_type(resource), resource_name=resource[1], configs=changes
        )
        request = IncrementalAlterConfigsRequest(resources=[altered], validate_only=validate_only)

        async def attempt() -> None:
            answer = await self._ask_owner(resource, request, kind=IncrementalAlterConfigsResponse)
            (told,) = answer.responses
            ensure_done(
                told.error_code,
                subject=" ".join(filter(None, resource)),
                message=told.error_message,
            )

        await self._started().persist(attempt)

    # Records.

    async def delete_records(
        self, offsets: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, int]:
        """Delete what lies before each offset, -1 being the end; return where the logs start."""
        wanted = dict(zip(partitions_of(offsets), offsets.values(), strict=True))

        async def attempt() -> dict[TopicPartition, int]:
            started: dict[TopicPartition, int] = {}
            for leader, partitions in (await self._started().leaders(wanted)).items():
                request = DeleteRecordsRequest(
                    topics=[
                        DeleteRecordsTopic(
                            name=topic,
                            partitions=[
                                DeleteRecordsPartition(
                                    partition_index=each.partition, offset=wanted[each]
                                )
                                for each in members
                            ],
                        )
                        for topic, members in by_topic(partitions).items()
                    ],
                    timeout_ms=self.settings.request_timeout_ms,
                )
                answer = await self._started().ask(leader, request, kind=DeleteRecordsResponse)
                started |= starts_of(answer)
            return started

        return await self._started().persist(attempt)

    async def list_offsets(
        self, timestamps: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset]:
        """Return offsets by time; `lookups` names the places that stand for times: EARLIEST …"""
        wanted = dict(zip(partitions_of(timestamps), timestamps.values(), strict=True))
        return await list_offsets(self._started(), wanted)

    # How it is done.

    async def _ask_broker(self, node_id: int, request: Request, *, kind: type[R]) -> R:
        router = self._started()
        if node_id not in router.cluster.brokers:
            await router.refresh()
        return await router.ask(node_id, request, kind=kind)

    async def _ask_owner(self, resource: tuple[str, str], request: Request, *, kind: type[R]) -> R:
        """Ask the broker whose own settings these are, any broker for all others."""
        resource_type, name = resource
        if resource_type in {"broker", "broker_logger"} and name:
            if not name.isdecimal():
                raise InvalidRequestError(f"{name!r} is no id of a broker; give its number")
            return await self._ask_broker(int(name), request, kind=kind)
        return await self._started().ask_any(request, kind)

    def _started(self) -> Router:
        if self._router is None:
            raise InvalidRequestError("the admin client is closed, or not started: `async with` it")
        return self._router


class _GoneError(UnknownTopicOrPartitionError):
    """A topic that is to be deleted is not there, which no retry changes."""

    retriable = False


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
