"""Tests of the Metadata handler."""

import pytest

from cordwood.broker.handlers.metadata import error_response, metadata
from cordwood.broker.metadata.metadata_image import NO_LEADER
from cordwood.broker.topics.authorized_operations import OF_CLUSTER, OF_TOPIC
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.core.errors import InvalidRequestError, KafkaStorageError
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.codec import decode, joined
from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.image_samples import topic, topic_id

UNKNOWN = Uuid(bytes(range(16)))


def harness(*names: str, given: dict[str, str] | None = None) -> BrokerHarness:
    made = BrokerHarness(given=given)
    made.metadata.publish(made.metadata.image.with_topic(*(topic(name, 2) for name in names)))
    return made


def ask(
    place: BrokerHarness, *names: str, version: int = 13, everything: bool = False, **said: bool
) -> MetadataResponse:
    topics = [MetadataRequestTopic(topic_id=NO_UUID, name=name) for name in names]
    request = MetadataRequest(topics=None if everything else topics, **said)
    return send(place, request, version)


def send(place: BrokerHarness, request: MetadataRequest, version: int) -> MetadataResponse:
    answer = run(metadata(place.broker, place.context(version), request))
    if isinstance(answer, MetadataResponse):
        return answer
    return decode(MetadataResponse, joined(answer), version)


def by_name(answer: MetadataResponse) -> dict[str | None, MetadataResponseTopic]:
    return {each.name: each for each in answer.topics}


def test_response_has_topics_with_their_partitions() -> None:
    answer = ask(harness("orders", "other"), "orders")

    (told,) = answer.topics
    assert (told.error_code, told.name, told.topic_id) == (0, "orders", topic_id("orders"))
    assert [
        (each.partition_index, each.leader_id, each.leader_epoch, each.replica_nodes)
        for each in told.partitions
    ] == [(0, 1, 0, [1]), (1, 1, 0, [1])]


@pytest.mark.parametrize("version", range(2, 14))
def test_quirk_13_cluster_and_controller_are_always_returned(version: int) -> None:
    answer = ask(harness(), version=version)

    assert (answer.cluster_id, answer.controller_id) == ("c", 1)
    assert answer.brokers == [MetadataResponseBroker(node_id=1, host="h", port=9091)]


def test_quirk_13_empty_list_selects_all_topics_in_version_0_only() -> None:
    place = harness("a", "b")

    assert [*by_name(ask(place, version=0))] == ["a", "b"]
    assert ask(place, version=1).topics == []


@pytest.mark.parametrize("version", range(1, 14))
def test_quirk_13_null_selects_all_topics(version: int) -> None:
    assert [*by_name(ask(harness("a", "b"), version=version, everything=True))] == ["a", "b"]


def test_answer_for_all_topics_is_encoded_once() -> None:
    place = harness("a")
    request = MetadataRequest(topics=None)

    first = run(metadata(place.broker, place.context(9), request))
    second = run(metadata(place.broker, place.context(9), request))

    assert isinstance(first, list)
    assert isinstance(second, list)
    assert first[0] is second[0]


def test_response_for_all_topics_follows_changes() -> None:
    place = harness("a")
    ask(place, everything=True)

    place.metadata.publish(place.metadata.image.with_topic(topic("b")))

    assert [*by_name(ask(place, everything=True))] == ["a", "b"]


def test_topics_are_described_by_id() -> None:
    request = MetadataRequest(
        topics=[
            MetadataRequestTopic(topic_id=topic_id("a"), name=None),
            MetadataRequestTopic(topic_id=topic_id("a"), name=None),
            MetadataRequestTopic(topic_id=UNKNOWN, name=None),
        ]
    )

    answer = send(harness("a", "b"), request, 12)

    assert [(each.error_code, each.name, each.topic_id) for each in answer.topics] == [
        (0, "a", topic_id("a")),
        (100, None, UNKNOWN),
    ]


@pytest.mark.parametrize(("topic_id", "name"), ((UNKNOWN, "a"), (NO_UUID, None)))
def test_topics_cannot_be_requested_by_id_before_version_12(
    topic_id: Uuid, name: str | None
) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name=name)])

    with pytest.raises(InvalidRequestError, match="for version 11"):
        send(harness(), request, 11)


@pytest.mark.parametrize("version", (0, 3, 4, 13))
def test_quirk_27_missing_topic_is_created_and_returned_immediately(version: int) -> None:
    place = harness(given={"num.partitions": "3"})

    answer = ask(place, "new", version=version)

    (told,) = answer.topics
    assert (told.error_code, len(told.partitions)) == (0, 3)
    assert place.broker.partitions.get("new", 2).topic_id == told.topic_id


def test_missing_internal_topic_is_created_with_its_settings() -> None:
    answer = ask(harness(), "__consumer_offsets")

    (told,) = answer.topics
    assert (told.is_internal, len(told.partitions)) == (True, 50)


@pytest.mark.parametrize(
    ("given", "said"),
    (
        ({}, {"allow_auto_topic_creation": False}),
        ({"auto.create.topics.enable": "false"}, {}),
    ),
)
def test_topic_is_created_only_if_client_and_broker_allow_it(
    given: dict[str, str], said: dict[str, bool]
) -> None:
    answer = ask(harness(given=given), "new", "n/w", **said)

    assert {name: told.error_code for name, told in by_name(answer).items()} == {
        "new": 3,
        "n/w": 17,
    }


def test_topic_that_cannot_be_created_has_an_error() -> None:
    place = harness("a.b", given={"default.replication.factor": "2"})

    answer = ask(place, "new", "a_b", "")

    assert [(each.name, each.error_code) for each in answer.topics] == [
        ("new", 38),
        ("a_b", 17),
        ("", 17),
    ]


def test_partition_without_a_leader_has_an_error() -> None:
    place = harness()
    lost = topic("a").without_leaders([*topic("a").names()])
    place.metadata.publish(place.metadata.image.with_topic(lost))

    (told,) = ask(place, "a").topics[0].partitions

    assert (told.error_code, told.leader_id, told.offline_replicas) == (5, NO_LEADER, [1])


def test_quirk_06_topics_have_unique_and_stable_ids() -> None:
    place = harness()
    first = ask(place, "a", "b", version=10)
    again = ask(place, everything=True, version=10)

    ids = [each.topic_id for each in first.topics]
    assert len({*ids, NO_UUID}) == 3
    assert [each.topic_id for each in again.topics] == ids


def test_quirk_06_id_of_a_deleted_topic_is_unknown_when_its_name_is_reused() -> None:
    place = harness()
    before = ask(place, "a").topics[0].topic_id
    run(place.broker.topics.delete([TopicReference("a")]))
    ask(place, "a")

    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=before, name=None)])

    assert [each.error_code for each in send(place, request, 13).topics] == [100]


def test_authorized_operations_are_returned_on_request() -> None:
    place = harness("a")

    asked = ask(
        place,
        "a",
        version=10,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )

    assert asked.cluster_authorized_operations == OF_CLUSTER
    assert asked.topics[0].topic_authorized_operations == OF_TOPIC
    assert ask(place, "a").topics[0].topic_authorized_operations == -(1 << 31)


def test_error_response_has_the_error_for_every_topic() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=NO_UUID, name=None)])
    error = KafkaStorageError("no room")

    assert [each.name for each in error_response(request, error, version=12).topics] == [None]
    assert [each.name for each in error_response(request, error, version=11).topics] == [""]
    assert error_response(request, error, version=13).error_code == error.code
