"""Tests of one connection: order, back-pressure, and all ways to disconnect."""

import asyncio
import gc
import weakref

import pytest

from cordwood.broker.network.connection import READ_AHEAD_BYTES, Connection
from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.memory_pool import SMALL_FRAME_BYTES
from cordwood.broker.network.request_context import RequestContext
from cordwood.protocol.primitives import Chunk
from tests.unit.broker.server_samples import (
    Body,
    Peer,
    Run,
    ServerHarness,
    echo,
    request,
    serving,
    turn,
)

BIG = bytes(range(256)) * 4096


def test_pipelined_requests_are_answered_in_their_order(run: Run) -> None:
    async def scene() -> list[tuple[int, bytes]]:
        async with serving() as harness:
            peer = await harness.connect()
            peer.send(*(request(number, b"%d" % number) for number in range(500)))
            return [await peer.answer() for _ in range(500)]

    assert run(scene()) == [(number, b"%d" % number) for number in range(500)]


def test_pipelined_requests_let_others_run_when_their_handlers_never_wait(run: Run) -> None:
    async def scene() -> list[str]:
        events = list[str]()

        async def handle(context: RequestContext, body: memoryview) -> list[Chunk] | None:
            if context.correlation_id == 1:
                asyncio.get_running_loop().call_soon(events.append, "other")
            harness.clock.advance(ms=3)
            events.append(f"request {context.correlation_id}")
            return await echo(context, body)

        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(*(request(number, b"body") for number in (1, 2, 3)))
            for _ in range(3):
                await peer.answer()
        return events

    assert run(scene()).index("other") == 1


def test_wait_for_a_request_is_no_part_of_a_turn(run: Run) -> None:
    async def scene() -> list[str]:
        events = list[str]()

        async def handle(context: RequestContext, body: memoryview) -> list[Chunk] | None:
            if context.correlation_id == 2:
                asyncio.get_running_loop().call_soon(events.append, "other")
            events.append(f"request {context.correlation_id}")
            return await echo(context, body)

        async with serving(handle) as harness:
            peer = await harness.connect()
            await peer.ask(b"first")
            harness.clock.advance(ms=10)
            peer.send(request(2, b"second"), request(3, b"third"))
            for _ in range(2):
                await peer.answer()
        return events[1:]

    assert run(scene()) == ["request 2", "request 3", "other"]


def test_held_response_is_sent_while_the_next_request_waits(run: Run) -> None:
    async def scene() -> list[tuple[int, bytes]]:
        going_on = asyncio.Event()

        async def handle(context: RequestContext, _body: memoryview) -> list[Chunk]:
            if context.correlation_id == 2:
                await going_on.wait()
            return [b"%d" % context.correlation_id]

        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1), request(2), request(3))
            first = await peer.answer()
            going_on.set()
            return [first, await peer.answer(), await peer.answer()]

    assert run(scene()) == [(1, b"1"), (2, b"2"), (3, b"3")]


def test_held_response_is_sent_before_the_connection_of_a_failed_handler_is_closed(
    run: Run,
) -> None:
    async def handle(context: RequestContext, _body: memoryview) -> list[Chunk]:
        if context.correlation_id == 2:
            raise ConnectionAbortedError("failed")
        return [b"first"]

    async def scene() -> tuple[tuple[int, bytes], bytes]:
        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1), request(2))
            return await peer.answer(), await peer.reader.read()

    assert run(scene()) == ((1, b"first"), b"")


def test_request_without_a_response_keeps_the_order_of_the_others(run: Run) -> None:
    async def scene() -> list[tuple[int, bytes]]:
        async with serving() as harness:
            peer = await harness.connect()
            peer.send(request(1, b"a"), request(2), request(3, b"c"))
            return [await peer.answer(), await peer.answer()]

    assert run(scene()) == [(1, b"a"), (3, b"c")]


@pytest.mark.parametrize(
    "size", (1, SMALL_FRAME_BYTES - 10, SMALL_FRAME_BYTES, SMALL_FRAME_BYTES + 1, len(BIG))
)
def test_frames_of_every_size_arrive_whole(run: Run, size: int) -> None:
    body = BIG[:size]

    async def scene() -> list[tuple[int, bytes]]:
        async with serving() as harness:
            peer = await harness.connect()
            peer.send(request(1, body), request(2, b"small"), request(3, body))
            return [await peer.answer() for _ in range(3)]

    assert run(scene()) == [(1, body), (2, b"small"), (3, body)]


