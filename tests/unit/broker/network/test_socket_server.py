"""Tests of the socket server over real sockets."""

import asyncio
import errno
import logging
import socket
import struct

import pytest

from cordwood.broker.network.acceptor import Listener
from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.network.response_writer import READ_BYTES
from cordwood.broker.network.socket_server import RESPONSE_BYTES
from cordwood.core.errors import CordwoodError, ListenError
from cordwood.observability.log_lines import LOGFMT
from cordwood.observability.logs import EventFormatter
from cordwood.protocol.apis import API_VERSIONS
from cordwood.protocol.primitives import Chunk
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.broker.server_samples import Run, echo, request, serving, turn


def test_server_answers_on_every_listener(run: Run) -> None:
    listeners = tuple(Listener(name=name, host="127.0.0.1", port=0) for name in ("A", "B"))

    async def scene() -> list[bytes]:
        async with serving(listeners=listeners) as harness:
            return [await (await harness.connect(name)).ask(name.encode()) for name in "AB"]

    assert run(scene()) == [b"A", b"B"]


def test_address_in_use_is_rejected_with_a_remedy(run: Run) -> None:
    async def scene() -> None:
        async with serving() as harness:
            taken = Listener(name="B", host="127.0.0.1", port=harness.addresses["PLAINTEXT"].port)
            async with serving(listeners=(taken,)):
                pass

    with pytest.raises(ListenError, match=r"listener B cannot listen .*; choose an address"):
        run(scene())


def test_address_is_turned_away_when_it_has_its_share(run: Run) -> None:
    async def scene() -> tuple[bytes, bytes]:
        async with serving(settings=SocketServerSettings(max_connections_per_ip=1)) as harness:
            first = await harness.connect()
            await harness.until_open(1)
            second = await harness.connect()
            return await second.end(), await first.ask(b"still here")

    assert run(scene()) == (b"", b"still here")


def test_connection_is_accepted_when_another_is_closed(run: Run) -> None:
    async def scene() -> bytes:
        async with serving(settings=SocketServerSettings(max_connections=1)) as harness:
            first = await harness.connect()
            await first.ask(b"x")
            second = await harness.connect()
            second.send(request(1, b"waited"))
            await turn()
            assert harness.server.quotas.total == 1
            await first.close()
            return (await second.answer())[1]

    assert run(scene()) == b"waited"


def test_idle_connection_is_closed_and_an_active_one_stays(run: Run) -> None:
    settings = SocketServerSettings(connections_max_idle_ms=10_000)

    async def scene() -> tuple[bytes, bytes]:
        async with serving(settings=settings) as harness:
            idle, busy = await harness.connect(), await harness.connect()
            await harness.until_open(2)
            harness.clock.advance(seconds=9)
            await busy.ask(b"x")
            harness.clock.advance(seconds=2)
            return await idle.end(), await busy.ask(b"still here")

    assert run(scene()) == (b"", b"still here")


def test_frame_that_never_becomes_whole_is_idle(run: Run) -> None:
    async def scene() -> float:
        async with serving(
            settings=SocketServerSettings(connections_max_idle_ms=10_000)
        ) as harness:
            slow = await harness.connect()
            for byte in request(1, b"body")[:11]:
                slow.send(bytes([byte]))
                await turn()
                harness.clock.advance(seconds=1)
            await slow.end()
            return harness.ended("idle")

    assert run(scene()) == 1


def test_slow_request_is_not_idle(run: Run) -> None:
    async def scene() -> bytes:
        resume = asyncio.Event()

        async def handle(_context: RequestContext, _body: memoryview) -> list[Chunk]:
            await resume.wait()
            return [b"late"]

        async with serving(handle, SocketServerSettings(connections_max_idle_ms=10_000)) as harness:
            peer = await harness.connect()
            peer.send(request(1))
            await turn()
            harness.clock.advance(seconds=60)
            resume.set()
            return (await peer.answer())[1]

    assert run(scene()) == b"late"


