"""Topics and configurations: requests and responses as of a running Kafka 4.3."""

from collections.abc import Callable, Coroutine
from typing import Final, TypeAlias, TypeVar

import pytest

from cordwood.broker.handlers import cluster, configs, metadata, topics
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import KafkaError, PolicyViolationError
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.alter_configs import AlterableConfig as Replaced
from cordwood.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from cordwood.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
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
from cordwood.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource as AlteredResource,
)
from cordwood.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Request, Response
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.metadata_lag import await_metadata
from tests.interop.kafka_harness.wire import ask
from tests.unit.broker.broker_samples import BrokerHarness, run

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

UNKNOWN: Final = Uuid(bytes(range(16)))
TOPIC: Final = 2
BROKER: Final = 4
LOGGER: Final = 8
#: Log directories are not cordoned here.
CORDONED: Final = " or some brokers have all their log directories cordoned"

Q = TypeVar("Q", bound=Request)
R = TypeVar("R", bound=Response)
Told: TypeAlias = tuple[object, ...]
Handler: TypeAlias = Callable[
    [BrokerServices, RequestContext, Q], Coroutine[object, object, R | list[Chunk]]
]


class Both:
    """A running Kafka, and a broker of ours with the same settings."""

    def __init__(self, kafka: Broker) -> None:
        self.kafka = kafka
        self.ours = BrokerHarness(given={"auto.create.topics.enable": "false"})

    def ask(
        self, handler: Handler[Q, R], request: Q, version: int, *, answer: type[R]
    ) -> tuple[R, R]:
        """Return what Kafka answers, and what we answer."""
        theirs = ask(self.kafka.bootstrap, request, version, answer=answer)
        await_metadata(self.kafka.bootstrap)
        ours = run(handler(self.ours.broker, self.ours.context(version), request))
        chunks = ours if isinstance(ours, list) else encode(ours, version)
        return theirs, decode(answer, joined(chunks), version)

    def create(
        self, *new: CreatableTopic, validate_only: bool = False
    ) -> tuple[CreateTopicsResponse, CreateTopicsResponse]:
        request = CreateTopicsRequest(topics=[*new], validate_only=validate_only)
        return self.ask(topics.create_topics, request, 7, answer=CreateTopicsResponse)


@pytest.fixture(scope="module")
def both(broker43: Broker) -> Both:
    return Both(broker43)


# -- creating


def new(
    name: str,
    partitions: int = -1,
    *,
    replicas: int = -1,
    by_hand: dict[int, list[int]] | None = None,
    texts: dict[str, str | None] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=nodes)
            for index, nodes in (by_hand or {}).items()
        ],
        configs=[
            CreatableTopicConfig(name=key, value=value) for key, value in (texts or {}).items()
        ],
    )


def created(answer: CreateTopicsResponse) -> dict[str, Told]:
    return {
        each.name: (
            each.error_code,
            (each.error_message or "").replace(CORDONED, ""),
            each.num_partitions,
            each.replication_factor,
            each.topic_id == NO_UUID,
            sorted(config.name for config in each.configs or []),
        )
        for each in answer.topics
    }


CREATIONS: Final = {
    "made": [
        new("m.plain"),
        new("m.three", 3, replicas=1),
        new("m.hand", by_hand={0: [1], 1: [1]}),
        new("m.set", texts={"retention.ms": "5", "cleanup.policy": "compact"}),
    ],
    "names": [new(""), new("."), new(".."), new("a/b"), new("x" * 249), new("x" * 250)],
    "numbers": [
        new("n.none", 0),
        new("n.less", -2),
        new("n.rf0", 1, replicas=0),
        new("n.rf2", 1, replicas=2),
        new("n.rfless", 1, replicas=-2),
        new("n.both", 0, replicas=0),
    ],
    "by hand": [
        new("h.count", 1, by_hand={0: [1]}),
        new("h.rf", replicas=1, by_hand={0: [1]}),
        new("h.gap", by_hand={1: [1]}),
        new("h.empty", by_hand={0: []}),
        new("h.unknown", by_hand={0: [9]}),
        new("h.twice", by_hand={0: [1, 1]}),
        new("h.uneven", by_hand={0: [1], 1: [1, 9]}),
        new("h.fewer", by_hand={0: [1], 1: []}),
    ],
    "settings": [
        new("c.unknown", texts={"no.such": "1"}),
        new("c.bad", texts={"retention.ms": "x"}),
        new("c.null", texts={"retention.ms": None}),
        new("c.low", texts={"segment.bytes": "1"}),
    ],
    "twice": [new("d.same"), new("d.same"), new("d.other"), new("__cluster_metadata")],
}


