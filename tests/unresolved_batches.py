"""The scene of a delivery timeout after lost answers, on any broker that a proxy stands before.

The log must hold each record once and in order, also those that were reported as timed out.
"""

import asyncio

from cordwood.client.aio import Producer
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.errors import RequestTimedOutError
from cordwood.testing.proxy.network_proxy import NetworkProxy
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.network_time import until

REQUEST_TIMEOUT_MS = 8_000
DELIVERY_TIMEOUT_MS = 10_000

#: Content of the log afterwards.
SENT_ONCE = [b"warm", b"A", b"B", b"C"]


async def time_out_a_written_batch(target: str, topic: str) -> None:
    """Send A and B, lose the answers of both, let A time out, and send C."""
    clock = VirtualClock()
    async with NetworkProxy(target) as proxy, _producer(proxy.bootstrap, clock) as producer:
        warm = asyncio.ensure_future(_deliver(producer, topic))
        await until(warm.done, clock=clock, step_ms=1)  # Kafka's first answers may be retriable
        await warm
        with proxy.faults.on("Produce", times=None).swallow() as lost:
            first = await producer.send(topic, b"A")
            await until(lambda: lost.met == 1)
            clock.advance(ms=REQUEST_TIMEOUT_MS / 2)
            second = await producer.send(topic, b"B")
            await until(lambda: lost.met == 2)
        with proxy.faults.on_connect(times=None).refuse() as refused:
            await until(lambda: refused.met > 0, clock=clock)
            await until(first.done, clock=clock)
            assert isinstance(first.exception(), RequestTimedOutError)
            assert not second.done()
        third = await producer.send(topic, b"C")
        await until(lambda: second.done() and third.done(), clock=clock)
        assert (second.exception(), third.exception()) == (None, None)


def _producer(bootstrap: str, clock: VirtualClock) -> Producer[bytes, bytes]:
    return Producer(
        bootstrap,
        runtime=lambda: ClientRuntime(clock, clock, SeededRandom(1)),
        linger_ms=0,
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
    )


async def _deliver(producer: Producer[bytes, bytes], topic: str) -> None:
    await (await producer.send(topic, b"warm"))
