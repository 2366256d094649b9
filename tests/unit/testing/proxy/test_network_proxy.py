"""Clients stay behind the proxy, whichever brokers a response lists."""

import pytest

from cordwood.client.aio import Admin, Producer
from cordwood.core.errors import KafkaError
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataResponse
from cordwood.protocol.messages.produce import ProduceRequest
from cordwood.testing.proxy.network_proxy import NetworkProxy
from tests.unit.client.fake_broker import broker, run


def test_producer_stays_behind_the_proxy() -> None:
    async def scene() -> None:
        async with (
            broker(t=1) as fake,
            NetworkProxy(fake.address) as proxy,
            Producer[bytes, bytes](proxy.bootstrap, linger_ms=0, retry_backoff_ms=1) as producer,
        ):
            with proxy.faults.on("Produce").close() as closed:
                await (await producer.send("t", b"v"))
            assert closed.met == 1
            assert len(fake.requests(ProduceRequest)) == 1
            assert proxy.connections >= 2

    run(scene())


def test_broker_of_a_response_gets_a_listener() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, broker(t=1) as leader:

            def lead(request: MetadataRequest) -> MetadataResponse:
                return leader.metadata(request)

            fake.script(MetadataRequest, *[lead] * 10)
            async with (
                NetworkProxy(fake.address) as proxy,
                Producer[bytes, bytes](proxy.bootstrap, linger_ms=0) as producer,
            ):
                with proxy.faults.on("Produce").delay(ms=1):
                    await (await producer.send("t", b"v"))
            assert len(leader.requests(ProduceRequest)) == 1

    run(scene())


def test_client_of_a_broker_that_is_gone_is_closed() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            gone = fake.address
        async with (
            NetworkProxy(gone) as proxy,
            Admin(proxy.bootstrap, default_api_timeout_ms=50, retry_backoff_ms=5) as admin,
        ):
            with pytest.raises(KafkaError, match="closed the connection"):
                await admin.list_topics()

    run(scene())
