"""Error responses repeat the requested items, with the code where Kafka has it."""

import pytest

from cordwood.broker.dispatch import ROUTES
from cordwood.core.errors import KafkaStorageError
from cordwood.core.uuids import Uuid
from cordwood.protocol.apis import APIS
from cordwood.protocol.codec import encode
from cordwood.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from cordwood.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from cordwood.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from cordwood.protocol.schema import default_struct
from cordwood.testing.error_responses import error_response, set_errors, topics_of

ERROR = KafkaStorageError("no disk")
#: Its response does not have the shape of its request.
METADATA = 3
#: Version 4 cannot hold an error if the request has no items.
FIND_COORDINATOR = 10
#: Version 0 cannot, likewise.
ELECT_LEADERS = 43
ORDERS_ID = Uuid(b"the id of orders")


def fetch_of(*topics: FetchTopic) -> FetchRequest:
    return FetchRequest(max_wait_ms=1, min_bytes=1, topics=[*topics])


def orders(*partitions: int) -> FetchTopic:
    asked = [
        FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=1) for each in partitions
    ]
    return FetchTopic(topic_id=ORDERS_ID, partitions=asked)


def test_error_response_has_topics_and_partitions_with_the_code() -> None:
    data = [PartitionProduceData(index=each, records=None) for each in (3, 5)]
    topic = TopicProduceData(name="orders", partitions=data)

    answer = error_response(ProduceRequest(acks=1, timeout_ms=1, topics=[topic]), ERROR)

    assert isinstance(answer, ProduceResponse)
    (told,) = answer.responses
    assert told.name == "orders"
    assert [(each.index, each.error_code, each.error_message) for each in told.partitions] == [
        (3, ERROR.code, "no disk"),
        (5, ERROR.code, "no disk"),
    ]


def test_error_response_to_a_fetch_has_partition_errors_and_no_session_error() -> None:
    answer = error_response(fetch_of(orders(2)), ERROR)

    assert isinstance(answer, FetchResponse)
    (told,) = answer.responses
    assert isinstance(told, FetchableTopicResponse)
    assert answer.error_code == 0
    assert told.topic_id == ORDERS_ID
    assert [(each.partition_index, each.error_code) for each in told.partitions] == [
        (2, ERROR.code)
    ]


def test_error_is_at_the_top_level_without_requested_items() -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)

    answer = error_response(request, ERROR)

    assert isinstance(answer, InitProducerIdResponse)
    assert answer.error_code == ERROR.code


@pytest.mark.parametrize("version", range(1, 6))
def test_error_response_has_items_requested_only_by_name(version: int) -> None:
    request = DeleteTopicsRequest(topic_names=["orders", "more"], topics=[], timeout_ms=1)

    answer = error_response(request, ERROR)

    assert isinstance(answer, DeleteTopicsResponse)
    assert [(each.name, each.error_code) for each in answer.responses] == [
        ("orders", ERROR.code),
        ("more", ERROR.code),
    ]
    assert topics_of(request) == {"orders", "more"}
    assert encode(answer, version)


def test_error_response_has_groups_of_a_coordinator_lookup() -> None:
    answer = error_response(FindCoordinatorRequest(coordinator_keys=["readers"]), ERROR)

    assert isinstance(answer, FindCoordinatorResponse)
    assert [(each.key, each.error_code) for each in answer.coordinators] == [
        ("readers", ERROR.code)
    ]


@pytest.mark.parametrize("key", sorted(ROUTES.keys() - {METADATA, FIND_COORDINATOR, ELECT_LEADERS}))
def test_error_response_encodes_in_every_version(key: int) -> None:
    api = APIS[key]

    answer = error_response(default_struct(api.request()), ERROR)

    first, last = api.request().__schema__.versions
    assert all(encode(answer, version) for version in range(first, last + 1))


def test_error_is_set_on_every_item_of_a_response() -> None:
    topics = [MetadataResponseTopic(error_code=0, name=each, partitions=[]) for each in ("a", "b")]
    answer = MetadataResponse(brokers=[], topics=topics)

    set_errors(answer, ERROR)

    assert [each.error_code for each in answer.topics] == [ERROR.code, ERROR.code]


def test_topics_of_a_request_are_its_names_and_ids() -> None:
    new = CreatableTopic(
        name="orders", num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )

    assert "orders" in topics_of(CreateTopicsRequest(topics=[new], timeout_ms=1))
    assert ORDERS_ID in topics_of(fetch_of(orders(0)))
    assert topics_of(fetch_of()) == set()
