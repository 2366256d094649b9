"""Every codec there and back, at every level, at the sizes where framings change."""

import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from struct import pack

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.core.errors import (
    CorruptMessageError,
    SettingError,
    UnsupportedCompressionTypeError,
)
from cordwood.records.compression import (
    LEVELS,
    Codec,
    compress,
    decompress,
    decompress_into,
    uncompressed_bound,
)

KIB = 1024
GIB = 1 << 30
COMPRESSED = tuple(codec for codec in Codec if codec is not Codec.NONE)
SIZES = (0, 1, 32 * KIB - 1, 32 * KIB, 32 * KIB + 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 1 << 20)
SOME_LEVELS = (
    (Codec.GZIP, -1),
    (Codec.GZIP, 1),
    (Codec.GZIP, 9),
    (Codec.LZ4, 1),
    (Codec.LZ4, 9),
    (Codec.LZ4, 12),
    (Codec.LZ4, 17),
    (Codec.ZSTD, -131072),
    (Codec.ZSTD, 0),
    (Codec.ZSTD, 3),
    (Codec.ZSTD, 22),
)
LOG_LINE = b"2026-11-21T14:00:00Z level=info path=/orders/%06d status=200\n"


def payload(size: int) -> bytes:
    return b"".join(LOG_LINE % number for number in range(size // 50 + 1))[:size]


@contextmanager
def memory_below(size: int) -> Iterator[None]:
    """Fail when the peak of Python allocations inside reaches `size`."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def bomb(codec: Codec) -> bytes:
    """Return 1 GiB of zeros, put together from small pieces without ever being 1 GiB."""
    match codec:
        case Codec.GZIP:
            return compress(codec, bytes(16 << 20)) * 64
        case Codec.SNAPPY:
            stream = compress(codec, bytes(1 << 20))
            return stream[:16] + stream[16:] * 1024
        case Codec.LZ4:
            frame = compress(codec, bytes(64 * KIB))
            return frame[:7] + frame[7:-4] * 16384 + frame[-4:]
        case _:
            return compress(codec, bytes(16 << 20)) * 64


def streamed_zstd_bomb() -> bytes:
    """Return 1 GiB of zeros as written without a content size: repeated blocks."""
    block = (128 * KIB << 3 | 1 << 1).to_bytes(3, "little") + b"\x00"
    last = (1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * 8192 + last


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("codec", tuple(Codec))
def test_codec_round_trip_at_each_size(codec: Codec, size: int) -> None:
    data = payload(size)
    out = bytearray(size + 3)

    packed = compress(codec, data)

    assert decompress(codec, packed) == data
    assert decompress_into(codec, packed, out, 3) == size
    assert out[3:] == data


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("codec", "level"), SOME_LEVELS)
def test_codec_round_trip_at_each_level(codec: Codec, level: int, size: int) -> None:
    data = payload(size)

    assert decompress(codec, compress(codec, data, level=level)) == data


@given(st.sampled_from(Codec), st.binary(max_size=4096), st.integers(1, 64))
def test_codec_round_trip_of_any_bytes(codec: Codec, seed: bytes, times: int) -> None:
    data = seed * times

    packed = compress(codec, data)

    assert decompress(codec, packed) == data
    assert uncompressed_bound(codec, packed) >= len(data)


@given(st.sampled_from(COMPRESSED), st.binary(max_size=300))
def test_decompress_of_any_bytes_raises_only_its_own_error(codec: Codec, data: bytes) -> None:
    try:
        assert len(decompress(codec, data, limit=1 << 20)) <= 1 << 20
    except CorruptMessageError:
        assert codec in COMPRESSED


@given(st.sampled_from(COMPRESSED), st.data())
def test_decompress_of_changed_bytes_raises_only_its_own_error(
    codec: Codec, data: st.DataObject
) -> None:
    packed = bytearray(compress(codec, payload(3000)))
    at = data.draw(st.integers(0, len(packed) - 1))

    packed[at] ^= data.draw(st.integers(1, 255))

    try:
        assert len(decompress(codec, packed, limit=1 << 20)) <= 1 << 20
    except CorruptMessageError:
        assert codec in COMPRESSED


@pytest.mark.parametrize("size", (1, 100, 32 * KIB + 1, 300 * KIB))
@pytest.mark.parametrize("codec", tuple(Codec))
def test_decompress_into_returns_none_when_one_byte_is_missing(codec: Codec, size: int) -> None:
    packed = compress(codec, payload(size))

    assert decompress_into(codec, packed, bytearray(size + 8), 9) is None
    assert decompress_into(codec, packed, bytearray(), 0) is None


@pytest.mark.parametrize("codec", COMPRESSED)
def test_decompress_rejects_truncated_bytes(codec: Codec) -> None:
    packed = compress(codec, payload(100 * KIB))

    for end in (0, 1, 5, len(packed) // 2, len(packed) - 1):
        with pytest.raises(CorruptMessageError):
            decompress(codec, packed[:end])


@pytest.mark.parametrize("codec", COMPRESSED)
def test_decompress_rejects_trailing_bytes(codec: Codec) -> None:
    packed = compress(codec, payload(1000))

    with pytest.raises(CorruptMessageError):
        decompress(codec, packed + b"more")


@pytest.mark.parametrize("codec", COMPRESSED)
def test_decompress_rejects_a_bomb_before_it_allocates_memory(codec: Codec) -> None:
    packed = bomb(codec)

    with memory_below(3 << 20), pytest.raises(CorruptMessageError, match="limit"):
        decompress(codec, packed, limit=1 << 20)


def test_decompress_rejects_a_zstd_bomb_without_a_size() -> None:

    with memory_below(1 << 20), pytest.raises(CorruptMessageError, match="limit"):
        decompress(Codec.ZSTD, streamed_zstd_bomb())


def test_decompress_stops_at_the_limit_when_zstd_blocks_hide_their_size() -> None:
    data = bytes(range(256)) * 64 * KIB
    writer = cramjam.zstd.Compressor()
    writer.compress(data)
    blind = bytes(writer.finish())

    with memory_below(3 << 20), pytest.raises(CorruptMessageError, match="limit"):
        decompress(Codec.ZSTD, blind, limit=1 << 20)
    assert decompress(Codec.ZSTD, blind) == data


@pytest.mark.parametrize("codec", tuple(Codec))
def test_decompress_accepts_data_of_exactly_the_limit(codec: Codec) -> None:
    packed = compress(codec, bytes(1 << 20))

    assert len(decompress(codec, packed, limit=1 << 20)) == 1 << 20
    with pytest.raises(CorruptMessageError, match="limit"):
        decompress(codec, packed, limit=(1 << 20) - 1)


def test_decompress_allocates_little_memory_for_a_forged_size() -> None:
    packed = bytearray(compress(Codec.GZIP, payload(50_000)))
    packed[-4:] = pack("<I", 1032 * len(packed))

    with memory_below(64 * KIB + 64 * len(packed)), pytest.raises(CorruptMessageError):
        decompress(Codec.GZIP, packed)


@pytest.mark.parametrize("codec", tuple(LEVELS))
def test_compress_names_the_range_when_the_level_is_outside(codec: Codec) -> None:
    lowest, highest, default = LEVELS[codec]

    for level in (lowest - 1, highest + 1):
        with pytest.raises(SettingError, match=f"choose {lowest} to {highest}, or {default}"):
            compress(codec, b"", level=level)


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.SNAPPY))
def test_compress_rejects_a_level_for_a_codec_without_levels(codec: Codec) -> None:
    with pytest.raises(SettingError, match="has no compression levels"):
        compress(codec, b"", level=1)


def test_gzip_uses_the_default_level_of_zlib() -> None:
    data = payload(5000)

    assert compress(Codec.GZIP, data) == zlib.compress(data, -1, 31)


@pytest.mark.parametrize("magic", (0, 1))
def test_zstd_is_rejected_in_old_formats(magic: int) -> None:
    packed = compress(Codec.ZSTD, b"value")

    with pytest.raises(UnsupportedCompressionTypeError, match="magic 2"):
        compress(Codec.ZSTD, b"value", magic=magic)
    with pytest.raises(UnsupportedCompressionTypeError, match="magic 2"):
        decompress(Codec.ZSTD, packed, magic=magic)
    with pytest.raises(UnsupportedCompressionTypeError, match="magic 2"):
        decompress_into(Codec.ZSTD, packed, bytearray(9), 0, magic=magic)


@pytest.mark.parametrize(
    ("codec", "name"),
    ((0, "none"), (1, "gzip"), (2, "snappy"), (3, "lz4"), (4, "zstd")),
)
def test_codec_has_the_id_and_the_name_of_kafka(codec: int, name: str) -> None:
    assert Codec.from_name(name) == codec
    assert Codec(codec).kafka_name == name


def test_codec_lists_the_names_when_one_is_unknown() -> None:
    with pytest.raises(SettingError, match="choose one of none, gzip, snappy, lz4, zstd"):
        Codec.from_name("lzo")
