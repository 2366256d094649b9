"""Tests of the memory pool for request frames."""

from collections.abc import Callable

from cordwood.broker.network.memory_pool import SMALL_FRAME_BYTES, MemoryPool

BIG = SMALL_FRAME_BYTES * 4


def unused() -> None:
    raise AssertionError("the frame need not wait")


def noting(calls: list[str], name: str) -> Callable[[], object]:
    return lambda: calls.append(name)


def test_frame_is_admitted_while_any_memory_is_left() -> None:
    pool = MemoryPool(lambda: 1)

    assert pool.allocate(BIG, unused)
    assert pool.allocated == BIG


def test_small_frames_are_not_counted() -> None:
    pool = MemoryPool(lambda: 0)

    assert pool.allocate(SMALL_FRAME_BYTES, unused)
    pool.release(SMALL_FRAME_BYTES)

    assert pool.allocated == 0


def test_waiting_frames_are_admitted_in_order() -> None:
    calls: list[str] = []
    pool = MemoryPool(lambda: BIG)
    pool.allocate(BIG, unused)

    waits = [pool.allocate(BIG, noting(calls, name)) for name in ("first", "second")]
    pool.release(BIG)

    assert waits == [False, False]
    assert calls == ["first"]
    assert pool.allocated == BIG
    assert pool.is_short


def test_new_frame_does_not_overtake_waiting_frames() -> None:
    calls: list[str] = []
    limit = BIG
    pool = MemoryPool(lambda: limit)
    pool.allocate(BIG, unused)
    pool.allocate(BIG, noting(calls, "first"))

    limit = 10 * BIG
    overtakes = pool.allocate(BIG, noting(calls, "second"))
    pool.admit_waiting()

    assert not overtakes
    assert calls == ["first", "second"]


def test_cancelled_frame_is_not_admitted() -> None:
    calls: list[str] = []
    pool = MemoryPool(lambda: BIG)
    pool.allocate(BIG, unused)
    resume = noting(calls, "gone")
    pool.allocate(BIG, resume)

    pool.cancel(resume)
    pool.release(BIG)

    assert calls == []
    assert pool.allocated == 0
    assert not pool.is_short
