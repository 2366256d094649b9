"""Lookup of a coordinator, and its connection."""

import asyncio

import pytest

from cordwood.client.group.group_coordinator import GroupCoordinator
from cordwood.client.network.runtime import LoopTurn
from cordwood.core.errors import CoordinatorNotAvailableError, NetworkError, NotCoordinatorError
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.schema import Response
from tests.unit.client.fake_broker import Hangup, run, versions
from tests.unit.client.fake_coordinator import coordinator
from tests.unit.client.samples import routed

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


def test_coordinator_is_looked_up_once_for_several_requests() -> None:
    async def scene() -> None:
        async with coordinator() as fake, routed(fake.address) as client:
            group = GroupCoordinator(client, "g")
            await group.send(BEAT, HeartbeatResponse)
            await group.send(BEAT, HeartbeatResponse)
            group.disconnect()
            assert len(fake.requests(FindCoordinatorRequest)) == 1

    run(scene())


def test_moved_coordinator_is_looked_up_again() -> None:
    async def scene() -> None:
        async with coordinator() as fake, routed(fake.address) as client:
            group = GroupCoordinator(client, "g")
            await group.connection()
            group.handle_error(NotCoordinatorError("moved"))
            await group.connection()
            group.disconnect()
            assert len(fake.requests(FindCoordinatorRequest)) == 2

    run(scene())


def test_lost_connection_is_an_error_and_causes_the_next_lookup() -> None:
    def hang_up(_: HeartbeatRequest) -> Response:
        raise Hangup

    async def scene() -> None:
        async with coordinator() as fake, routed(fake.address) as client:
            fake.script(HeartbeatRequest, hang_up)
            group = GroupCoordinator(client, "g")
            with pytest.raises(NetworkError):
                await group.send(BEAT, HeartbeatResponse)
            await group.send(BEAT, HeartbeatResponse)
            group.disconnect()
            assert len(fake.requests(FindCoordinatorRequest)) == 2

    run(scene())


def test_connection_that_opens_during_a_disconnect_is_closed_with_the_client() -> None:
    """A consumer disconnects when it leaves its group, perhaps while another call connects."""

    async def scene() -> None:
        async with coordinator() as fake, routed(fake.address) as client:
            group = GroupCoordinator(client, "g")
            connecting = asyncio.ensure_future(group.connection())
            await LoopTurn()
            group.disconnect()
            made = await connecting
            await client.close()
            assert not made.is_usable

    run(scene())


def test_unavailable_coordinator_is_an_error_that_names_the_group() -> None:
    async def scene() -> None:
        async with coordinator() as fake, routed(fake.address) as client:
            fake.script(FindCoordinatorRequest, lambda request: fake.found(request, 15))
            with pytest.raises(CoordinatorNotAvailableError, match="group 'g'"):
                await GroupCoordinator(client, "g").connection()

    run(scene())


def test_old_broker_is_sent_a_single_key() -> None:
    async def scene() -> None:
        async with coordinator() as fake, routed(fake.address) as client:
            ranges = {"FindCoordinator": (0, 3)}
            fake.script(ApiVersionsRequest, lambda _: versions(**ranges))
            host, port = fake.address.split(":")
            old = FindCoordinatorResponse(error_code=0, node_id=1, host=host, port=int(port))
            fake.script(FindCoordinatorRequest, lambda _: old)
            group = GroupCoordinator(client, "g")
            await group.connection()
            group.disconnect()
            assert fake.requests(FindCoordinatorRequest)[0].key == "g"

    run(scene())