@pytest.mark.parametrize("kind", CREATIONS)
def test_topics_are_validated_as_by_kafka(both: Both, kind: str) -> None:
    theirs, ours = both.create(*CREATIONS[kind], validate_only=True)

    assert created(ours) == created(theirs)


@pytest.mark.parametrize("kind", ("made", "twice"))
def test_topics_are_created_as_by_kafka_and_not_again(both: Both, kind: str) -> None:
    first = both.create(*CREATIONS[kind])
    again = both.create(*CREATIONS[kind], new("m_plain"), new("m-plain"))

    for theirs, ours in (first, again):
        assert created(ours) == created(theirs)


def test_too_many_partitions_are_rejected_as_by_kafka(both: Both) -> None:
    request = CreateTopicsRequest(topics=[new("e.first", 10_000), new("e.second")])

    theirs = ask(both.kafka.bootstrap, request, 7, answer=CreateTopicsResponse)
    with pytest.raises(PolicyViolationError) as caught:
        run(topics.create_topics(both.ours.broker, both.ours.context(7), request))

    ours = topics.error_response(request, caught.value, version=7)
    assert isinstance(ours, CreateTopicsResponse)
    assert created(ours) == created(theirs)


# -- growing


def test_topics_grow_as_in_kafka(both: Both) -> None:
    both.create(new("g.a", 2), new("g.b", 2))

    def more(
        name: str, total: int, by_hand: list[list[int]] | None = None
    ) -> CreatePartitionsTopic:
        assignments = [CreatePartitionsAssignment(broker_ids=each) for each in by_hand or []]
        return CreatePartitionsTopic(name=name, count=total, assignments=assignments or None)

    rounds = (
        [more("g.a", 2), more("g.b", 1), more("g.none", 3)],
        [more("g.a", 3), more("g.b", 3), more("g.b", 4)],
        [more("g.a", 5, [[1]]), more("g.b", 3, [[9]])],
        [more("g.a", 4, [[]]), more("g.b", 3, [[1, 1]])],
        [more("g.a", 4, [[1]])],
    )
    for wanted in rounds:
        request = CreatePartitionsRequest(topics=wanted, timeout_ms=9000, validate_only=False)
        theirs, ours = both.ask(
            topics.create_partitions, request, 3, answer=CreatePartitionsResponse
        )
        assert grown(ours) == grown(theirs)


def grown(answer: CreatePartitionsResponse) -> dict[str, Told]:
    return {each.name: (each.error_code, each.error_message) for each in answer.results}


# -- deleting


@pytest.mark.parametrize(
    "said",
    (
        [("d.a", NO_UUID), ("d.none", NO_UUID), ("a/b", NO_UUID)],
        [(None, NO_UUID), ("d.b", UNKNOWN), (None, UNKNOWN)],
        [("d.b", NO_UUID), ("d.b", NO_UUID), (None, UNKNOWN), (None, UNKNOWN)],
        [("d.none", NO_UUID), ("d.none", NO_UUID)],
    ),
)
def test_topics_are_deleted_as_by_kafka(both: Both, said: list[tuple[str | None, Uuid]]) -> None:
    both.create(new("d.a"), new("d.b"))
    asked = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in said]
    request = DeleteTopicsRequest(topics=asked, timeout_ms=9000)

    theirs, ours = both.ask(topics.delete_topics, request, 6, answer=DeleteTopicsResponse)

    assert deleted(ours) == deleted(theirs)


