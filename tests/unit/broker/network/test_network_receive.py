"""Tests of the reception of frames: bytes into buffers, counted memory, and slow frames."""

import tracemalloc
from collections.abc import Callable

import pytest

from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.memory_pool import SMALL_FRAME_BYTES, MemoryPool
from cordwood.broker.network.network_receive import (
    FRAME_TIMEOUT_MS,
    PROGRESS_BYTES,
    PROGRESS_MS,
    NetworkReceive,
)
from cordwood.core.errors import BytesError
from cordwood.testing.virtual_clock import VirtualClock

MIB = 1024 * 1024
LARGEST = 10 * MIB
CLOCK = VirtualClock()


def pool() -> MemoryPool:
    """Return a pool whose incomplete large frames may hold 1.25 MiB besides the turn."""
    return MemoryPool(lambda: SocketServerSettings(queued_max_bytes=0, request_max_bytes=LARGEST))


def receiving(
    memory: MemoryPool,
    *,
    clock: VirtualClock = CLOCK,
    resume: Callable[[], object] = lambda: None,
) -> NetworkReceive:
    shared = memoryview(bytearray(SMALL_FRAME_BYTES))
    return NetworkReceive(lambda: LARGEST, memory=memory, shared=shared, clock=clock, resume=resume)


def framing(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def deliver(receive: NetworkReceive, data: bytes) -> int:
    """Receive as an event loop does, until a wait; return the number of taken bytes."""
    at = 0
    while at < len(data) and not receive.is_waiting:
        room = receive.buffer()
        part = data[at : at + len(room)]
        room[: len(part)] = part
        receive.received(len(part))
        at += len(part)
    return at


@pytest.mark.parametrize(
    "size", (0, 1, SMALL_FRAME_BYTES, SMALL_FRAME_BYTES + 1, MIB, 3 * MIB, LARGEST)
)
def test_frames_of_every_size_arrive_whole(size: int) -> None:
    memory = pool()
    receive = receiving(memory)
    body = bytes(range(251)) * (size // 251 + 1)
    bodies = [body[:size], b"between", body[:size]]

    got = []
    data = b"".join(framing(each) for each in bodies)
    while data:
        data = data[deliver(receive, data) :]
        while receive.frames:
            frame = receive.take()
            got.append(bytes(frame.data))
            frame.release()

    assert got == bodies
    assert memory.allocated == 0


def test_batch_of_the_default_size_is_received_in_one_read() -> None:
    receive = receiving(pool())
    frame = framing(bytes(16 * 1024 + 200))

    room = receive.buffer()
    room[: len(frame)] = frame
    receive.received(len(frame))

    assert receive.take().memory is None


def test_announced_size_makes_no_memory_resident() -> None:
    receive = receiving(pool())
    tracemalloc.start()

    deliver(receive, LARGEST.to_bytes(4, "big") + b"x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < LARGEST // 4


def test_bytes_of_a_large_frame_are_received_in_its_own_buffer() -> None:
    receive = receiving(pool())
    deliver(receive, MIB.to_bytes(4, "big"))

    first = receive.buffer()
    first[:] = b"x" * len(first)
    receive.received(len(first))

    assert len(first) == MIB
    assert receive.take().data == b"x" * MIB


def test_frame_without_room_waits_and_continues_when_it_is_resumed() -> None:
    memory, calls = pool(), list[str]()
    turn, common = receiving(memory), receiving(memory)
    waiting = receiving(memory, resume=lambda: calls.append("resumed"))
    data = framing(bytes(LARGEST))
    deliver(turn, data[: 3 * MIB])
    deliver(common, data[: 3 * MIB])

    taken = deliver(waiting, data)
    waits = (waiting.is_waiting, list(calls))
    turn.drop()
    common.drop()
    deliver(waiting, data[taken:])

    assert waits == (True, [])
    assert calls == ["resumed"]
    assert len(waiting.take().data) == LARGEST


def short_of_memory(clock: VirtualClock) -> tuple[NetworkReceive, NetworkReceive]:
    """Return a frame that has the turn, and one that waits for its memory."""
    memory = pool()
    turn, common, waiting = (receiving(memory, clock=clock) for _ in range(3))
    for each in (turn, common, waiting):
        deliver(each, framing(bytes(LARGEST))[: 3 * MIB])
    return turn, waiting


def test_frame_that_stops_arriving_is_keeping_memory_from_others() -> None:
    clock = VirtualClock()
    turn, waiting = short_of_memory(clock)

    clock.advance(ms=PROGRESS_MS)
    before = turn.is_keeping_memory(is_reading=True)
    clock.advance(ms=1)

    assert not before
    assert turn.is_keeping_memory(is_reading=True)
    assert not turn.is_keeping_memory(is_reading=False)
    assert not waiting.is_keeping_memory(is_reading=False)


def test_frame_that_arrives_may_keep_memory_for_the_frame_timeout() -> None:
    clock = VirtualClock()
    turn, _ = short_of_memory(clock)

    for _ in range(FRAME_TIMEOUT_MS // PROGRESS_MS):
        clock.advance(ms=PROGRESS_MS)
        deliver(turn, bytes(PROGRESS_BYTES))
    before = turn.is_keeping_memory(is_reading=True)
    clock.advance(ms=1)

    assert not before
    assert turn.is_keeping_memory(is_reading=True)


def test_slow_frame_may_stay_while_no_other_frame_waits() -> None:
    clock = VirtualClock()
    receive = receiving(pool(), clock=clock)
    deliver(receive, framing(bytes(LARGEST))[:MIB])

    clock.advance(ms=2 * FRAME_TIMEOUT_MS)

    assert not receive.is_keeping_memory(is_reading=True)


def test_whole_frame_that_is_not_taken_is_keeping_memory_even_if_the_next_one_waits() -> None:
    clock, memory = VirtualClock(), pool()
    receive = receiving(memory, clock=clock)
    data = framing(bytes(LARGEST))

    deliver(receive, data + data)
    clock.advance(ms=FRAME_TIMEOUT_MS)
    before = receive.is_keeping_memory(is_reading=False)
    clock.advance(ms=1)

    assert (len(receive.frames), receive.is_waiting, before) == (1, True, False)
    assert receive.is_keeping_memory(is_reading=False)


def test_waiting_time_is_not_counted_as_slow() -> None:
    clock = VirtualClock()
    turn, waiting = short_of_memory(clock)

    clock.advance(ms=2 * FRAME_TIMEOUT_MS)
    turn.drop()
    deliver(waiting, bytes(MIB))

    assert not waiting.is_keeping_memory(is_reading=True)


def test_frame_before_an_invalid_size_is_released_with_it() -> None:
    memory = pool()
    receive = receiving(memory)

    with pytest.raises(BytesError):
        deliver(receive, framing(bytes(SMALL_FRAME_BYTES + 1)) + b"\xff\xff\xff\xff")
    receive.drop()

    assert (len(receive.frames), memory.allocated) == (0, 0)
