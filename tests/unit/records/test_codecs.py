"""The door to the vendor: every failure returns None."""

from collections.abc import Callable

import pytest

from cordwood.records import codecs

READERS = (
    codecs.gzip_into,
    codecs.snappy_into,
    codecs.lz4_block_into,
    codecs.lz4_frame_into,
    codecs.zstd_into,
)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("data", (b"", b"\xff" * 50, b"neither of them"))
def test_reader_returns_none_for_invalid_bytes(
    read: Callable[[bytes, memoryview], int | None], data: bytes
) -> None:
    assert read(data, memoryview(bytearray(100))) is None


@pytest.mark.parametrize("size", (1, 100, 32 * 1024, 64 * 1024))
def test_block_writers_stay_within_their_bound_for_incompressible_data(size: int) -> None:
    data = memoryview(bytes((number * number >> 5) % 251 for number in range(size)))
    snappy_room = memoryview(bytearray(codecs.snappy_compressed_max(size)))
    lz4_room = memoryview(bytearray(codecs.lz4_compressed_max(size)))

    assert codecs.snappy_compress_into(data, snappy_room) <= len(snappy_room)
    assert codecs.lz4_compress_into(data, lz4_room) <= len(lz4_room)