def test_error_of_a_handler_ends_only_its_connection(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(_context: RequestContext, body: memoryview) -> list[Chunk]:
        return [b"%d" % (1 // len(body))]

    async def scene() -> tuple[bytes, bytes, float]:
        async with serving(handle) as harness:
            good, bad = await harness.connect(), await harness.connect()
            bad.send(request(1))
            return await bad.end(), await good.ask(b"x"), harness.ended("failure")

    assert run(scene()) == (b"", b"1", 1)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("size", (READ_BYTES, READ_BYTES + 1))
def test_error_of_a_file_is_counted_and_logged_as_one_of_the_storage(
    run: Run, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    files = MemoryFiles()
    file = files.create("/data")
    file.append(bytes(size))
    files.script.add(FileFault(on="pread", code=errno.EIO))

    async def handle(_context: RequestContext, _body: memoryview) -> list[Chunk]:
        return [b"head", file.slice(0, size)]

    async def scene() -> tuple[float, float]:
        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1))
            await peer.end()
            return harness.ended("storage"), harness.ended("disconnect")

    assert run(scene()) == (1, 0)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert 'reason="/data: Input/output error"' in EventFormatter(LOGFMT).format(caplog.records[0])


@pytest.mark.parametrize(
    ("frame", "reason"),
    (
        (b"\xff\xff\xff\xff", "frame size"),
        (b"\x7f\xff\xff\xff", "frame size"),
        (b"\0\0\0\0", "no room for a header"),
        (request(1, key=999), "999"),
        (b"\0\0\0\x0a\0\x12\0\0\0\0\0\x01\x7f\xff", "length beyond"),
    ),
    ids=["negative", "oversize", "empty", "unknown", "header"],
)
def test_invalid_frame_is_rejected_and_logged_once(
    run: Run, caplog: pytest.LogCaptureFixture, frame: bytes, reason: str
) -> None:
    async def scene() -> tuple[bytes, float]:
        async with serving() as harness:
            peer = await harness.connect()
            peer.send(frame)
            return await peer.end(), harness.ended("refusal")

    assert run(scene()) == (b"", 1)
    assert len(caplog.records) == 1
    line = EventFormatter(LOGFMT).format(caplog.records[0])
    assert reason in line
    assert "peer=127.0.0.1:" in line


def test_stop_completes_the_running_request_and_starts_no_other(run: Run) -> None:
    begun: list[bytes] = []

    async def handle(context: RequestContext, body: memoryview) -> list[Chunk]:
        begun.append(bytes(body))
        ended = asyncio.Event()
        context.connection.stopping.watch(ended.set)
        await ended.wait()
        return [b"what there is"]

    async def scene() -> tuple[bytes, bytes]:
        async with serving(handle) as harness:
            peer, idle = await harness.connect(), await harness.connect()
            peer.send(request(1, b"first"), request(2, b"second"))
            await harness.until_open(2)
            await turn()
            await harness.server.stop(1_000)
            return (await peer.answer())[1], await peer.end() + await idle.end()

    assert run(scene()) == (b"what there is", b"")
    assert begun == [b"first"]


def test_stop_closes_connections_after_the_grace_period(run: Run) -> None:
    async def handle(_context: RequestContext, _body: memoryview) -> list[Chunk]:
        await asyncio.Event().wait()
        return []

    async def scene() -> tuple[bytes, float]:
        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1))
            await harness.until_open(1)
            await turn()
            async with asyncio.TaskGroup() as group:
                group.create_task(harness.server.stop(500))
                await turn()
                harness.clock.advance(ms=500)
            return await peer.end(), harness.ended("stop")

    assert run(scene()) == (b"", 1)


def test_stop_ends_connections_in_every_state_of_opening(run: Run) -> None:
    async def scene(turns: int) -> int:
        async with serving() as harness:
            socket.create_connection(harness.addresses["PLAINTEXT"]).close()
            for _ in range(turns):
                await asyncio.sleep(0)
            return harness.server.quotas.total

    assert {run(scene(turns)) for turns in range(6)} == {0, 1}


def test_stop_releases_the_address(run: Run) -> None:
    async def scene() -> None:
        async with serving() as harness:
            await harness.server.stop(0)
            await harness.connect()

    with pytest.raises(ConnectionRefusedError):
        run(scene())


def test_connection_with_an_incomplete_frame_is_closed_when_memory_is_short(run: Run) -> None:
    big = bytes(100_000)
    settings = SocketServerSettings(queued_max_bytes=0, request_max_bytes=len(big) + 10)

    async def scene() -> tuple[bytes, bytes]:
        async with serving(echo, settings) as harness:
            hog, waiting = await harness.connect(), await harness.connect()
            hog.send(request(1, big)[:-1])
            while harness.server.memory.allocated < len(big):
                await turn()
            waiting.send(request(1, big))
            while not harness.server.memory.is_short:
                await turn()
            harness.clock.advance(seconds=7)
            return await hog.end(), (await waiting.answer())[1]

    assert run(scene()) == (b"", big)


class _DamagedRequestError(CordwoodError):
    """The error of a request that cannot be decoded."""


def test_stranger_with_damaged_requests_has_one_short_line_a_second(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    client_id = "\x1b[2J\x1b[31m root \x07" * 2_000

    async def handle(_context: RequestContext, _body: memoryview) -> list[Chunk]:
        raise _DamagedRequestError("the request is damaged")

    async def scene() -> None:
        async with serving(handle) as harness:
            for _ in range(20):
                peer = await harness.connect()
                peer.send(named_request(client_id))
                await peer.end()
            harness.clock.advance(seconds=2)

    run(scene())
    first, last = (EventFormatter(LOGFMT).format(record) for record in caplog.records)
    assert max(len(first), len(last)) < 1_000
    assert 'event="request refused"' in first
    assert last.endswith('about="request refused" peer=127.0.0.1 left_out=19')


def named_request(client_id: str) -> bytes:
    """Return the frame of an ApiVersions request with a client id."""
    name = client_id.encode()
    body = struct.pack(">hhih", API_VERSIONS.key, 0, 1, len(name)) + name
    return struct.pack(">i", len(body)) + body


def test_unread_response_is_dropped_when_all_take_too_much_memory(run: Run) -> None:
    """40 requests of 2.4 KB left 330 MB in responses that were not read, for ten minutes."""

    async def handle(_context: RequestContext, body: memoryview) -> list[Chunk]:
        return [bytes(int(bytes(body)))]

    async def scene() -> tuple[float, float, bytes]:
        async with serving(handle) as harness:
            large, small, reading = [await harness.connect() for _ in range(3)]
            large.send(request(1, str(RESPONSE_BYTES).encode()))
            small.send(request(1, str(8 << 20).encode()))
            await large.reader.readexactly(4)
            await small.reader.readexactly(4)
            bound = harness.server.response_bytes
            harness.clock.advance(seconds=1)
            assert harness.ended("response") == 0
            while harness.ended("response") == 0:
                await turn()
                harness.clock.advance(seconds=1)
            await harness.until_open(2)
            return bound, harness.ended("response"), await reading.ask(b"5")

    bound, ended, answer = run(scene())
    assert bound > RESPONSE_BYTES
    assert (ended, answer) == (1, bytes(5))
