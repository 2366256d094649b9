"""Decompression of one batch at a time, in memory that is reused."""

import pytest

from cordwood.records.compression import Codec, compress
from cordwood.records.kernels.kernel_definition import Words
from cordwood.records.kernels.layout import T_ATTRIBUTES, T_DATA, T_DATA_END
from cordwood.records.kernels.room import ROOM_BYTES, Room
from cordwood.records.kernels.room import source_of as view_of
from tests.unit.records.kernels.words import empty_table, source_of


def zipped(data: bytes) -> memoryview:
    return memoryview(compress(Codec.GZIP, data))


def row_of(codec: int, size: int) -> Words:
    row: Words = empty_table()[0]
    row[T_ATTRIBUTES], row[T_DATA_END] = codec, size
    return row


def test_buffer_is_reused_by_the_next_decompression() -> None:
    room = Room()

    first, second = (room.unpack(Codec.GZIP, zipped(data)) for data in (b"first", b"other"))

    assert first is not None
    assert second is not None
    assert first[0] is second[0]
    assert second[0][second[1] : second[2]].tobytes() == b"other"


@pytest.mark.parametrize("size", (5, ROOM_BYTES + 1), ids=("in it", "beside it"))
def test_batch_above_the_limit_is_not_decompressed(size: int) -> None:
    packed = zipped(bytes(size))

    assert Room().unpack(Codec.GZIP, packed, limit=size - 1) is None
    assert Room().unpack(Codec.GZIP, packed, limit=size) is not None


def test_damaged_batch_is_not_decompressed() -> None:
    assert Room().unpack(Codec.GZIP, memoryview(b"not packed")) is None


@pytest.mark.parametrize("size", (5, ROOM_BYTES + 1), ids=("in it", "beside it"))
def test_row_has_the_position_of_its_decompressed_records(size: int) -> None:
    packed = bytes(zipped(b"x" * size))
    row = row_of(Codec.GZIP, len(packed))

    unpacked = Room().unpack_row(source_of(packed), row)

    assert unpacked is not None
    assert unpacked[row[T_DATA] : row[T_DATA_END]].tobytes() == b"x" * size


@pytest.mark.parametrize("codec", (Codec.LZ4, 7), ids=("another", "unknown"))
def test_row_is_left_alone_when_its_records_cannot_be_unpacked(codec: int) -> None:
    packed = bytes(zipped(b"abc"))
    row = row_of(codec, len(packed))

    assert Room().unpack_row(source_of(packed), row) is None
    assert (row[T_DATA], row[T_DATA_END]) == (0, len(packed))


def test_source_is_read_only_when_the_buffer_is_not() -> None:
    source = view_of(bytearray(b"abc"))

    assert source.tobytes() == b"abc"
    with pytest.raises(TypeError, match="read-only"):
        source[0] = 1
