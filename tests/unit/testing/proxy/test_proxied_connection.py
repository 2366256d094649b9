"""A connection through the proxy: each fault reaches the client, and the broker if it should."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple, cast

from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.runtime import ClientRuntime, system_runtime
from cordwood.client.settings import ClientSettings
from cordwood.core.address import Address
from cordwood.core.errors import KafkaError, NetworkError
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataResponse
from cordwood.protocol.schema import Response
from cordwood.testing.proxy.network_proxy import NetworkProxy
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.network_time import until
from tests.unit.client.fake_broker import FakeBroker, broker, run


class Scene(NamedTuple):
    """A connection, its proxy on virtual time, and the broker behind it."""

    connection: BrokerConnection
    proxy: NetworkProxy
    fake: FakeBroker
    clock: VirtualClock

    def ask(self) -> "asyncio.Task[MetadataResponse]":
        """Send a Metadata request."""
        request = MetadataRequest(topics=None)
        return asyncio.ensure_future(self.connection.send(request, MetadataResponse))

    @property
    def handled(self) -> int:
        """Number of requests that the broker got."""
        return len(self.fake.requests(MetadataRequest))


@asynccontextmanager
async def proxied() -> AsyncIterator[Scene]:
    clock = VirtualClock()
    runtime = ClientRuntime(clock, clock, SeededRandom(1))
    async with (
        broker(t=1) as fake,
        NetworkProxy(fake.address, runtime=lambda: runtime) as proxy,
    ):
        connection = await opened(proxy)
        yield Scene(connection, proxy, fake, clock)
        connection.close()


async def opened(proxy: NetworkProxy) -> BrokerConnection:
    address = Address.parse(proxy.bootstrap, key="the proxy")
    settings = ClientSettings(bootstrap_servers=proxy.bootstrap)
    connection = BrokerConnection(address, settings, system_runtime())
    await connection.open(None)
    return connection


async def error_of(answer: "asyncio.Task[MetadataResponse]") -> KafkaError:
    try:
        await answer
    except KafkaError as error:
        return error
    raise AssertionError("there is a response")


def test_response_names_the_proxy() -> None:
    async def scene() -> None:
        async with proxied() as it:
            (found,) = (await it.ask()).brokers
            assert f"{found.host}:{found.port}" == it.proxy.bootstrap
            assert it.proxy.bootstrap != it.fake.address

    run(scene())


def test_connection_is_closed_before_the_broker_gets_the_request() -> None:
    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on("Metadata").close():
                assert isinstance(await error_of(it.ask()), NetworkError)
            assert it.handled == 0

    run(scene())


def test_connection_is_closed_within_the_response() -> None:
    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on("Metadata").close(handled=True, kept_bytes=9):
                assert isinstance(await error_of(it.ask()), NetworkError)
            assert it.handled == 1

    run(scene())


def test_dropped_request_and_later_ones_have_no_response() -> None:
    async def scene() -> None:
        async with proxied() as it:
            before = it.ask()
            with it.proxy.faults.on("Metadata", first=2).drop() as dropped:
                await before
                answers = [it.ask(), it.ask()]
                await asyncio.wait([before])
                await until(lambda: it.proxy.faults.counts["drop"] == 1)
                assert it.handled == 1
                assert dropped.met == 1
            it.connection.close()
            for each in answers:
                await error_of(each)

    run(scene())


def test_dropped_response_was_handled() -> None:
    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on("Metadata").drop(handled=True):
                answers = [it.ask(), it.ask()]
                await until(lambda: it.handled == 2)
                await until(lambda: it.proxy.faults.counts["drop"] == 1)
            assert not any(each.done() for each in answers)
            it.connection.close()
            for each in answers:
                await error_of(each)

    run(scene())


def test_client_rejects_the_response_after_a_swallowed_one() -> None:
    """Its correlation id is that of the later request."""

    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on("Metadata").swallow():
                first, second = it.ask(), it.ask()
                assert "correlation id" in str(await error_of(first))
                await error_of(second)
            assert it.handled == 2

    run(scene())


def test_delayed_response_comes_on_time_and_in_order() -> None:
    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on("Metadata").delay(seconds=60) as delayed:
                first, second = it.ask(), it.ask()
                await until(lambda: delayed.met == 1)
                it.clock.advance(seconds=59)
                await until(lambda: it.handled == 2)
                assert (first.done(), second.done()) == (False, False)
                it.clock.advance(seconds=1)
                await first
                await second

    run(scene())


def test_response_trickles() -> None:
    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on("Metadata").trickle(piece_bytes=10, pause_ms=100):
                answer = it.ask()
                await until(answer.done, clock=it.clock, step_ms=50)
            assert (await answer).cluster_id == "fake"
            assert it.clock.monotonic_ms() >= 500

    run(scene())


def test_response_is_rewritten() -> None:
    def rename(response: Response) -> None:
        cast("MetadataResponse", response).cluster_id = "another"

    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on("Metadata").rewrite(rename):
                assert (await it.ask()).cluster_id == "another"
            assert (await it.ask()).cluster_id == "fake"

    run(scene())


def test_bytes_of_a_response_are_rewritten() -> None:
    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on("Metadata").rewrite_bytes(lambda data: data[:4] + b"\xff" * 9):
                assert "invalid response" in str(await error_of(it.ask()))

    run(scene())


def test_refused_connection_is_closed_at_once() -> None:
    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on_connect().refuse():
                try:
                    await opened(it.proxy)
                except NetworkError:
                    pass
                else:
                    raise AssertionError("the connection is closed")
            (await opened(it.proxy)).close()

    run(scene())


def test_hanging_connection_has_no_response() -> None:
    async def scene() -> None:
        async with proxied() as it:
            with it.proxy.faults.on_connect().hang() as hangs:
                opening = asyncio.ensure_future(opened(it.proxy))
                await until(lambda: hangs.met == 1)
                assert not opening.done()
                opening.cancel()
                await asyncio.wait([opening])

    run(scene())
