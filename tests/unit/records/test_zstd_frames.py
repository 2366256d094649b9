"""zstd frames: their headers bound their content before any decompression."""

import cramjam
import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records import zstd_frames
from cordwood.records.codecs import zstd_into

MAGIC = bytes.fromhex("28b52ffd")
DATA = b"a line of a log\n" * 50_000


def block(kind: int, size: int, payload: bytes = b"", *, is_last: bool = True) -> bytes:
    return (size << 3 | kind << 1 | is_last).to_bytes(3, "little") + payload


def streamed(data: bytes) -> bytes:
    writer = cramjam.zstd.Compressor()
    writer.compress(data)
    return bytes(writer.finish())


def read(stream: bytes, *, room: int = 1 << 20) -> bytes | None:
    out = memoryview(bytearray(room))
    size = zstd_frames.decompress_into(memoryview(stream), out)
    return None if size is None else bytes(out[:size])


def test_compress_names_the_content_size() -> None:
    frame = zstd_frames.compress(memoryview(DATA), 3)

    assert zstd_frames.bounds(memoryview(frame)) == (len(DATA), len(DATA))


def test_decompress_into_reads_a_frame_without_a_content_size() -> None:
    stream = streamed(DATA)

    least, most = zstd_frames.bounds(memoryview(stream))

    assert least <= len(DATA) <= most < len(DATA) + zstd_frames.BLOCK_MAX
    assert read(stream) == DATA


def test_decompress_into_reads_all_frames_and_skips_the_skippable() -> None:
    skippable = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"
    stream = streamed(b"one") + skippable + zstd_frames.compress(memoryview(b"two"), 3)

    assert read(stream) == b"onetwo"
    assert zstd_frames.bounds(memoryview(stream))[1] >= 6


@pytest.mark.parametrize("room", (0, 1, 131_072, len(DATA) - 1))
def test_decompress_into_returns_none_when_the_buffer_is_too_small(room: int) -> None:
    assert read(streamed(DATA), room=room) is None
    assert read(zstd_frames.compress(memoryview(DATA), 3), room=room) is None


def test_decompress_into_rejects_a_damaged_stream_even_when_the_buffer_is_too_small() -> None:
    damaged = MAGIC + b"\x00\x58" + block(2, 4, b"\xff\xff\xff\xff")

    with pytest.raises(CorruptMessageError, match="damaged"):
        read(damaged, room=100)
    with pytest.raises(CorruptMessageError, match="damaged"):
        read(damaged)


def test_decompress_into_rejects_a_size_that_the_blocks_cannot_hold() -> None:
    """The vendor overlooks it, since the last block is empty."""
    forged = bytes.fromhex("28b52ffd8027200001b9050000")

    assert zstd_into(memoryview(forged), memoryview(bytearray(100))) == 0
    for stream in (forged, streamed(b"one") + forged):
        with pytest.raises(CorruptMessageError, match="cannot hold"):
            read(stream)


def test_decompress_into_rejects_a_frame_smaller_than_its_size() -> None:
    """Headers do not bound the content of a compressed block, and the vendor does not check it."""
    packed = zstd_frames.compress(memoryview(b"a line\n" * 100), 3)[10:]
    size = zstd_frames.BLOCK_MAX + 700
    raw = block(0, zstd_frames.BLOCK_MAX, bytes(zstd_frames.BLOCK_MAX), is_last=False)
    body = raw + block(2, len(packed), packed, is_last=False) + block(0, 0)

    def frame(named: int) -> bytes:
        return MAGIC + b"\xa0" + named.to_bytes(4, "little") + body

    assert read(frame(size)) == bytes(zstd_frames.BLOCK_MAX) + b"a line\n" * 100
    with pytest.raises(CorruptMessageError, match=f"another size.*{size + 1}, found {size}"):
        read(frame(size + 1))


@pytest.mark.parametrize(
    ("descriptor", "fields", "bounds"),
    (
        (0x00, "58", (0, 131_072)),
        (0x00, "00", (0, 1_024)),
        (0x00, "07", (0, 1_920)),
        (0x01, "58 07", (0, 131_072)),
        (0x03, "58 07000000", (0, 131_072)),
        (0x20, "05", (5, 5)),
        (0x40, "58 0500", (261, 261)),
        (0x80, "58 05000000", (5, 5)),
        (0xC0, "58 0500000000000000", (5, 5)),
    ),
)
def test_bounds_reads_every_form_of_header(
    descriptor: int, fields: str, bounds: tuple[int, int]
) -> None:
    frame = MAGIC + bytes((descriptor,)) + bytes.fromhex(fields) + block(2, 1, b"x")

    assert zstd_frames.bounds(memoryview(frame)) == bounds


def test_bounds_counts_raw_and_repeated_blocks_exactly() -> None:
    body = block(0, 3, b"abc", is_last=False) + block(1, 9, b"x")

    assert zstd_frames.bounds(memoryview(MAGIC + b"\x04\x58" + body + bytes(4))) == (12, 12)


@pytest.mark.parametrize(
    ("stream", "problem"),
    (
        (b"", "not a zstd frame"),
        (b"\x27\xb5\x2f\xfd\x00\x58" + block(0, 0), "not a zstd frame"),
        (MAGIC + b"\x00", "not a zstd frame"),
        (MAGIC + b"\xc0\x58\x00", "cut short"),
        (MAGIC + b"\x00\x58", "cut short"),
        (MAGIC + b"\x00\x58" + block(0, 3, b"ab"), "cut short"),
        (MAGIC + b"\x04\x58" + block(0, 0), "cut short"),
        (MAGIC + b"\x00\x58" + block(0, 3, b"abc", is_last=False), "cut short"),
        (MAGIC + b"\x00\x58" + block(3, 0), "impossible header"),
        (MAGIC + b"\x00\x58" + block(1, 131_073, b"x"), "impossible header"),
        (MAGIC + b"\x20\x05" + block(1, 4, b"x"), "cannot hold"),
        (b"\x50\x2a\x4d\x18\x09\x00\x00\x00", "cut short"),
    ),
)
def test_bounds_rejects_an_invalid_framing(stream: bytes, problem: str) -> None:
    with pytest.raises(CorruptMessageError, match=problem):
        zstd_frames.bounds(memoryview(stream))
