"""A coordinator is looked up once, and again after an error."""

import pytest

from cordwood.client.network import coordinator_call
from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.coordinator_call import (
    GROUP,
    TRANSACTION,
    CoordinatorKey,
    call_coordinator,
    while_markers_are_written,
)
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.runtime import system_runtime
from cordwood.client.settings import ClientSettings
from cordwood.core.errors import (
    ConcurrentTransactionsError,
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    KafkaError,
    NotCoordinatorError,
    UnstableOffsetCommitError,
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


def test_coordinator_is_looked_up_once_for_several_calls() -> None:
    async def scene() -> None:
        async with broker() as fake:
            coordinates(fake)
            client = client_of(fake)
            for _ in range(3):
                assert await call_coordinator(client, KEY, address) == fake.address
            assert len(fake.requests(FindCoordinatorRequest)) == 1
            await client.close()

    run(scene())


def test_coordinator_is_looked_up_again_after_an_error_that_is_not_retried() -> None:
    async def refused(_: BrokerConnection) -> str:
        raise GroupAuthorizationFailedError("not allowed")

    async def scene() -> None:
        async with broker() as fake:
            coordinates(fake)
            client = client_of(fake)
            with pytest.raises(GroupAuthorizationFailedError):
                await call_coordinator(client, KEY, refused)
            await call_coordinator(client, KEY, address)
            assert len(fake.requests(FindCoordinatorRequest)) == 2
            await client.close()

    run(scene())


def test_coordinator_that_the_metadata_lack_is_looked_up_again() -> None:
    """The broker that was asked for it has later metadata than the one asked for brokers."""

    async def scene() -> None:
        async with broker() as fake:
            fake.script(FindCoordinatorRequest, lambda _: found(0, NODE + 1))
            coordinates(fake)
            client = client_of(fake)
            assert await call_coordinator(client, KEY, address) == fake.address
            assert len(fake.requests(FindCoordinatorRequest)) == 2
            await client.close()

    run(scene())


def test_number_of_kept_coordinators_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator_call, "_MOST_KEPT", 2)

    async def scene() -> None:
        async with broker() as fake:
            coordinates(fake)
            client = client_of(fake)
            for name in "abc":
                await call_coordinator(client, CoordinatorKey(GROUP, name), address)
            assert client.coordinators == {(GROUP, "c"): NODE}
            await client.close()

    run(scene())


def test_coordinator_is_looked_up_again_for_a_retry() -> None:
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


def test_attempt_is_repeated_without_a_lookup_while_markers_are_written() -> None:
    errors: list[KafkaError] = [ConcurrentTransactionsError("c"), UnstableOffsetCommitError("u")]

    async def attempt(connection: BrokerConnection) -> str:
        if errors:
            raise errors.pop()
        return await address(connection)

    async def scene() -> None:
        async with broker() as fake:
            coordinates(fake)
            client = client_of(fake)
            patient = while_markers_are_written(client, attempt)
            assert await call_coordinator(client, KEY, patient) == fake.address
            assert len(fake.requests(FindCoordinatorRequest)) == 1
            await client.close()

    run(scene())


def test_markers_that_are_never_written_are_the_error_of_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coordinator_call, "_PAUSES_MS", (1, 1))

    async def attempt(_: BrokerConnection) -> str:
        raise UnstableOffsetCommitError("group 'g', t-0")

    async def scene() -> None:
        async with broker() as fake:
            fake.script(FindCoordinatorRequest, *[lambda _: found()] * 200)
            client = client_of(fake, timeout_ms=30)
            patient = while_markers_are_written(client, attempt)
            with pytest.raises(UnstableOffsetCommitError, match="t-0"):
                await call_coordinator(client, KEY, patient)
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