def deleted(answer: DeleteTopicsResponse) -> list[str]:
    found = (
        (each.name, each.topic_id in {NO_UUID, UNKNOWN}, each.error_code, each.error_message)
        for each in answer.responses
    )
    return sorted(map(repr, found))


# -- telling


@pytest.mark.parametrize("version", range(9, 14))
def test_topics_are_described_as_by_kafka(both: Both, version: int) -> None:
    both.create(new("t.a", 2))
    asked = [
        MetadataRequestTopic(topic_id=NO_UUID, name=name) for name in ("t.a", "t.none", "a/b", "")
    ]
    request = MetadataRequest(topics=asked, include_topic_authorized_operations=True)

    theirs, ours = both.ask(metadata.metadata, request, version, answer=MetadataResponse)

    assert told(ours) == told(theirs)


def test_unknown_id_is_answered_as_by_kafka(both: Both) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=UNKNOWN, name=None)])

    theirs, ours = both.ask(metadata.metadata, request, 12, answer=MetadataResponse)

    assert told(ours) == told(theirs)


def told(answer: MetadataResponse) -> dict[str | None, Told]:
    return {
        each.name: (
            each.error_code,
            each.topic_id in {NO_UUID, UNKNOWN},
            each.is_internal,
            each.topic_authorized_operations,
            [
                (p.partition_index, p.error_code, p.leader_id, p.leader_epoch, p.replica_nodes)
                for p in sorted(each.partitions, key=lambda p: p.partition_index)
            ],
        )
        for each in answer.topics
    }


@pytest.mark.parametrize(
    ("cursor", "limit"),
    (
        (None, 9),
        (None, 3),
        (None, 2),
        (Cursor(topic_name="p.a", partition_index=1), 2),
        (Cursor(topic_name="p.b", partition_index=0), 9),
    ),
)
def test_topic_pages_equal_those_of_kafka(both: Both, cursor: Cursor | None, limit: int) -> None:
    both.create(new("p.a", 2), new("p.b", 3))
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in ("p.b", "p.none", "p.a")],
        response_partition_limit=limit,
        cursor=cursor,
    )

    theirs, ours = both.ask(
        cluster.describe_topic_partitions, request, 0, answer=DescribeTopicPartitionsResponse
    )

    assert page(ours) == page(theirs)


def page(answer: DescribeTopicPartitionsResponse) -> Told:
    found = [
        (
            each.name,
            each.error_code,
            each.topic_authorized_operations,
            [p.partition_index for p in each.partitions],
        )
        for each in answer.topics
    ]
    return found, answer.next_cursor


@pytest.mark.parametrize("is_asked", (True, False))
def test_cluster_is_described_as_by_kafka(both: Both, is_asked: bool) -> None:  # noqa: FBT001 - a test's
    request = DescribeClusterRequest(include_cluster_authorized_operations=is_asked)

    theirs, ours = both.ask(cluster.describe_cluster, request, 2, answer=DescribeClusterResponse)

    assert ours.cluster_authorized_operations == theirs.cluster_authorized_operations
    assert (ours.error_code, ours.endpoint_type) == (theirs.error_code, theirs.endpoint_type)


@pytest.mark.parametrize("endpoint_type", (2, 7))
def test_other_endpoints_are_rejected_as_by_kafka(both: Both, endpoint_type: int) -> None:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=endpoint_type
    )

    theirs = ask(both.kafka.bootstrap, request, 2, answer=DescribeClusterResponse)
    with pytest.raises(KafkaError) as caught:
        run(cluster.describe_cluster(both.ours.broker, both.ours.context(2), request))

    assert caught.value.code == theirs.error_code
    assert str(caught.value) == theirs.error_message


# -- settings


