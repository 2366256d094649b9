"""lz4 frames: Kafka's output byte for byte, and the frames of other writers."""

from struct import pack

import cramjam
import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records import lz4_frame

KAFKA_HEADER = bytes.fromhex("04224d18 60 40 82")
BROKEN_HEADER = bytes.fromhex("04224d18 60 40 1a")
HELLO_BLOCK = pack("<I", 0x80000005) + b"hello"
HELLO = KAFKA_HEADER + HELLO_BLOCK + bytes(4)
NOISE = bytes((number * number >> 3) & 0xFF ^ (number * 31 >> 7) & 0xFF for number in range(70_000))


def read(stream: bytes, *, room: int = 1 << 18, magic: int = 2) -> bytes | None:
    out = memoryview(bytearray(room))
    size = lz4_frame.decompress_into(memoryview(stream), out, magic=magic)
    return None if size is None else bytes(out[:size])


def with_descriptor(flags: int, sizes: int, rest: bytes = b"") -> bytes:
    descriptor = bytes((flags, sizes)) + rest
    return lz4_frame.MAGIC + descriptor + bytes((lz4_frame.header_checksum(descriptor),))


def vendor_frame(data: bytes, *, content_checksum: bool, linked: bool) -> bytes:
    writer = cramjam.lz4.Compressor(content_checksum=content_checksum, block_linked=linked)
    writer.compress(data)
    return bytes(writer.finish())


@pytest.mark.parametrize("level", (1, 9, 12, 17))
def test_compress_writes_kafkas_header_at_every_level(level: int) -> None:
    frame = lz4_frame.compress(memoryview(bytes(200_000)), level)

    assert frame[:7] == KAFKA_HEADER
    assert frame[-4:] == bytes(4)
    assert read(frame) == bytes(200_000)


def test_compress_stores_a_block_when_it_does_not_shrink() -> None:
    assert lz4_frame.compress(memoryview(b"hello"), 9) == HELLO
    assert lz4_frame.compress(memoryview(b"hello"), 12) == HELLO


def test_compress_writes_only_header_and_end_mark_without_data() -> None:
    assert lz4_frame.compress(memoryview(b""), 9) == KAFKA_HEADER + bytes(4)
    assert lz4_frame.compress(memoryview(b""), 12) == KAFKA_HEADER + bytes(4)


def test_compress_writes_the_old_wrong_checksum_when_magic_is_0() -> None:
    assert lz4_frame.compress(memoryview(b"hello"), 9, magic=0)[:7] == BROKEN_HEADER


@pytest.mark.parametrize("header", (KAFKA_HEADER, BROKEN_HEADER))
def test_decompress_into_ignores_the_header_checksum_under_magic_0(
    header: bytes,
) -> None:
    assert read(header + HELLO_BLOCK + bytes(4), magic=0) == b"hello"


@pytest.mark.parametrize("magic", (1, 2))
def test_decompress_into_rejects_a_wrong_header_checksum_under_newer_magics(magic: int) -> None:
    with pytest.raises(CorruptMessageError, match="expected 130, found 26"):
        read(BROKEN_HEADER + HELLO_BLOCK + bytes(4), magic=magic)


@pytest.mark.parametrize("content_checksum", (True, False))
@pytest.mark.parametrize("data", (b"hello", bytes(100_000), NOISE))
def test_decompress_into_accepts_block_and_content_checksums(
    data: bytes, *, content_checksum: bool
) -> None:
    assert read(vendor_frame(data, content_checksum=content_checksum, linked=False)) == data


@pytest.mark.parametrize("sizes", (0x40, 0x50, 0x60, 0x70))
def test_decompress_into_passes_over_the_content_size_at_every_block_size(sizes: int) -> None:
    header = with_descriptor(0x68, sizes, pack("<Q", 999))

    assert read(header + HELLO_BLOCK + bytes(4)) == b"hello"


