"""Tests of the responses that wait for an append."""

import asyncio
import gc
import weakref

from cordwood.broker.network.pending_response import PendingResponse, chunks_of
from cordwood.core.errors import KafkaError, NotCoordinatorError
from cordwood.protocol.messages.heartbeat import HeartbeatResponse
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Response
from tests.unit.broker.broker_samples import run, turns


def failed(error: KafkaError) -> Response:
    return HeartbeatResponse(error_code=error.code)


def test_response_is_that_of_the_future() -> None:
    async def scene() -> Response:
        future = asyncio.get_running_loop().create_future()
        future.set_result(HeartbeatResponse(error_code=0))
        return await PendingResponse(future, failed).response()

    assert run(scene()) == HeartbeatResponse(error_code=0)


def test_error_of_the_future_becomes_a_response() -> None:
    async def scene() -> Response:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(NotCoordinatorError("moved"))
        return await PendingResponse(future, failed).response()

    assert run(scene()) == HeartbeatResponse(error_code=NotCoordinatorError.code)


def test_response_is_done_with_its_future() -> None:
    async def scene() -> tuple[bool, bool, Response]:
        future = asyncio.get_running_loop().create_future()
        pending = PendingResponse(future, failed)
        before = pending.done()
        future.set_result(HeartbeatResponse(error_code=0))
        return before, pending.done(), pending.result()

    assert run(scene()) == (False, True, HeartbeatResponse(error_code=0))


def test_result_of_a_failed_future_is_the_response_of_the_error() -> None:
    async def scene() -> Response:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(NotCoordinatorError("moved"))
        return PendingResponse(future, failed).result()

    assert run(scene()) == HeartbeatResponse(error_code=NotCoordinatorError.code)


def test_failed_response_is_freed_without_the_garbage_collector() -> None:
    async def scene() -> weakref.ref[asyncio.Future[Response]]:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(NotCoordinatorError("moved"))
        await PendingResponse(future, failed).response()
        return weakref.ref(future)

    gc.disable()
    try:
        assert run(scene())() is None
    finally:
        gc.enable()


def test_abandoned_response_ends_its_future() -> None:
    async def scene() -> bool:
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        PendingResponse(future, failed).abandon()
        return future.cancelled()

    assert run(scene())


def test_response_may_be_abandoned_after_its_wait_has_been_cancelled() -> None:
    async def scene() -> bool:
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        response = PendingResponse(future, failed)
        waiting = asyncio.ensure_future(response.response())
        await turns()
        waiting.cancel()
        await asyncio.wait([waiting])
        response.abandon()
        return future.cancelled()

    assert run(scene())


def test_error_that_is_abandoned_is_not_reported_as_unseen() -> None:
    async def scene() -> list[object]:
        told = list[object]()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context))
        future = loop.create_future()
        future.set_exception(NotCoordinatorError("moved"))
        PendingResponse(future, failed).abandon()
        del future
        return told

    assert run(scene()) == []


def test_chunks_that_are_known_need_no_wait() -> None:
    async def scene() -> list[list[Chunk] | None]:
        return [await chunks_of(None), await chunks_of([b"known"])]

    assert run(scene()) == [None, [b"known"]]