@pytest.mark.parametrize(
    ("kind", "name"),
    (
        (TOPIC, "s.none"),
        (TOPIC, "a/b"),
        (TOPIC, ""),
        (BROKER, "9"),
        (BROKER, "x"),
        (LOGGER, "9"),
        (LOGGER, ""),
        (3, "x"),
    ),
)
def test_invalid_resources_are_rejected_as_by_kafka(both: Both, kind: int, name: str) -> None:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[resource])

    theirs, ours = both.ask(configs.describe_configs, request, 4, answer=DescribeConfigsResponse)

    assert [each.error_code for each in ours.results] == [
        each.error_code for each in theirs.results
    ]


def outcomes(responses: list[AlterConfigsResourceResponse]) -> list[Told]:
    """Return the comparable outcomes; Kafka's words for missing brokers vary."""
    return sorted(
        (
            each.resource_type,
            each.resource_name,
            each.error_code,
            (each.error_message or "") if each.resource_type == TOPIC else "",
        )
        for each in responses
    )


CHANGES: Final[tuple[tuple[int, str, list[tuple[str, int, str | None]]], ...]] = (
    (TOPIC, "s.a", [("retention.ms", 0, "5")]),
    (TOPIC, "s.none", [("retention.ms", 0, "5")]),
    (TOPIC, "a/b", [("retention.ms", 0, "5")]),
    (TOPIC, "", [("retention.ms", 0, "5")]),
    (TOPIC, "s.a", [("no.such", 0, "5")]),
    (TOPIC, "s.a", [("retention.ms", 0, None)]),
    (TOPIC, "s.a", []),
    (BROKER, "9", [("log.retention.ms", 0, "5")]),
    (BROKER, "1", [("log.retention.ms", 0, "x")]),
    (LOGGER, "1", [("no.such", 0, "INFO")]),
    (LOGGER, "9", [("root", 0, "INFO")]),
    (3, "x", [("a", 0, "5")]),
)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_settings_are_changed_or_rejected_as_by_kafka(
    both: Both, change: tuple[int, str, list[tuple[str, int, str | None]]]
) -> None:
    both.create(new("s.a"))
    kind, name, changes = change
    entries = [AlterableConfig(name=k, config_operation=o, value=v) for k, o, v in changes]
    resource = AlteredResource(resource_type=kind, resource_name=name, configs=entries)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=True)

    theirs, ours = both.ask(
        configs.incremental_alter_configs, request, 1, answer=IncrementalAlterConfigsResponse
    )

    assert outcomes(ours.responses) == outcomes(theirs.responses)


@pytest.mark.parametrize("names", (["s.a", "s.none"], ["a/b"], [""]), ids=str)
def test_settings_are_replaced_or_rejected_as_by_kafka(both: Both, names: list[str]) -> None:
    both.create(new("s.a"))
    entries = [Replaced(name="retention.ms", value="5")]
    resources = [
        AlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=entries)
        for name in names
    ]
    request = AlterConfigsRequest(resources=resources, validate_only=True)

    theirs, ours = both.ask(configs.alter_configs, request, 2, answer=AlterConfigsResponse)

    assert outcomes(ours.responses) == outcomes(theirs.responses)


def test_loggers_are_not_replaced_as_in_kafka(both: Both) -> None:
    resource = AlterConfigsResource(resource_type=LOGGER, resource_name="1", configs=[])
    request = AlterConfigsRequest(resources=[resource], validate_only=True)

    theirs, ours = both.ask(configs.alter_configs, request, 2, answer=AlterConfigsResponse)

    assert outcomes(ours.responses) == outcomes(theirs.responses)


@pytest.mark.parametrize("types", ([BROKER], [LOGGER], [16], [32], [99]), ids=str)
def test_resources_are_listed_as_by_kafka(both: Both, types: list[int]) -> None:
    request = ListConfigResourcesRequest(resource_types=types)

    theirs, ours = both.ask(
        configs.list_config_resources, request, 1, answer=ListConfigResourcesResponse
    )

    assert ours == theirs
