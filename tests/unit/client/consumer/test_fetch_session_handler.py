"""Fetch sessions: requests contain only changes."""

from cordwood.client.consumer.fetch_session_handler import (
    FetchSessionHandler,
    FetchSessionRequest,
    FetchTarget,
)
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.uuids import Uuid

A, B = partitions_of([("a", 0), ("b", 0)])
AT_0 = FetchTarget(0, 1, 1_000)


def asked(request: FetchSessionRequest) -> dict[str, list[int]]:
    return {
        topic.topic: [each.fetch_offset for each in topic.partitions] for topic in request.topics
    }


def forgotten(request: FetchSessionRequest) -> dict[str, list[int]]:
    return {topic.topic: topic.partitions for topic in request.forgotten}


def opened() -> FetchSessionHandler:
    session = FetchSessionHandler()
    session.request({A: AT_0, B: AT_0})
    assert session.handle_response(77, 0)
    return session


def test_first_request_opens_a_session_with_everything() -> None:
    request = FetchSessionHandler().request({A: AT_0, B: AT_0})

    assert request.session_id == 0
    assert request.epoch == 0
    assert asked(request) == {"a": [0], "b": [0]}


def test_next_request_contains_moved_positions() -> None:
    request = opened().request({A: AT_0._replace(offset=5), B: AT_0})

    assert request.session_id == 77
    assert request.epoch == 1
    assert asked(request) == {"a": [5]}
    assert not request.forgotten


def test_removed_partition_is_forgotten_and_later_fetched_again() -> None:
    session = opened()

    without = session.request({B: AT_0})
    session.handle_response(77, 0)
    again = session.request({A: AT_0, B: AT_0})

    assert forgotten(without) == {"a": [0]}
    assert asked(again) == {"a": [0]}


def test_recreated_topic_is_forgotten_by_its_old_id() -> None:
    session = opened()
    new = Uuid(bytes(15) + b"n")

    request = session.request({A: AT_0._replace(topic_id=new), B: AT_0})

    assert forgotten(request) == {"a": [0]}
    assert [topic.topic_id for topic in request.topics] == [new]


def test_session_that_the_broker_lost_is_opened_again() -> None:
    session = opened()

    assert not session.handle_response(0, 70)

    request = session.request({A: AT_0})
    assert request.session_id == 0
    assert request.epoch == 0
    assert asked(request) == {"a": [0]}


def test_full_fetch_is_sent_each_time_to_a_broker_without_sessions() -> None:
    session = FetchSessionHandler()
    session.request({A: AT_0})
    session.handle_response(0, 0)

    assert asked(session.request({A: AT_0})) == {"a": [0]}


def test_other_errors_leave_the_session() -> None:
    session = opened()

    assert session.handle_response(77, 3)
    assert session.request({A: AT_0, B: AT_0}).epoch == 2


def test_restarted_session_is_replaced_by_a_full_request() -> None:
    session = opened()

    session.restart()

    request = session.request({A: AT_0})
    assert (request.session_id, request.epoch) == (77, 0)
    assert asked(request) == {"a": [0]}


def test_session_is_closed_by_a_last_request() -> None:
    session = opened()

    assert session.last_request() == FetchSessionRequest(77, -1, [], [])
    session.end()
    assert session.last_request() is None
