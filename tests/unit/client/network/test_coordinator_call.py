"""Calls to a coordinator are retried with a lookup each."""

import pytest

from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.coordinator_call import (
    GROUP,
    TRANSACTION,
    CoordinatorKey,
    call_coordinator,
)
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.runtime import system_runtime
from cordwood.client.settings import ClientSettings
from cordwood.core.errors import (
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    NotCoordinatorError,
)
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.unit.client.admin.coordinator_scripts import coordinates, found
from tests.unit.client.fake_broker import NODE, FakeBroker, broker, run, versions

KEY = CoordinatorKey(GROUP, "g")


def client_of(fake: FakeBroker, timeout_ms: int = 60_000) -> NetworkClient:
    settings = ClientSettings(
        bootstrap_servers=fake.address, retry_backoff_ms=1, default_api_timeout_ms=timeout_ms
    )
    return NetworkClient(settings, system_runtime(), None)


async def address(connection: BrokerConnection) -> str:
    return str(connection.address)


def test_coordinator_is_looked_up_again_for_each_attempt() -> None:
    errors = [NotCoordinatorError("moved")]

    async def attempt(connection: BrokerConnection) -> str:
        if errors:
            raise errors.pop()
        return await address(connection)

    async def scene() -> None:
        async with broker() as fake:
            coordinates(fake)
            client = client_of(fake)
            assert await call_coordinator(client, KEY, attempt) == fake.address
            assert len(fake.requests(FindCoordinatorRequest)) == 2
            await client.close()

    run(scene())


def test_lookup_is_retried_until_there_is_a_coordinator() -> None:
    async def scene() -> None:
        async with broker() as fake:
            fake.script(FindCoordinatorRequest, lambda _: found(15), lambda _: found())
            client = client_of(fake)
            assert await call_coordinator(client, KEY, address) == fake.address
            await client.close()

    run(scene())


def test_limit_of_the_call_ends_the_lookups() -> None:
    async def scene() -> None:
        async with broker() as fake:
            fake.script(FindCoordinatorRequest, *[lambda _: found(15)] * 200)
            client = client_of(fake, timeout_ms=30)
            with pytest.raises(CoordinatorNotAvailableError, match="coordinator of group 'g'"):
                await call_coordinator(client, KEY, address)
            await client.close()

    run(scene())


def test_error_of_the_lookup_that_stays_is_raised() -> None:
    async def scene() -> None:
        async with broker() as fake:
            fake.script(FindCoordinatorRequest, lambda _: found(30))
            client = client_of(fake)
            with pytest.raises(GroupAuthorizationFailedError):
                await call_coordinator(client, KEY, address)
            await client.close()

    run(scene())


def test_old_broker_gets_one_key() -> None:
    async def scene() -> None:
        async with broker() as fake:
            fake.script(ApiVersionsRequest, lambda _: versions(FindCoordinator=(0, 3)))
            old = FindCoordinatorResponse(node_id=NODE, host="h", port=1)
            fake.script(FindCoordinatorRequest, lambda _: old)
            client = client_of(fake)
            key = CoordinatorKey(TRANSACTION, "t")
            assert await call_coordinator(client, key, address) == fake.address
            (request,) = fake.requests(FindCoordinatorRequest)
            assert (request.key, request.key_type) == ("t", TRANSACTION)
            await client.close()

    run(scene())
