"""Only what changed is asked for."""

from cordwood.client.fetch_session import FetchSession, SessionRequest, Wanted
from cordwood.client.places import partitions_of
from cordwood.core.ids import Uuid

A, B = partitions_of([("a", 0), ("b", 0)])
AT_0 = Wanted(0, 1, 1_000)


def asked(request: SessionRequest) -> dict[str, list[int]]:
    return {
        topic.topic: [each.fetch_offset for each in topic.partitions] for topic in request.topics
    }


def forgotten(request: SessionRequest) -> dict[str, list[int]]:
    return {topic.topic: topic.partitions for topic in request.forgotten}


def opened() -> FetchSession:
    session = FetchSession()
    session.request({A: AT_0, B: AT_0})
    assert session.answered(77, 0)
    return session


def test_first_request_opens_a_session_with_everything() -> None:
    request = FetchSession().request({A: AT_0, B: AT_0})

    assert (request.session_id, request.epoch) == (0, 0)
    assert asked(request) == {"a": [0], "b": [0]}


def test_next_request_says_what_moved() -> None:
    request = opened().request({A: AT_0._replace(offset=5), B: AT_0})

    assert (request.session_id, request.epoch) == (77, 1)
    assert asked(request) == {"a": [5]}
    assert not request.forgotten


def test_partition_that_is_not_wanted_is_forgotten_and_asked_for_again() -> None:
    session = opened()

    without = session.request({B: AT_0})
    session.answered(77, 0)
    again = session.request({A: AT_0, B: AT_0})

    assert forgotten(without) == {"a": [0]}
    assert asked(again) == {"a": [0]}


def test_topic_made_anew_is_forgotten_by_its_old_id() -> None:
    session = opened()
    new = Uuid(bytes(15) + b"n")

    request = session.request({A: AT_0._replace(topic_id=new), B: AT_0})

    assert forgotten(request) == {"a": [0]}
    assert [topic.topic_id for topic in request.topics] == [new]


def test_session_that_the_broker_lost_is_opened_again() -> None:
    session = opened()

    assert not session.answered(0, 70)

    request = session.request({A: AT_0})
    assert (request.session_id, request.epoch) == (0, 0)
    assert asked(request) == {"a": [0]}


def test_broker_without_sessions_is_asked_for_everything_each_time() -> None:
    session = FetchSession()
    session.request({A: AT_0})
    session.answered(0, 0)

    assert asked(session.request({A: AT_0})) == {"a": [0]}


def test_other_errors_leave_the_session() -> None:
    session = opened()

    assert session.answered(77, 3)
    assert session.request({A: AT_0, B: AT_0}).epoch == 2