@pytest.mark.parametrize("sizes", (0x40, 0x50, 0x60, 0x70))
def test_decompress_into_verifies_block_checksums_at_every_block_size(sizes: int) -> None:
    good = vendor_frame(b"hello", content_checksum=False, linked=False)
    blocks = good[7:]

    assert read(with_descriptor(0x70, sizes) + blocks) == b"hello"
    with pytest.raises(CorruptMessageError, match="damaged"):
        read(with_descriptor(0x70, sizes) + blocks.replace(b"hello", b"jello"))


def test_decompress_into_rejects_linked_blocks() -> None:
    with pytest.raises(CorruptMessageError, match="independent blocks"):
        read(vendor_frame(bytes(100_000), content_checksum=False, linked=True))


@pytest.mark.parametrize(
    ("stream", "problem"),
    (
        (b"", "not an lz4 frame"),
        (b"\x04\x22\x4d\x19\x60\x40\x82" + bytes(4), "not an lz4 frame"),
        (with_descriptor(0xA0, 0x40), "unknown version"),
        (with_descriptor(0x61, 0x40), "unknown version"),
        (with_descriptor(0x60, 0x30), "block size"),
        (with_descriptor(0x60, 0x41), "block size"),
        (with_descriptor(0x60, 0xC0), "block size"),
        (with_descriptor(0x68, 0x40, bytes(8))[:12], "cut short"),
        (KAFKA_HEADER, "no end mark"),
        (KAFKA_HEADER + HELLO_BLOCK, "no end mark"),
        (KAFKA_HEADER + pack("<I", 0x80000005) + b"hell", "impossible size"),
        (KAFKA_HEADER + pack("<I", 0x80010001) + bytes(70_000), "impossible size"),
        (HELLO + b"\x00", "does not end"),
        (with_descriptor(0x64, 0x40) + HELLO_BLOCK + bytes(4), "does not end"),
        (KAFKA_HEADER + pack("<I", 5) + b"hello" + bytes(4), "damaged"),
    ),
)
def test_decompress_into_rejects_an_invalid_frame(stream: bytes, problem: str) -> None:
    with pytest.raises(CorruptMessageError, match=problem):
        read(stream)


@pytest.mark.parametrize("room", (0, 4, 65_536, 99_999))
def test_decompress_into_returns_none_when_the_buffer_is_too_small(room: int) -> None:
    stored_last = lz4_frame.compress(memoryview(bytes(65_536)), 9)[:-4] + HELLO_BLOCK + bytes(4)

    assert read(stored_last, room=min(room, 65_540)) is None
    assert read(lz4_frame.compress(memoryview(bytes(100_000)), 9), room=room) is None


def test_decompress_into_reads_an_empty_block_into_a_full_buffer() -> None:
    stream = KAFKA_HEADER + HELLO_BLOCK + pack("<I", 1) + b"\x00" + bytes(4)

    assert read(stream, room=5) == b"hello"
    assert lz4_frame.measure(memoryview(stream), 5) == 5


def test_decompress_into_rejects_a_damaged_block_even_when_the_buffer_is_too_small() -> None:
    stream = KAFKA_HEADER + pack("<I", 5) + b"hello" + bytes(4)

    with pytest.raises(CorruptMessageError, match="damaged"):
        read(stream, room=3)


def test_bounds_count_stored_blocks_exactly_and_compressed_ones_at_most() -> None:
    stream = KAFKA_HEADER + HELLO_BLOCK + pack("<I", 2) + b"\x10a" + bytes(4)

    assert lz4_frame.bounds(memoryview(stream)) == (5, 5 + 2 * 255)


def test_measure_counts_and_stops_past_the_limit() -> None:
    stream = memoryview(lz4_frame.compress(memoryview(bytes(300_000)), 9))

    assert lz4_frame.measure(stream, 1 << 20) == 300_000
    assert lz4_frame.measure(stream, 100_000) == 131_072


@pytest.mark.parametrize(
    ("covered", "checksum"),
    (
        ("6040", 0x82),
        ("04224d186040", 0x1A),
        ("7040", 0xAD),
        ("7440", 0xBD),
        ("5440", 0xAE),
    ),
)
def test_header_checksum_equals_that_of_other_writers(covered: str, checksum: int) -> None:
    assert lz4_frame.header_checksum(bytes.fromhex(covered)) == checksum
