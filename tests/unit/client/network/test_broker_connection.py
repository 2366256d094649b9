"""Connections: pairing of responses with requests, and reasons of a close."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.runtime import system_runtime
from cordwood.client.settings import ClientSettings
from cordwood.core.address import Address
from cordwood.core.errors import NetworkError, RequestTimedOutError, UnsupportedVersionError
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataResponse
from cordwood.protocol.messages.produce import ProduceRequest
from tests.unit.client.fake_broker import FakeBroker, Hangup, broker, run, versions

ASKED = MetadataRequest(topics=[])


@asynccontextmanager
async def connected(fake: FakeBroker, **options: int) -> AsyncIterator[BrokerConnection]:
    settings = ClientSettings(bootstrap_servers=(fake.address,), **options)  # type: ignore[arg-type]  # by name
    address = Address.parse(fake.address, key="test")
    connection = BrokerConnection(address, settings, system_runtime())
    try:
        await connection.open(None)
        yield connection
    finally:
        connection.close()


def _hang_up(_: MetadataRequest) -> None:
    raise Hangup


def test_connection_uses_the_versions_of_the_broker() -> None:
    async def scene() -> None:
        async with broker() as fake:
            fake.script(ApiVersionsRequest, lambda _: versions(Metadata=(0, 4)))
            async with connected(fake) as connection:
                assert connection.version_of(MetadataRequest) == 4

    run(scene())


def test_connection_retries_in_the_version_of_the_broker() -> None:
    async def scene() -> None:
        async with broker() as fake:
            refusal = versions(ApiVersions=(0, 2))
            refusal.error_code = 35
            fake.script(ApiVersionsRequest, lambda _: refusal)
            async with connected(fake) as connection:
                assert connection.is_usable
            assert len(fake.requests(ApiVersionsRequest)) == 2

    run(scene())


def test_requests_are_pipelined_and_answered_in_order() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, connected(fake) as connection:
            asked = [connection.send(ASKED, MetadataResponse) for _ in range(3)]
            answers = await asyncio.gather(*asked)
            assert [answer.cluster_id for answer in answers] == ["fake"] * 3

    run(scene())


def test_every_pending_request_fails_when_the_connection_closes() -> None:
    async def scene() -> None:
        async with broker() as fake, connected(fake) as connection:
            fake.script(MetadataRequest, _hang_up)
            first, second = (connection.send(ASKED, MetadataResponse) for _ in range(2))
            with pytest.raises(NetworkError, match="closed the connection"):
                await first
            with pytest.raises(NetworkError):
                await second
            with pytest.raises(NetworkError):
                await connection.send(ASKED, MetadataResponse)

    run(scene())


def test_late_answer_ends_the_connection() -> None:
    async def scene() -> None:
        async with broker() as fake, connected(fake, request_timeout_ms=20) as connection:
            fake.script(MetadataRequest, lambda _: None)
            with pytest.raises(RequestTimedOutError, match="Metadata within 20 ms"):
                await connection.send(ASKED, MetadataResponse)
            assert not connection.is_usable

    run(scene())


def test_answer_above_the_limit_ends_the_connection() -> None:
    async def scene() -> None:
        topics = {f"topic-{n}": 9 for n in range(40)}
        few = {"receive_message_max_bytes": 2_000}
        async with broker(**topics) as fake, connected(fake, **few) as connection:
            with pytest.raises(NetworkError, match="frame size"):
                await connection.send(MetadataRequest(topics=None), MetadataResponse)

    run(scene())


def test_large_answer_is_received_in_place() -> None:
    async def scene() -> None:
        topics = {f"topic-{n}": 100 for n in range(100)}
        async with broker(**topics) as fake, connected(fake) as connection:
            answer = await connection.send(MetadataRequest(topics=None), MetadataResponse)
            assert len(answer.topics) == 100

    run(scene())


def test_request_without_a_response_is_not_waited_for() -> None:
    async def scene() -> None:
        async with broker() as fake, connected(fake) as connection:
            await connection.send_without_response(ProduceRequest(acks=0, timeout_ms=1, topics=[]))
            assert (await connection.send(ASKED, MetadataResponse)).cluster_id == "fake"
            assert len(fake.requests(ProduceRequest)) == 1

    run(scene())


def test_broker_without_the_api_is_named() -> None:
    async def scene() -> None:
        async with broker() as fake:
            fake.script(ApiVersionsRequest, lambda _: versions(Heartbeat=(90, 91)))
            async with connected(fake) as connection:
                with pytest.raises(UnsupportedVersionError, match="Heartbeat"):
                    connection.version_of(HeartbeatRequest)

    run(scene())


def test_error_for_an_unavailable_broker_names_its_address() -> None:
    async def scene() -> None:
        async with broker() as fake:
            pass
        with pytest.raises(NetworkError, match=fake.address):
            async with connected(fake):
                pass

    run(scene())


def test_throttled_client_keeps_still_for_so_long() -> None:
    async def scene() -> None:
        async with broker() as fake, connected(fake) as connection:
            answer = fake.metadata(ASKED)
            answer.throttle_time_ms = 60_000
            fake.script(MetadataRequest, lambda _: answer)
            await connection.send(ASKED, MetadataResponse)
            assert connection.throttled_until_ms > system_runtime().now_ms() + 1_000

    run(scene())


def test_host_that_cannot_be_looked_up_is_a_network_error() -> None:
    """K-D2: metadata may name a host with a label of 70 letters."""

    async def scene() -> None:
        settings = ClientSettings(bootstrap_servers=("127.0.0.1:1",))
        connection = BrokerConnection(Address("h" * 70, 1), settings, system_runtime())
        with pytest.raises(NetworkError, match="cannot be reached: UnicodeError: "):
            await connection.open(None)

    run(scene())


def test_tls_to_a_plaintext_port_names_the_error_and_tls() -> None:
    """K-C6: the error of the operating system may have no text."""

    async def scene() -> None:
        async with broker() as fake:
            settings = ClientSettings(bootstrap_servers=(fake.address,))
            address = Address.parse(fake.address, key="test")
            connection = BrokerConnection(address, settings, system_runtime())
            with pytest.raises(NetworkError, match=r"reached: \w+Error.*; does it speak TLS"):
                await connection.open(ssl.create_default_context())

    run(scene())
