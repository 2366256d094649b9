"""Responses of pipelined requests share a system call, and none waits for a handler."""

import asyncio
import gc
import weakref
from collections.abc import Sequence

import pytest

from cordwood.broker.network.pipelined_responses import HELD_BYTES, PipelinedResponses
from cordwood.core.binary import Buffer
from cordwood.protocol.primitives import Chunk
from tests.unit.broker.broker_samples import run, turns


class RecordingWriter:
    """A writer that keeps what it sends; it fails, or waits, on demand."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.sent_bytes = 0
        self.error: OSError | None = None
        self.gate: asyncio.Event | None = None

    async def send(self, chunks: Sequence[Chunk]) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        self.sent.append(b"".join(bytes(c) if isinstance(c, Buffer) else b"?" for c in chunks))

    def close(self) -> None:
        """Do nothing."""


def responses(writer: RecordingWriter) -> PipelinedResponses:
    return PipelinedResponses(writer, asyncio.get_running_loop())


def test_response_without_a_next_request_is_sent_at_once() -> None:
    writer = RecordingWriter()

    async def scene() -> None:
        await responses(writer).send([b"a", b"b"], has_next=False)

    run(scene())
    assert writer.sent == [b"ab"]


def test_small_responses_are_sent_with_the_last_one() -> None:
    writer = RecordingWriter()

    async def scene() -> None:
        sender = responses(writer)
        for name in (b"a", b"b"):
            await sender.send([name], has_next=True)
        await sender.send([b"c"], has_next=False)
        await turns(3)

    run(scene())
    assert writer.sent == [b"abc"]


def test_held_response_is_sent_in_the_next_turn() -> None:
    writer = RecordingWriter()

    async def scene() -> list[bytes]:
        sender = responses(writer)
        await sender.send([b"a"], has_next=True)
        before = [*writer.sent]
        await turns(3)
        after = [*writer.sent]
        await sender.send([b"b"], has_next=True)
        await turns(3)
        return [*before, b"|", *after]

    assert run(scene()) == [b"|", b"a"]
    assert writer.sent == [b"a", b"b"]


def test_response_keeps_its_place_behind_one_that_is_being_sent() -> None:
    writer = RecordingWriter()

    async def scene() -> None:
        writer.gate = asyncio.Event()
        sender = responses(writer)
        await sender.send([b"a"], has_next=True)
        await turns(3)
        await sender.send([b"b"], has_next=True)
        last = asyncio.ensure_future(sender.send([b"c"], has_next=False))
        await turns(3)
        writer.gate.set()
        await last

    run(scene())
    assert b"".join(writer.sent) == b"abc"


def test_many_bytes_are_not_held() -> None:
    writer = RecordingWriter()

    async def scene() -> None:
        await responses(writer).send([bytes(HELD_BYTES + 1)], has_next=True)

    run(scene())
    assert len(writer.sent) == 1


def test_error_of_a_held_response_is_raised_by_the_next_flush() -> None:
    writer = RecordingWriter()
    writer.error = BrokenPipeError("gone")

    async def scene() -> None:
        sender = responses(writer)
        await sender.send([b"a"], has_next=True)
        await turns(3)
        await sender.flush()

    with pytest.raises(BrokenPipeError, match="gone"):
        run(scene())


@pytest.mark.parametrize("number_of_turns", (0, 3))
def test_closed_sender_sends_nothing_more(number_of_turns: int) -> None:
    writer = RecordingWriter()

    async def scene() -> None:
        writer.gate = asyncio.Event()
        sender = responses(writer)
        await sender.send([b"a"], has_next=True)
        await turns(number_of_turns)
        sender.close()
        writer.gate.set()
        await turns(3)

    run(scene())
    assert writer.sent == []


def test_close_after_a_failed_response_is_silent() -> None:
    writer = RecordingWriter()
    writer.error = BrokenPipeError("gone")

    async def scene() -> None:
        sender = responses(writer)
        await sender.send([b"a"], has_next=True)
        await turns(3)
        sender.close()

    run(scene())
    assert writer.sent == []


class BrokenWriter(RecordingWriter):
    """A writer whose client has gone."""

    async def send(self, chunks: Sequence[Chunk]) -> None:
        raise BrokenPipeError(f"{len(chunks)} chunks")


class WatchedResponses(PipelinedResponses):
    """Responses that a weak reference can watch."""

    __slots__ = ("__weakref__",)


def test_closed_sender_is_freed_without_the_garbage_collector() -> None:
    async def scene() -> weakref.ref[PipelinedResponses]:
        sender = WatchedResponses(BrokenWriter(), asyncio.get_running_loop())
        await sender.send([b"a"], has_next=True)
        await turns(3)
        sender.close()
        return weakref.ref(sender)

    gc.disable()
    try:
        assert run(scene())() is None
    finally:
        gc.enable()
