"""Tests of the memory pool for request frames."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.memory_pool import (
    SMALL_FRAME_BYTES,
    SMALL_REQUEST_BYTES,
    FrameMemory,
    MemoryPool,
)

MIB = 1024 * 1024
#: The defaults.
LARGEST, LIMIT = 100 * MIB, 128 * MIB
#: The capacity of the large share, and of its incomplete frames without the turn.
LARGE_SHARE, COMMON = LIMIT - 31 * MIB // 2, 25 * MIB // 2


def pool(limit: int = LIMIT, *, largest: int = LARGEST) -> MemoryPool:
    return MemoryPool(
        lambda: SocketServerSettings(queued_max_bytes=limit, request_max_bytes=largest)
    )


def unused() -> None:
    raise AssertionError("the frame need not wait")


def noting(calls: list[str], name: str) -> Callable[[], object]:
    return lambda: calls.append(name)


def opened(
    memory: MemoryPool, size: int, arrived: int = 0, resume: Callable[[], object] = unused
) -> FrameMemory:
    """Return a frame of this size, of which some bytes have arrived."""
    frame = memory.open(size, resume)
    frame.add(arrived)
    return frame


def test_announced_size_costs_nothing() -> None:
    memory = pool()

    for _ in range(1_000):
        opened(memory, LARGEST)

    assert memory.allocated == 0
    assert opened(memory, 10 * MIB, 1).may_receive()


def test_frame_counts_what_has_arrived_until_it_is_released() -> None:
    memory = pool()
    frame = opened(memory, 10 * MIB, 3 * MIB)

    counts = [memory.allocated]
    frame.add(7 * MIB)
    counts.append(memory.allocated)
    frame.release()

    assert [*counts, memory.allocated] == [3 * MIB, 10 * MIB, 0]


def test_one_frame_has_the_turn_when_incomplete_ones_hold_what_they_may() -> None:
    memory, calls = pool(), list[str]()
    turn, stalled = (opened(memory, LARGEST, COMMON, noting(calls, name)) for name in "ab")

    takes = [turn.may_receive(), stalled.may_receive()]
    takes.append(opened(memory, 50 * MIB, 1, noting(calls, "c")).may_receive())
    turn.add(LARGEST - COMMON)

    assert takes == [True, False, False]
    assert calls == []
    turn.release()
    assert calls == ["b", "c"]


def test_half_received_frames_are_completed_one_after_the_other() -> None:
    memory, calls = pool(), list[str]()
    frames = [opened(memory, LARGEST, COMMON * 2 // 3, noting(calls, name)) for name in "abc"]

    takes = [frame.may_receive() for frame in frames]
    for frame in frames:
        frame.add(frame.missing)
        frame.release()

    assert takes == [True, False, False]
    assert calls == ["b", "c"]
    assert memory.allocated == 0


def test_small_requests_have_a_share_that_large_ones_cannot_take() -> None:
    memory = pool()
    for _ in range(2):
        opened(memory, LARGEST, LARGE_SHARE // 2, lambda: None).may_receive()

    assert not opened(memory, SMALL_REQUEST_BYTES + 1, 1, lambda: None).may_receive()
    assert opened(memory, SMALL_REQUEST_BYTES, 1).may_receive()


def test_requests_in_progress_keep_a_frame_waiting_even_with_the_turn() -> None:
    memory, calls = pool(), list[str]()
    handled = [opened(memory, size, size) for size in (LARGEST, LARGE_SHARE - LARGEST)]
    frame = opened(memory, 10 * MIB, 0, noting(calls, "resumed"))

    may_receive = frame.may_receive()
    handled[1].release()

    assert not may_receive
    assert calls == ["resumed"]


def test_resumed_frame_has_reserved_room() -> None:
    memory = pool()
    handled = opened(memory, LARGE_SHARE - 1, LARGE_SHARE - 1)
    frame = opened(memory, 10 * MIB, 0, lambda: None)
    frame.may_receive()

    handled.release()
    reserved = frame.room()
    frame.add(1)

    assert reserved == 64 * 1024
    assert memory.allocated == 1


def test_frame_that_is_given_up_lets_the_next_one_have_the_turn() -> None:
    memory, calls = pool(), list[str]()
    frames = [opened(memory, LARGEST, COMMON, noting(calls, name)) for name in "abc"]
    for frame in frames:
        frame.may_receive()

    frames[1].release()
    frames[0].release()

    assert calls == ["c"]
    assert memory.allocated == COMMON + 64 * 1024
    assert not memory.is_short


def test_waiting_frames_are_resumed_when_the_limit_has_grown() -> None:
    limit, calls = LIMIT, list[str]()
    memory = MemoryPool(lambda: SocketServerSettings(queued_max_bytes=limit))
    opened(memory, LARGEST, LARGEST)
    opened(memory, LARGEST, COMMON, noting(calls, "resumed")).may_receive()

    memory.admit_waiting()
    before = list(calls)
    limit = 4 * LIMIT
    memory.admit_waiting()

    assert (before, calls) == ([], ["resumed"])


@given(
    st.lists(st.integers(SMALL_FRAME_BYTES + 1, 4 * MIB), min_size=1, max_size=12),
    st.data(),
)
def test_frames_of_any_sizes_are_completed_within_the_limit(
    sizes: list[int], data: st.DataObject
) -> None:
    """Bytes arrive at random, as a connection takes them; requests end at random."""
    memory = pool(5 * MIB, largest=4 * MIB)
    frames = [memory.open(size, lambda: None) for size in sizes]
    handled: list[FrameMemory] = []

    while frames or handled:
        reading = [frame for frame in frames if not frame.is_waiting]
        assert reading or handled, "the frames block each other"
        frame = data.draw(st.sampled_from([*reading, *handled]))
        if frame in handled:
            handled.remove(frame)
            frame.release()
            continue
        frame.add(min(frame.missing, max(frame.room(), SMALL_FRAME_BYTES)))
        if not frame.missing:
            frames.remove(frame)
            handled.append(frame)
        else:
            frame.may_receive()
        assert memory.allocated <= 5 * MIB + SMALL_FRAME_BYTES * len(sizes)

    assert memory.allocated == 0
