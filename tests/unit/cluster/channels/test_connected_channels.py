"""Tests of channels over connections, with a scripted broker."""

import asyncio

import pytest

from cordwood.client.network.runtime import system_runtime
from cordwood.client.settings import ClientSettings
from cordwood.cluster.channels.broker_channel import BrokerChannel, BrokerChannels
from cordwood.cluster.channels.connected_channels import ConnectedChannels
from cordwood.core.address import Address
from cordwood.core.errors import NetworkError
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.unit.client.fake_broker import FakeBroker, Hangup, broker, run

ASKED = MetadataRequest(topics=[])


def channel_to(fake: FakeBroker) -> BrokerChannel:
    settings = ClientSettings(bootstrap_servers=(fake.address,))
    channels: BrokerChannels = ConnectedChannels(settings, system_runtime())
    return channels.open(Address.parse(fake.address, key="test"), client_id="a broker")


def _hang_up(_: MetadataRequest) -> None:
    raise Hangup


def test_requests_share_one_connection() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            channel = channel_to(fake)
            sent = [channel.send(ASKED, MetadataResponse, timeout_ms=5_000) for _ in range(3)]
            responses = await asyncio.gather(*sent)
            channel.close()
            assert [each.cluster_id for each in responses] == ["fake"] * 3
            assert len(fake.requests(ApiVersionsRequest)) == 1

    run(scene())


def test_request_after_a_lost_connection_opens_the_next_one() -> None:
    async def scene() -> None:
        async with broker() as fake:
            fake.script(MetadataRequest, _hang_up)
            channel = channel_to(fake)
            with pytest.raises(NetworkError):
                await channel.send(ASKED, MetadataResponse, timeout_ms=5_000)
            response = await channel.send(ASKED, MetadataResponse, timeout_ms=5_000)
            channel.close()
            assert response.cluster_id == "fake"
            assert len(fake.requests(ApiVersionsRequest)) == 2

    run(scene())


def test_closed_channel_sends_nothing() -> None:
    async def scene() -> None:
        async with broker() as fake:
            channel = channel_to(fake)
            channel.close()
            with pytest.raises(NetworkError, match="is closed"):
                await channel.send(ASKED, MetadataResponse, timeout_ms=5_000)
            assert not fake.requests(ApiVersionsRequest)

    run(scene())


def test_channel_closed_while_it_opens_sends_nothing() -> None:
    async def scene() -> None:
        async with broker() as fake:
            channel = channel_to(fake)
            sending = asyncio.ensure_future(channel.send(ASKED, MetadataResponse, timeout_ms=5_000))
            await asyncio.sleep(0)
            channel.close()
            with pytest.raises(NetworkError):
                await sending
            assert not fake.requests(MetadataRequest)

    run(scene())


def test_connection_that_gets_no_answer_ends_with_the_timeout_of_the_request() -> None:
    """A hung connection must not hold up the requests of a controller for half a minute."""

    async def scene() -> None:
        ended = asyncio.Semaphore(0)

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()
            await writer.wait_closed()
            ended.release()

        async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            settings = ClientSettings(bootstrap_servers=(f"127.0.0.1:{port}",))
            channels = ConnectedChannels(settings, system_runtime())
            channel = channels.open(Address("127.0.0.1", port), client_id="a broker")
            with pytest.raises(NetworkError, match="has not accepted a connection in 20 ms"):
                await channel.send(ASKED, MetadataResponse, timeout_ms=20)
            with pytest.raises(NetworkError, match="has not accepted a connection in 20 ms"):
                await channel.version(MetadataRequest, timeout_ms=20)
            for _ in range(2):
                await ended.acquire()

    run(scene())
