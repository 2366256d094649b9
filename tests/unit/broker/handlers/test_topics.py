"""Tests of the handlers of CreateTopics, DeleteTopics and CreatePartitions."""

import asyncio

import pytest

from cordwood.broker.handlers.topics import (
    create_partitions,
    create_topics,
    delete_topics,
    error_response,
)
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaStorageError,
    RequestTimedOutError,
    TopicDeletionDisabledError,
)
from cordwood.core.uuids import NO_UUID
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
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.storage.manager_samples import HeldWorker


def new(
    name: str, partitions: int = -1, *, by_hand: tuple[int, ...] = (), **configs: str
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=-1,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=[node])
            for index, node in enumerate(by_hand)
        ],
        configs=[
            CreatableTopicConfig(name=name.replace("_", "."), value=value)
            for name, value in configs.items()
        ],
    )


def create(
    harness: BrokerHarness, *topics: CreatableTopic, validate_only: bool = False
) -> CreateTopicsResponse:
    request = CreateTopicsRequest(topics=[*topics], validate_only=validate_only)
    return run(create_topics(harness.broker, harness.context(7), request))


def delete(
    harness: BrokerHarness, *said: str | DeleteTopicState, version: int = 6
) -> DeleteTopicsResponse:
    request = DeleteTopicsRequest(
        topic_names=[each for each in said if isinstance(each, str)],
        topics=[each for each in said if not isinstance(each, str)],
        timeout_ms=1,
    )
    return run(delete_topics(harness.broker, harness.context(version), request))


def grow(
    harness: BrokerHarness, *topics: CreatePartitionsTopic, validate_only: bool = False
) -> list[tuple[str, int, str | None]]:
    request = CreatePartitionsRequest(topics=[*topics], timeout_ms=1, validate_only=validate_only)
    answer = run(create_partitions(harness.broker, harness.context(3), request))
    return [(each.name, each.error_code, each.error_message) for each in answer.results]


def test_created_topic_is_returned_with_its_id_and_settings() -> None:
    harness = BrokerHarness()

    (result,) = create(harness, new("orders", 2, retention_ms="5")).topics

    topic = harness.metadata.image.topics["orders"]
    configs = {each.name: (each.value, each.config_source) for each in result.configs or []}
    assert (result.error_code, result.topic_id) == (0, topic.topic_id)
    assert (result.num_partitions, result.replication_factor) == (2, 1)
    assert configs["retention.ms"] == ("5", 1)
    assert configs["cleanup.policy"] == ("delete", 5)


def test_topic_is_created_as_assigned_by_hand() -> None:
    harness = BrokerHarness()

    (result,) = create(harness, new("orders", by_hand=(1, 1, 1))).topics

    assert (result.error_code, result.num_partitions) == (0, 3)


def test_validated_topic_is_returned_but_not_created() -> None:
    harness = BrokerHarness()

    (result,) = create(harness, new("orders", 2), validate_only=True).topics

    assert (result.error_code, result.num_partitions) == (0, 2)
    assert not harness.metadata.image.topics


