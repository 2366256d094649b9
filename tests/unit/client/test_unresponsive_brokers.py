"""Brokers that refuse, hang or send rubbish: every call ends within its limit (K-B3, K-B4).

The time is virtual, so that a limit is compared exactly, and no test waits.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager

import pytest

import cordwood
from cordwood.client.admin.admin_client import Admin
from cordwood.client.consumer.consumer import Consumer
from cordwood.client.producer.producer import Producer
from cordwood.client.settings import ClientOptions
from cordwood.core.errors import CordwoodError, InvalidRequestError
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.metadata import MetadataRequest
from cordwood.protocol.schema import Request, Response
from tests.unit.client.fake_broker import FakeBroker, broker, run, served, versions
from tests.unit.client.samples import T0
from tests.unit.client.virtual_time import VirtualTime

LIMIT_MS = 1_000
REQUEST_TIMEOUT_MS = 8_000
#: Less than the shortest backoff: a call does not begin another attempt after its limit.
A_LITTLE_MS = 100
MOST_MS = 10 * REQUEST_TIMEOUT_MS

LIMITS: ClientOptions = {
    "request_timeout_ms": REQUEST_TIMEOUT_MS,
    "default_api_timeout_ms": LIMIT_MS,
}

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Call = Callable[[str, VirtualTime], Coroutine[object, object, object]]


@asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[str]:
    """Yield the address of a server; its connections end with it."""
    ended, tasks = asyncio.get_running_loop().create_future(), set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await handler(reader, writer)
        await ended
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server:
        yield f"{host}:{port}"
        ended.set_result(None)
        await asyncio.gather(*tasks)


@asynccontextmanager
async def refusing() -> AsyncIterator[str]:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    server.close()
    await server.wait_closed()
    yield f"{host}:{port}"


async def _pause(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    reader._transport.pause_reading()  # type: ignore[attr-defined]  # noqa: SLF001 - accepted, and nothing else


async def _swallow(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read(1)


async def _send_rubbish(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")


async def _send_frame_of_rubbish(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write((40).to_bytes(4) + b"\xff" * 40)


class SilentBroker(FakeBroker):
    """Broker that answers ApiVersions, and nothing else."""

    async def _made(self, request: Request) -> Response | None:
        return versions() if isinstance(request, ApiVersionsRequest) else None


HOSTILE: dict[str, Callable[[], object]] = {
    "refuse": refusing,
    "hang after accept": lambda: listening(_pause),
    "hang in ApiVersions": lambda: listening(_swallow),
    "hang after ApiVersions": lambda: listening(SilentBroker({}).serve),
    "send rubbish": lambda: listening(_send_rubbish),
    "send a frame of rubbish": lambda: listening(_send_frame_of_rubbish),
}


def of_producer(
    call: Callable[[Producer[bytes, bytes]], Coroutine[object, object, object]],
) -> Call:
    async def made(address: str, time: VirtualTime) -> object:
        client = Producer[bytes, bytes](
            address, runtime=time.runtime, max_block_ms=LIMIT_MS, **LIMITS
        )
        await client.start()
        try:
            return await call(client)
        finally:
            await client.close(0)

    return made


def of_consumer(
    call: Callable[[Consumer[bytes, bytes]], Coroutine[object, object, object]],
) -> Call:
    async def made(address: str, time: VirtualTime) -> object:
        async with Consumer[bytes, bytes](address, runtime=time.runtime, **LIMITS) as client:
            client.assign([T0])
            return await call(client)

    return made


def of_admin(call: Callable[[Admin], Coroutine[object, object, object]]) -> Call:
    async def made(address: str, time: VirtualTime) -> object:
        async with Admin(address, runtime=time.runtime, **LIMITS) as client:
            return await call(client)

    return made


async def _record_sets(client: Consumer[bytes, bytes]) -> list[object]:
    return [each async for each in client.record_sets(timeout_ms=LIMIT_MS)]


async def _columns(client: Consumer[bytes, bytes]) -> list[object]:
    return [each async for each in client.columns(timeout_ms=LIMIT_MS)]


async def _sent(client: Producer[bytes, bytes]) -> object:
    return await (await client.send("t", b"v"))


CALLS: dict[str, Call] = {
    "send": of_producer(_sent),
    "partition_count": of_producer(lambda it: it.partition_count("t")),
    "flush": of_producer(lambda it: it.flush()),
    "close of a producer": of_producer(lambda it: it.close()),
    "poll": of_consumer(lambda it: it.poll(LIMIT_MS)),
    "record_sets": of_consumer(_record_sets),
    "columns": of_consumer(_columns),
    "position": of_consumer(lambda it: it.position(T0)),
    "beginning_offsets": of_consumer(lambda it: it.beginning_offsets([T0])),
    "end_offsets": of_consumer(lambda it: it.end_offsets([T0])),
    "offsets_for_times": of_consumer(lambda it: it.offsets_for_times({T0: 5})),
    "close of a consumer": of_consumer(lambda it: it.close()),
    "list_topics": of_admin(lambda it: it.list_topics()),
    "describe_topics": of_admin(lambda it: it.describe_topics(["t"])),
    "create_topic": of_admin(lambda it: it.create_topic("u")),
    "delete_topic": of_admin(lambda it: it.delete_topic("t")),
    "create_partitions": of_admin(lambda it: it.create_partitions("t", 2)),
    "describe_cluster": of_admin(lambda it: it.describe_cluster()),
    "describe_log_dirs": of_admin(lambda it: it.describe_log_dirs(1)),
    "describe_configs": of_admin(lambda it: it.describe_configs(("topic", "t"))),
    "alter_configs": of_admin(
        lambda it: it.alter_configs(("topic", "t"), change={"retention.ms": "1"})
    ),
    "delete_records": of_admin(lambda it: it.delete_records({T0: 1})),
    "list_offsets": of_admin(lambda it: it.list_offsets({T0: -1})),
    "close of an admin client": of_admin(lambda it: it.close()),
}
#: Calls that a healthy broker would not have to answer.
WITHOUT_ERROR = {
    "flush",
    "poll",
    "record_sets",
    "columns",
    *(each for each in CALLS if "close" in each),
}


@pytest.mark.parametrize("trouble", HOSTILE)
@pytest.mark.parametrize("name", CALLS)
def test_every_call_ends_within_its_limit(name: str, trouble: str) -> None:
    async def scene() -> None:
        time = VirtualTime()
        async with HOSTILE[trouble]() as address:  # type: ignore[attr-defined]  # a context manager
            result = await time.outcome(CALLS[name](address, time), MOST_MS)
        assert result.took_ms <= LIMIT_MS + A_LITTLE_MS
        if name not in WITHOUT_ERROR:
            assert isinstance(result.error, CordwoodError)
            assert not isinstance(result.error, InvalidRequestError)

    run(scene())


@pytest.mark.parametrize("trouble", HOSTILE)
@pytest.mark.parametrize("name", ("send", "list_topics", "end_offsets", "partition_count"))
def test_broker_in_trouble_does_not_hide_a_healthy_one(name: str, trouble: str) -> None:
    """K-B3: with n brokers of which one answers, a call ends well within n request timeouts."""

    async def scene() -> None:
        time = VirtualTime()
        async with (
            broker(t=1) as fake,
            HOSTILE[trouble]() as bad,  # type: ignore[attr-defined]  # a context manager
            HOSTILE[trouble]() as worse,  # type: ignore[attr-defined]  # a context manager
        ):
            servers = f"{bad},{worse},{fake.address}"
            result = await time.outcome(CALLS[name](servers, time), MOST_MS)
        assert result.error is None
        assert result.result is not None
        assert result.took_ms <= LIMIT_MS

    run(scene())


def _rejected(call: Callable[[], object]) -> None:
    with pytest.raises(CordwoodError):
        call()


def _silent(fake: FakeBroker) -> FakeBroker:
    fake.script(MetadataRequest, *[lambda _: None] * 100)
    return fake


def test_blocking_calls_end_within_their_limit() -> None:
    """K-B4: the request timeout is far beyond the limit of the calls."""
    few: ClientOptions = {"default_api_timeout_ms": 50, "request_timeout_ms": 600_000}
    with served(t=1) as fake:
        address = _silent(fake).address
        with cordwood.Producer(address, max_block_ms=50, **few) as producer:
            _rejected(lambda: producer.send("t", b"v"))
            _rejected(lambda: producer.partition_count("t"))
            producer.flush()
        with cordwood.Consumer(address, **few) as consumer:
            consumer.assign([T0])
            consumer.seek_to_end()
            _rejected(lambda: consumer.position(T0))
            _rejected(lambda: consumer.end_offsets([T0]))
        with cordwood.Admin(address, **few) as admin:
            _rejected(admin.list_topics)
            _rejected(lambda: admin.describe_topics(["t"]))
            _rejected(lambda: admin.delete_records({T0: 1}))