def test_next_request_starts_after_the_previous_response_is_sent(run: Run) -> None:
    begun: list[int] = []

    async def handle(context: RequestContext, _body: memoryview) -> list[Chunk]:
        begun.append(context.correlation_id)
        return [BIG * 16]

    async def scene() -> int:
        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(*(request(number) for number in range(50)))
            while not begun:
                await turn()
            await turn()
            return len(begun)

    assert run(scene()) == 1


def allocated_during_a_request(run: Run, size: int, *, wanted: int) -> int:
    """Return the memory of frames that are sent behind a request in progress."""

    async def scene() -> int:
        going_on = asyncio.Event()

        async def handle(_context: RequestContext, _body: memoryview) -> list[Chunk]:
            await going_on.wait()
            return [b"done"]

        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1), *(request(number, bytes(size)) for number in (2, 3, 4)))
            for _ in range(1_000):
                if harness.server.memory.allocated >= wanted:
                    break
                await turn()
            found = harness.server.memory.allocated
            going_on.set()
            for _ in range(4):
                await peer.answer()
            return found

    return run(scene())


def test_small_frames_are_read_ahead_of_the_request_in_progress(run: Run) -> None:
    """The batches in flight of a producer are appended in one turn."""
    assert allocated_during_a_request(run, 100_000, wanted=300_000) >= 300_000


def test_large_frames_are_not_read_ahead(run: Run) -> None:
    size = 2 * READ_AHEAD_BYTES

    assert allocated_during_a_request(run, size, wanted=2 * size) < 2 * size


def test_peer_that_does_not_read_its_answer_is_idle(run: Run) -> None:
    async def handle(_context: RequestContext, _body: memoryview) -> list[Chunk]:
        return [BIG * 16]

    async def scene() -> float:
        async with serving(handle, SocketServerSettings(connections_max_idle_ms=10_000)) as harness:
            peer = await harness.connect()
            peer.send(request(1))
            await peer.reader.readexactly(4)
            harness.clock.advance(seconds=12)
            await harness.until_open(0)
            return harness.ended("idle")

    assert run(scene()) == 1


def test_requests_received_before_a_disconnect_are_handled(run: Run) -> None:
    seen: list[int] = []

    async def handle(context: RequestContext, _body: memoryview) -> None:
        seen.append(context.correlation_id)
        await turn()

    async def scene() -> None:
        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(*(request(number) for number in range(10)))
            await peer.close()
            await harness.until_open(0)

    run(scene())
    assert seen == list(range(10))


def test_response_reaches_a_half_closed_client(run: Run) -> None:
    async def scene() -> tuple[int, bytes]:
        async with serving() as harness:
            peer = await harness.connect()
            peer.send(request(1, b"last"))
            peer.writer.write_eof()
            return await peer.answer()

    assert run(scene()) == (1, b"last")


def test_waiting_request_is_stopped_when_its_client_disconnects(run: Run) -> None:
    async def handle(context: RequestContext, _body: memoryview) -> list[Chunk]:
        gone = asyncio.Event()
        context.connection.stopping.watch(gone.set)
        await gone.wait()
        return [b"too late"]

    async def scene() -> None:
        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1))
            await harness.until_open(1)
            await turn()
            peer.reset()
            await harness.until_open(0)

    run(scene())


@pytest.mark.parametrize("sent", (0, 2, 4, 10, 100, 50_000))
def test_client_may_disconnect_at_any_byte_of_a_frame(run: Run, sent: int) -> None:
    frame = request(1, bytes(60_000))

    async def scene() -> bytes:
        async with serving() as harness:
            leaving, staying = await harness.connect(), await harness.connect()
            leaving.send(frame[:sent])
            await harness.until_open(2)
            await turn()
            leaving.reset()
            await harness.until_open(1)
            return await staying.ask(b"still here")

    assert run(scene()) == b"still here"


