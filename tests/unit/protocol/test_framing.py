"""Frames survive any division of the bytes; invalid sizes are rejected before any allocation."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.core.errors import BytesError
from cordwood.protocol.framing import FIRST_BYTES, FrameReader, framed

LIMIT = 1 << 27


def reader(limit: int = LIMIT) -> FrameReader:
    return FrameReader(lambda: limit)


def framing(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


@given(st.lists(st.binary(max_size=40), max_size=6), st.lists(st.integers(1, 30), min_size=1))
def test_frames_are_complete_at_any_division_of_the_bytes(
    bodies: list[bytes], cuts: list[int]
) -> None:
    stream, frames, at = framing(*bodies), reader(), 0

    while at < len(stream):
        step = cuts[at % len(cuts)]
        frames.feed(stream[at : at + step])
        at += step

    assert list(frames.frames) == bodies
    assert frames.missing == 0


def test_frame_can_be_received_in_place() -> None:
    frames = reader()
    frames.feed(framing(b"abcdef")[:6])

    room = frames.room()
    room[:] = b"cdef"
    frames.fill(len(room))

    assert list(frames.frames) == [b"abcdef"]


@pytest.mark.parametrize("size", (-1, 11, -(1 << 31), (1 << 31) - 1))
def test_negative_size_or_one_above_the_limit_is_rejected(size: int) -> None:
    with pytest.raises(BytesError, match="expected 0 to 10"):
        reader(10).feed(size.to_bytes(4, "big", signed=True))


def test_rejected_size_allocates_no_memory() -> None:
    tracemalloc.start()

    with pytest.raises(BytesError):
        reader(1 << 20).feed((1 << 30).to_bytes(4, "big"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1 << 16


def test_frames_before_a_rejected_size_are_returned() -> None:
    frames = reader(10)

    with pytest.raises(BytesError):
        frames.feed(framing(b"good") + b"\xff\xff\xff\xff")

    assert list(frames.frames) == [b"good"]


def test_frames_before_one_above_the_limit_are_returned() -> None:
    frames = reader(4)

    with pytest.raises(BytesError):
        frames.feed(framing(b"good", b"large"))

    assert list(frames.frames) == [b"good"]


def test_whole_frames_do_not_share_the_received_bytes() -> None:
    frames, received = reader(), bytearray(framing(b"ab", b"cd"))

    frames.feed(received)
    received[:] = bytes(len(received))

    assert list(frames.frames) == [b"ab", b"cd"]


def test_limit_may_change_between_frames() -> None:
    limit = 2
    frames = FrameReader(lambda: limit)
    frames.feed(framing(b"ab"))

    limit = 3
    frames.feed(framing(b"abc"))

    assert list(frames.frames) == [b"ab", b"abc"]


def test_frame_without_bytes_is_complete() -> None:
    frames = reader()

    frames.feed(framing(b"", b"x"))

    assert list(frames.frames) == [b"", b"x"]


def test_announced_size_allocates_the_first_buffer_alone() -> None:
    asked: list[int] = []

    def allocate(size: int) -> bytearray:
        asked.append(size)
        return bytearray(size)

    frames = FrameReader(lambda: LIMIT, allocate=allocate)
    body = bytes(range(256)) * (FIRST_BYTES // 128)

    frames.feed(framing(body)[: FIRST_BYTES + 4])
    announced = list(asked)
    frames.feed(framing(body)[FIRST_BYTES + 4 :])

    assert announced == [FIRST_BYTES]
    assert asked == [FIRST_BYTES, len(body)]
    assert list(frames.frames) == [body]


def test_dropped_bytes_are_released() -> None:
    frames = reader()
    frames.feed(framing(b"whole", b"half")[:-2])

    frames.drop()

    assert len(frames.frames) == 0
    assert frames.size == 0


def test_large_frame_costs_as_much_as_its_bytes() -> None:
    piece, pieces = bytes(1 << 16), 1600
    frames = reader()
    tracemalloc.start()

    frames.feed((len(piece) * pieces).to_bytes(4, "big"))
    for _ in range(pieces):
        frames.feed(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(frames.frames[0]) == len(piece) * pieces
    assert peak < len(piece) * pieces + FIRST_BYTES + 4 * len(piece)


def test_framed_message_starts_with_its_size() -> None:
    body = memoryview(b"body")

    chunks = framed(b"head", [b"", body])

    assert chunks[0] == b"\0\0\0\x08head"
    assert chunks[2] is body
