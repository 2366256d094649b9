"""Tests of the requests to a leader: sessions, versions, and errors of whole responses."""

import pytest

from cordwood.core.errors import (
    ClusterAuthorizationFailedError,
    FetchSessionIdNotFoundError,
    NetworkError,
)
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.fetch import FetchRequest
from tests.unit.cluster.fetchers.fetcher_world import (
    LEADER,
    ORDERS_ID,
    SETTINGS,
    A,
    B,
    FetcherWorld,
    data,
    response,
    run,
    turns,
)

GONE = FetchSessionIdNotFoundError.code


def test_fetch_has_the_limits_of_the_settings() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.replicas.logs[A].log_end = world.replicas.logs[A].log_start = 7
        await world.follow(A)

        (fetch,) = world.channel.fetches
        (wanted,) = fetch.topics[0].partitions
        assert (fetch.max_bytes, fetch.min_bytes, fetch.max_wait_ms) == (10_485_760, 1, 500)
        assert (wanted.partition_max_bytes, wanted.log_start_offset) == (1_048_576, 7)
        assert wanted.last_fetched_epoch == -1

    run(scene)


@pytest.mark.parametrize(("known", "used"), ((18, 17), (16, 16), (15, 15)))
def test_follower_sends_its_broker_epoch_from_version_15_on(known: int, used: int) -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)

        (fetch,) = world.channel.fetches
        assert fetch.replica_state is not None
        state = fetch.replica_state
        assert (state.replica_id, state.replica_epoch, fetch.replica_id) == (1, 70, -1)
        assert world.channel.versions == [used]

    run(scene, version=known)


def test_follower_sends_its_id_to_an_older_leader() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)

        (fetch,) = world.channel.fetches
        assert (fetch.replica_state, fetch.replica_id) == (None, 1)

    run(scene, version=14)


def test_topic_without_an_id_is_fetched_by_name() -> None:
    async def scene(world: FetcherWorld) -> None:
        world.manager.follow(A, NO_UUID, leader=LEADER, leader_epoch=4)
        world.manager.follow(B, ORDERS_ID, leader=LEADER, leader_epoch=4)
        await turns()

        assert world.channel.versions == [12]

    run(scene)


def test_leader_that_does_not_detect_divergence_is_not_followed() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)

        assert world.channel.sent == []
        assert "the leader has version 11 of Fetch, replicas need 12" in world.events[0]

    run(scene, version=11)


def test_session_sends_what_has_changed() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, B)
        await world.answer(response(data(A, 1), data(B)))
        await world.answer(response())
        await world.answer(response(data(B, 1)))

        sessions = [(each.session_id, each.session_epoch) for each in world.channel.fetches]
        assert sessions == [(0, 0), (9, 1), (9, 2), (9, 3)]
        assert world.channel.fetched == [[(0, 0), (1, 0)], [(0, 1)], [], [(1, 1)]]

    run(scene)


def test_session_begins_again_if_the_bounds_of_a_response_were_not_used() -> None:
    """A session does not send bounds twice: the high watermark would stay until it moves."""

    async def scene(world: FetcherWorld) -> None:
        await world.follow(A, epoch=4)
        await world.answer(response(data(A)))
        await world.follow(A, epoch=5)
        await world.answer(response(data(A, high_watermark=8)))
        await world.answer(response(data(A, diverging=(3, 0))))

        sessions = [(each.session_id, each.session_epoch) for each in world.channel.fetches]
        assert sessions == [(0, 0), (9, 1), (9, 0), (9, 0)]

    run(scene)


def test_lost_session_begins_again_at_once() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        await world.answer(response(data(A)))
        await world.answer(response(error=GONE, session=0))

        assert [each.session_epoch for each in world.channel.fetches] == [0, 1, 0]
        assert world.events == []

    run(scene)


def test_leader_that_rejects_each_session_is_asked_after_the_backoff() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        await world.answer(response(error=GONE, session=0))
        assert len(world.channel.sent) == 1

        await world.pass_time(SETTINGS.backoff_ms)
        assert len(world.channel.sent) == 2

    run(scene)


def test_other_error_of_a_response_is_followed_by_the_backoff() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        await world.answer(response(data(A)))
        await world.answer(response(error=ClusterAuthorizationFailedError.code))
        assert len(world.channel.sent) == 2

        await world.pass_time(SETTINGS.backoff_ms)
        assert len(world.channel.sent) == 3

    run(scene)


def test_session_begins_again_after_a_request_without_a_response() -> None:
    async def scene(world: FetcherWorld) -> None:
        await world.follow(A)
        await world.answer(response(data(A)))
        await world.answer(NetworkError("lost"))
        await world.pass_time(SETTINGS.backoff_ms)

        assert [each.session_epoch for each in world.channel.fetches] == [0, 1, 0]
        assert isinstance(world.channel.sent[-1], FetchRequest)

    run(scene)
