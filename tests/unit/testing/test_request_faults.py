"""Faults of one request: late, rejected, dropped or closed, before or after its handling."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import pytest

from cordwood.broker.network.request_context import ConnectionInfo, RequestContext
from cordwood.core.errors import KafkaStorageError
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.fetch import FetchRequest
from cordwood.protocol.messages.produce import ProduceRequest
from cordwood.testing.memory_files import MemoryFiles, MemorySlice
from cordwood.testing.request_faults import (
    PendingRequest,
    ResponseChunks,
    closed,
    delayed,
    dropped,
    is_incremental,
    refused,
)
from cordwood.testing.virtual_clock import VirtualClock

T = TypeVar("T")

NO_BODY = memoryview(b"")


def run(scene: Coroutine[object, object, T]) -> T:
    with asyncio.Runner() as runner:
        return runner.run(scene)


def context_of(api_key: int = 0, version: int = 9) -> RequestContext:
    connection = ConnectionInfo(id=1, host="", port=1, listener="", is_secure=False)
    return RequestContext(api_key, version, 1, None, connection)


async def handle(context: RequestContext, body: memoryview) -> ResponseChunks:
    return [b"handled"]


def test_delayed_request_is_handled_after_its_delay() -> None:
    clock, context = VirtualClock(), context_of()

    async def scene() -> ResponseChunks:
        act = delayed(50, clock=clock, scheduler=clock)
        asyncio.get_running_loop().call_soon(lambda: clock.advance(ms=50))
        return await act(PendingRequest(context, NO_BODY, handle))

    assert run(scene()) == [b"handled"]


def test_delayed_request_is_handled_immediately_when_its_connection_ends() -> None:
    clock, context = VirtualClock(), context_of()

    async def scene() -> ResponseChunks:
        asyncio.get_running_loop().call_soon(context.connection.stopping.fire)
        return await delayed(50, clock=clock, scheduler=clock)(
            PendingRequest(context, NO_BODY, handle)
        )

    assert run(scene()) == [b"handled"]
    assert clock.next_call_ms() is None


def test_dropped_request_ends_with_its_connection_and_without_an_answer() -> None:
    context = context_of()

    async def scene() -> ResponseChunks:
        asyncio.get_running_loop().call_soon(context.connection.stopping.fire)
        return await dropped(handled=True)(PendingRequest(context, NO_BODY, handle))

    assert run(scene()) is None


def test_closed_request_releases_its_response() -> None:
    part = MemorySlice(MemoryFiles().create("/log"), 0, 0)

    async def read(context: RequestContext, body: memoryview) -> ResponseChunks:
        return [part]

    with pytest.raises(ConnectionResetError):
        run(closed(handled=True)(PendingRequest(context_of(), NO_BODY, read)))
    with pytest.raises(ValueError, match="released"):
        part.read()


def test_rejected_request_without_a_response_closes_its_connection() -> None:
    request = ProduceRequest(acks=0, timeout_ms=1, topics=[])
    body = memoryview(joined(encode(request, 9)))

    with pytest.raises(ConnectionResetError):
        run(refused(KafkaStorageError())(PendingRequest(context_of(), body, handle)))


@pytest.mark.parametrize(("epoch", "expected"), ((-1, False), (0, False), (1, True)))
def test_fetch_is_incremental_within_its_session(epoch: int, *, expected: bool) -> None:
    request = FetchRequest(max_wait_ms=1, min_bytes=1, topics=[], session_epoch=epoch)

    assert is_incremental(request) is expected
