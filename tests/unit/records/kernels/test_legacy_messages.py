"""Messages of v0 and v1 in a chunk, and the end of a run of them."""

import pytest

from cordwood.records.decoder import Chunking, ReadRequest
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.chunk_builder import ChunkBuilder
from cordwood.records.kernels.legacy_messages import fill_messages, last_message
from cordwood.records.kernels.wrapper import Wrapper, prepare
from tests.unit.records import segments
from tests.unit.records.kernels.words import canvas_of, source_of
from tests.unit.records.segments import legacy

THREE = legacy(1, b"a", b"bb", b"ccc")
MESSAGE = len(legacy(1, b"a"))


def filled(canvas: ChunkBuilder, data: bytes, *, is_wrapped: bool = False) -> tuple[int, int, int]:
    """Return how it ended, how many rows there are and where it stands."""
    wrapper = Wrapper(0, 0, len(data), 0, 10, None) if is_wrapped else None
    slab = canvas.slab
    prepare(canvas.plan, wrapper, len(data))
    status = fill_messages(source_of(data), slab, canvas.plan, canvas.state)
    return status, canvas.rows, int(canvas.state[at.F_POSITION])


@pytest.mark.parametrize("is_wrapped", (True, False))
def test_messages_are_done_when_all_are_read(*, is_wrapped: bool) -> None:
    found = filled(canvas_of(ReadRequest()), THREE, is_wrapped=is_wrapped)

    assert found == (at.DONE, 3, len(THREE))


def test_messages_stop_at_an_invalid_one() -> None:
    data = THREE[:MESSAGE] + segments.broken(THREE[MESSAGE:])

    assert filled(canvas_of(ReadRequest()), data)[:2] == (at.BAD, 2)


@pytest.mark.parametrize("cut", (1, MESSAGE - 5))
def test_messages_stop_at_a_truncated_one(cut: int) -> None:
    assert filled(canvas_of(ReadRequest()), THREE[:-cut])[:2] == (at.BAD, 2)


@pytest.mark.parametrize(("key_size", "size"), ((7, 0), (-1, -4), (-1, 99)))
def test_messages_stop_at_one_whose_lengths_do_not_match(key_size: int, size: int) -> None:
    message = bytearray(legacy(1, b"a"))
    message[26:34] = key_size.to_bytes(4, "big", signed=True) + size.to_bytes(4, "big", signed=True)
    canvas = canvas_of(ReadRequest(check_crc=False))

    assert filled(canvas, bytes(message))[:2] == (at.BAD, 0)


@pytest.mark.parametrize(("position", "byte"), ((17, 1), (7, 11), (0, 0x80)))
def test_invalid_messages_of_a_wrapper_are_rejected(position: int, byte: int) -> None:
    message = bytearray(THREE)
    message[position] = byte

    assert filled(canvas_of(ReadRequest()), bytes(message), is_wrapped=True)[0] == at.BAD


def test_messages_of_a_wrapper_fall_together() -> None:
    data = segments.broken(THREE)

    assert filled(canvas_of(ReadRequest()), data, is_wrapped=True) == (at.BAD, 0, 0)


@pytest.mark.parametrize(("is_wrapped", "expected"), ((False, at.FULL), (True, at.OVERSIZE)))
def test_messages_stop_when_the_chunk_is_full(expected: int, *, is_wrapped: bool) -> None:
    canvas = canvas_of(ReadRequest(chunking=Chunking(max_rows=1)))

    status, rows, position = filled(canvas, THREE, is_wrapped=is_wrapped)

    assert (status, rows, position) == (expected, *((0, 0) if is_wrapped else (1, MESSAGE)))


@pytest.mark.parametrize(("data", "expected"), ((b"", (0, 0)), (THREE, (3, 2)), (b"x", (-1, 0))))
def test_last_message_counts_and_has_the_last_offset(
    data: bytes, expected: tuple[int, int]
) -> None:
    assert last_message(source_of(data), 0, len(data)) == expected


def test_truncated_last_message_is_rejected() -> None:
    assert last_message(source_of(THREE[:-1]), 0, len(THREE) - 1) == (-1, 0)
