"""Decompression into the arena: consecutive, within a limit, in unreferenced bytes."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.compression import Codec, compress
from cordwood.records.kernels.arena import ARENA_BYTES, Arena, read_only
from cordwood.records.kernels.slab_pool import SlabPool

LIMIT = 4 * ARENA_BYTES


def zipped(data: bytes) -> memoryview:
    return memoryview(compress(Codec.GZIP, data))


def began(limit: int = LIMIT) -> Arena:
    arena = Arena(SlabPool(), limit)
    arena.renew()
    return arena


def unpacked(arena: Arena, data: bytes) -> bytes | None:
    span = arena.unpack(Codec.GZIP, zipped(data), magic=2)
    return None if span is None else arena.source[span[0] : span[1]].tobytes()


def test_arena_rejects_bytes_before_its_first_renewal() -> None:
    assert unpacked(Arena(SlabPool(), LIMIT), b"a") is None


def test_arena_decompresses_behind_earlier_bytes() -> None:
    arena = began()

    spans = [arena.unpack(Codec.GZIP, zipped(data), magic=2) for data in (b"abc", b"de")]

    assert spans == [(0, 3), (3, 5)]
    assert arena.source[:5].tobytes() == b"abcde"
    assert not arena.source.flags.writeable


def test_arena_rejects_bytes_when_it_is_full() -> None:
    arena = began()
    half = bytes(ARENA_BYTES // 2)

    assert unpacked(arena, half) == half
    assert unpacked(arena, half) is None


def test_arena_begins_again_in_the_same_bytes_when_it_is_rewound() -> None:
    arena = began()
    unpacked(arena, b"first")
    source = arena.source

    arena.rewind()

    assert unpacked(arena, b"other") == b"other"
    assert source[:5].tobytes() == b"other"


def test_arena_does_not_overwrite_referenced_bytes() -> None:
    arena = began()
    unpacked(arena, b"first")
    held = arena.source[:5]

    arena.renew()
    unpacked(arena, b"other")

    assert held.tobytes() == b"first"


def test_closed_arena_returns_its_bytes_to_the_pool() -> None:
    pool = SlabPool()
    arena = Arena(pool, LIMIT)
    arena.renew()
    address = arena.source.ctypes.data

    arena.close()

    assert len(arena.source) == 0
    assert pool.take(ARENA_BYTES).ctypes.data == address


def test_arena_rejects_more_than_the_limit() -> None:
    arena = began(limit=10)

    with pytest.raises(CorruptMessageError, match="at most 10 bytes") as caught:
        unpacked(arena, bytes(11))
    assert caught.value.found == 11


def test_arena_grows_for_one_larger_batch() -> None:
    arena = began()
    large = b"x" * (ARENA_BYTES + 1)

    span = arena.unpack_alone(Codec.GZIP, zipped(large), magic=2)

    assert span == (0, len(large))
    assert arena.source.tobytes() == large


def test_arena_does_not_grow_for_one_batch_that_fits() -> None:
    arena = began()
    unpacked(arena, b"before")

    assert arena.unpack_alone(Codec.GZIP, zipped(b"alone"), magic=2) == (0, 5)
    assert unpacked(arena, b"after") == b"after"


def test_arena_rejects_growth_beyond_the_limit() -> None:
    arena = began(limit=ARENA_BYTES + 10)

    with pytest.raises(CorruptMessageError, match=str(ARENA_BYTES + 10)):
        arena.unpack_alone(Codec.GZIP, zipped(bytes(ARENA_BYTES + 11)), magic=2)


def test_source_is_read_only_when_the_buffer_is_not() -> None:
    source = read_only(bytearray(b"abc"))

    assert not source.flags.writeable
    assert source.tolist() == [97, 98, 99]