def test_client_may_disconnect_during_its_response(run: Run) -> None:
    async def handle(_context: RequestContext, body: memoryview) -> list[Chunk]:
        return [BIG * 16 if bytes(body) == b"big" else b"small"]

    async def scene() -> bytes:
        async with serving(handle) as harness:
            leaving, staying = await harness.connect(), await harness.connect()
            leaving.send(request(1, b"big"))
            await leaving.reader.readexactly(100)
            leaving.reset()
            await harness.until_open(1)
            return await staying.ask(b"x")

    assert run(scene()) == b"small"


def test_frame_waits_until_memory_is_available(run: Run) -> None:
    held = 0

    async def handle(_context: RequestContext, body: memoryview) -> list[Chunk]:
        nonlocal held
        held += 1
        assert held == 1
        await turn()
        held -= 1
        return [body[:1].tobytes()]

    async def scene() -> list[tuple[int, bytes]]:
        settings = SocketServerSettings(queued_max_bytes=1, request_max_bytes=len(BIG) + 10)
        async with serving(handle, settings) as harness:
            peers = [await harness.connect() for _ in range(5)]
            for number, peer in enumerate(peers):
                peer.send(request(number, BIG), request(number, BIG))
            return [await peer.answer() for peer in peers for _ in range(2)]

    assert run(scene()) == [(number, BIG[:1]) for number in range(5) for _ in range(2)]


@pytest.mark.parametrize("size", (10, 100_000, len(BIG), 4 * len(BIG)))
def test_announced_frames_delay_no_request(run: Run, size: int) -> None:
    body = bytes(size)

    async def scene() -> bytes:
        async with serving() as harness:
            for _ in range(3):
                idle = await harness.connect()
                idle.send((100_000_000).to_bytes(4, "big"))
            await harness.until_open(3)
            await turn()
            return await (await harness.connect()).ask(body)

    assert run(scene()) == body


def test_small_requests_pass_while_memory_is_short(run: Run) -> None:
    settings = SocketServerSettings(queued_max_bytes=1, request_max_bytes=16 * len(BIG))

    async def scene() -> list[bytes]:
        async with serving(echo, settings) as harness:
            for _ in range(3):
                large = await harness.connect()
                large.send(request(1, BIG * 15)[: 3 * len(BIG)])
            while not harness.server.memory.is_short:
                await turn()
            small = await harness.connect()
            return [await small.ask(body) for body in (b"passed", BIG[:500_000])]

    assert run(scene()) == [b"passed", BIG[:500_000]]


def test_closed_connection_is_freed_without_a_garbage_collection(run: Run) -> None:
    """A full collection holds up every request, for longer with more connections."""

    def connections() -> list[Connection]:
        return [each for each in gc.get_objects() if type(each) is Connection]

    async def scene() -> None:
        others = connections()
        async with serving() as server:
            peer = await server.connect()
            await peer.ask(b"x")
            (freed,) = [weakref.ref(each) for each in connections() if each not in others]
            gc.disable()
            try:
                await peer.close()
                await server.until_open(0)
                await turn()
                assert freed() is None
            finally:
                gc.enable()

    run(scene())


@pytest.mark.parametrize("left_by", ("reset", "close", "half close", "server"))
@pytest.mark.parametrize("size", (100, 16 * len(BIG)))
def test_unread_responses_are_freed_with_their_connection_without_a_garbage_collection(
    run: Run, size: int, left_by: str
) -> None:
    """Responses of 52 MiB stayed in memory until a full collection."""
    made: list[weakref.ref[Body]] = []

    async def handle(context: RequestContext, _body: memoryview) -> list[Chunk]:
        body = Body(16 * len(BIG) if context.correlation_id == 0 else size)
        made.append(weakref.ref(body))
        return [body]

    async def scene() -> int:
        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(*(request(number) for number in range(3)))
            await peer.reader.readexactly(100)
            gc.disable()
            try:
                await leave(peer, harness, left_by)
                await harness.until_open(0)
                await turn()
                return sum(each() is not None for each in made)
            finally:
                gc.enable()

    assert run(scene()) == 0
    assert made


async def leave(peer: Peer, harness: ServerHarness, left_by: str) -> None:
    """End a connection whose client reads no response."""
    if left_by == "reset":
        peer.reset()
    elif left_by == "close":
        peer.writer.transport.abort()
    elif left_by == "half close":
        peer.writer.write_eof()
        await turn()
        peer.reset()
    else:
        harness.clock.advance(seconds=601)