def test_rejected_topics_have_errors() -> None:
    answer = create(
        BrokerHarness(), new("a", 0), new("b"), new("c"), new("b"), new("__cluster_metadata")
    )

    assert {each.name: (each.error_code, each.error_message) for each in answer.topics} == {
        "a": (37, "Number of partitions was set to an invalid non-positive value."),
        "b": (42, "Duplicate topic name."),
        "c": (0, None),
        "__cluster_metadata": (
            42,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
    }


def test_topics_are_deleted_by_name_and_by_id() -> None:
    harness = BrokerHarness()
    create(harness, new("a"), new("b"), new("c"))
    ids = {name: topic.topic_id for name, topic in harness.metadata.image.topics.items()}

    answer = delete(harness, "a", DeleteTopicState(topic_id=ids["b"]), "x")

    assert {(each.name, each.topic_id, each.error_code) for each in answer.responses} == {
        ("a", ids["a"], 0),
        ("b", ids["b"], 0),
        ("x", NO_UUID, 3),
    }
    assert [*harness.metadata.image.topics] == ["c"]


@pytest.mark.parametrize(
    ("version", "error"), ((2, InvalidRequestError), (3, TopicDeletionDisabledError))
)
def test_topics_stay_where_deletion_is_disabled(version: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="Topic deletion is disabled"):
        delete(BrokerHarness(given={"delete.topic.enable": "false"}), "a", version=version)


def test_topics_grow_each_for_itself() -> None:
    harness = BrokerHarness()
    create(harness, new("a"), new("b"), new("c"))
    by_hand = [CreatePartitionsAssignment(broker_ids=[1])]

    results = grow(
        harness,
        CreatePartitionsTopic(name="a", count=3, assignments=None),
        CreatePartitionsTopic(name="b", count=2, assignments=by_hand),
        CreatePartitionsTopic(name="c", count=1, assignments=None),
        CreatePartitionsTopic(name="x", count=1, assignments=None),
        CreatePartitionsTopic(name="y", count=1, assignments=None),
        CreatePartitionsTopic(name="y", count=1, assignments=None),
    )

    assert results == [
        ("a", 0, None),
        ("b", 0, None),
        ("c", 37, "Topic already has 1 partition(s)."),
        ("x", 3, None),
        ("y", 42, "Duplicate topic name."),
    ]
    topics = harness.metadata.image.topics
    assert [len(topics[name].partitions) for name in "abc"] == [3, 2, 1]


def test_error_responses_have_every_topic_once() -> None:
    error = KafkaStorageError("no room")
    creating = CreateTopicsRequest(topics=[new("a"), new("a"), new("b")])
    growing = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="a", count=1, assignments=None)] * 2,
        timeout_ms=1,
        validate_only=False,
    )
    deleting = DeleteTopicsRequest(
        topic_names=["a", "a"], topics=[DeleteTopicState(topic_id=NO_UUID, name="b")], timeout_ms=1
    )

    created = error_response(creating, error, version=7)
    grown = error_response(growing, error, version=3)
    deleted = error_response(deleting, error, version=6)

    assert isinstance(created, CreateTopicsResponse)
    assert isinstance(grown, CreatePartitionsResponse)
    assert isinstance(deleted, DeleteTopicsResponse)
    assert [(each.name, each.error_message) for each in created.topics] == [
        ("a", "no room"),
        ("b", "no room"),
    ]
    assert [(each.name, each.error_code) for each in grown.results] == [("a", 56)]
    assert [(each.name, each.error_code) for each in deleted.responses] == [("a", 56), ("b", 56)]


@pytest.mark.parametrize("timeout_ms", (0, -1))
def test_request_without_time_is_answered_with_a_timeout(timeout_ms: int) -> None:
    harness = BrokerHarness()
    request = CreateTopicsRequest(topics=[new("orders")], timeout_ms=timeout_ms)

    with pytest.raises(RequestTimedOutError):
        run(create_topics(harness.broker, harness.context(7), request))

    assert not harness.metadata.image.topics


def test_each_api_stops_waiting_at_its_timeout() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(worker=worker)
    context, topics = harness.context(6), harness.broker.topics

    async def scene() -> list[tuple[str | None, int]]:
        loop = asyncio.get_running_loop()
        first = loop.create_task(topics.create([NewTopic(name="a"), NewTopic(name="b")]))
        while not first.done():
            await turns()
            worker.go_on()
        more = [CreatePartitionsTopic(name="a", count=2, assignments=None)]
        creation = CreateTopicsRequest(topics=[new("c")], timeout_ms=9)
        growth = CreatePartitionsRequest(topics=more, timeout_ms=9, validate_only=False)
        deletion = DeleteTopicsRequest(topic_names=["b"], timeout_ms=9)
        creating = loop.create_task(create_topics(harness.broker, context, creation))
        growing = loop.create_task(create_partitions(harness.broker, context, growth))
        deleting = loop.create_task(delete_topics(harness.broker, context, deletion))
        await turns()
        for _ in range(3):
            # Each of them is stored, and none is complete.
            worker.held.pop(0)()
            await turns(9)
        harness.time.advance(ms=9)
        codes = [
            *[(each.name, each.error_code) for each in (await creating).topics],
            *[(each.name, each.error_code) for each in (await growing).results],
            *[(each.name, each.error_code) for each in (await deleting).responses],
        ]
        stopping = loop.create_task(topics.stop())
        while not stopping.done():
            await turns()
            worker.go_on()
        return codes

    assert run(scene()) == [("c", 7), ("a", 7), ("b", 7)]
    image = harness.metadata.image
    assert {name: len(topic.partitions) for name, topic in image.topics.items()} == {"a": 2, "c": 1}
