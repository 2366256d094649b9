"""Requests whose responses wait for appends: they share the wait, and keep their order."""

import asyncio
from collections.abc import Callable

from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.network.response_queue import MOST_WAITING
from cordwood.protocol.primitives import Chunk
from tests.unit.broker.server_samples import Run, request, serving, turn


class Later:
    """A response that waits for an event."""

    def __init__(self, known: asyncio.Event, body: bytes) -> None:
        self.event = known
        self.body = body
        self.is_abandoned = False
        self._waits = list[asyncio.Task[None]]()

    def done(self) -> bool:
        return self.event.is_set()

    def add_done_callback(self, call: Callable[[], object]) -> None:
        async def wait() -> None:
            await self.event.wait()
            call()

        self._waits.append(asyncio.ensure_future(wait()))

    def known(self) -> list[Chunk] | None:
        return [self.body] if self.event.is_set() else None

    async def chunks(self) -> list[Chunk]:
        await self.event.wait()
        return [self.body]

    def abandon(self) -> None:
        self.is_abandoned = True
        for each in self._waits:
            each.cancel()


def test_requests_that_wait_for_one_append_are_handled_before_its_end(run: Run) -> None:
    async def scene() -> tuple[list[int], list[tuple[int, bytes]]]:
        known, handled = asyncio.Event(), list[int]()

        async def handle(context: RequestContext, _body: memoryview) -> Later:
            handled.append(context.correlation_id)
            return Later(known, b"%d" % context.correlation_id)

        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1), request(2), request(3))
            while len(handled) < 3:
                await turn()
            before = [*handled]
            known.set()
            return before, [await peer.answer() for _ in range(3)]

    assert run(scene()) == ([1, 2, 3], [(1, b"1"), (2, b"2"), (3, b"3")])


def test_request_that_arrives_while_an_append_is_awaited_is_handled_before_its_end(
    run: Run,
) -> None:
    async def scene() -> list[tuple[int, bytes]]:
        known, handled = asyncio.Event(), list[int]()

        async def handle(context: RequestContext, _body: memoryview) -> Later:
            handled.append(context.correlation_id)
            return Later(known, b"%d" % context.correlation_id)

        async with serving(handle) as harness:
            peer = await harness.connect()
            for number in (1, 2, 3):
                peer.send(request(number))
                while len(handled) < number:
                    await turn()
                await turn()
            known.set()
            return [await peer.answer() for _ in range(3)]

    assert run(scene()) == [(1, b"1"), (2, b"2"), (3, b"3")]


def test_number_of_responses_that_wait_is_limited(run: Run) -> None:
    async def scene() -> list[int]:
        known, handled = asyncio.Event(), list[int]()

        async def handle(context: RequestContext, _body: memoryview) -> Later:
            handled.append(context.correlation_id)
            return Later(known, b"")

        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(*(request(number) for number in range(MOST_WAITING + 1)))
            while len(handled) < MOST_WAITING:
                await turn()
            for _ in range(10):
                await turn()
            before = len(handled)
            known.set()
            for _ in range(MOST_WAITING + 1):
                await peer.answer()
            return [before, len(handled)]

    assert run(scene()) == [MOST_WAITING, MOST_WAITING + 1]


def test_request_of_another_api_waits_for_the_responses_before_it(run: Run) -> None:
    async def scene() -> list[str]:
        known, events = asyncio.Event(), list[str]()

        async def handle(context: RequestContext, _body: memoryview) -> Later | list[Chunk]:
            events.append(f"request {context.api_key}")
            return Later(known, b"first") if context.api_key == 8 else [b"second"]

        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1, key=8), request(2, key=9))
            while not events:
                await turn()
            await turn()
            events.append("known")
            known.set()
            await peer.answer()
            await peer.answer()
        return events

    assert run(scene()) == ["request 8", "known", "request 9"]


def test_earlier_responses_are_sent_when_a_request_that_would_share_the_append_fails(
    run: Run,
) -> None:
    async def handle(context: RequestContext, _body: memoryview) -> Later:
        if context.correlation_id == 2:
            raise ConnectionAbortedError("failed")
        known = asyncio.Event()
        known.set()
        return Later(known, b"first")

    async def scene() -> tuple[tuple[int, bytes], bytes]:
        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1), request(2))
            return await peer.answer(), await peer.reader.read()

    assert run(scene()) == ((1, b"first"), b"")


def test_responses_of_a_client_that_has_gone_are_abandoned(run: Run) -> None:
    async def scene() -> list[bool]:
        known, made = asyncio.Event(), list[Later]()

        async def handle(_context: RequestContext, _body: memoryview) -> Later:
            made.append(Later(known, b""))
            return made[-1]

        async with serving(handle) as harness:
            peer = await harness.connect()
            peer.send(request(1), request(2))
            while len(made) < 2:
                await turn()
        return [each.is_abandoned for each in made]

    assert run(scene()) == [True, True]
