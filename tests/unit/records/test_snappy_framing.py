"""snappy: the Java framing, the raw block, and sizes known before any decompression."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records import snappy_framing

HEADER = bytes.fromhex("82534e4150505900 00000001 00000001")
HELLO_BLOCK = bytes.fromhex("05 10") + b"hello"
HELLO = HEADER + bytes.fromhex("00000007") + HELLO_BLOCK


def read(stream: bytes) -> bytes | None:
    out = memoryview(bytearray(4096))
    size = snappy_framing.decompress_into(memoryview(stream), out)
    return None if size is None else bytes(out[:size])


def test_compress_writes_one_chunk_of_small_data() -> None:
    assert snappy_framing.compress(memoryview(b"hello")) == HELLO


def test_compress_writes_only_the_header_without_data() -> None:
    assert snappy_framing.compress(memoryview(b"")) == HEADER


def test_compress_writes_chunks_of_32_kib() -> None:
    stream = memoryview(snappy_framing.compress(memoryview(bytes(70_000))))

    sizes = [snappy_framing.block_size(block) for block in snappy_framing.blocks(stream)]

    assert sizes == [32_768, 32_768, 70_000 - 65_536]


def test_decompress_into_reads_one_raw_block_without_a_header() -> None:
    assert read(HELLO_BLOCK) == b"hello"


def test_decompress_into_continues_after_a_repeated_header() -> None:
    assert read(HELLO + HELLO + HEADER) == b"hellohello"


@pytest.mark.parametrize(
    ("stream", "problem"),
    (
        (b"", "has no size"),
        (HEADER[:12], "header is cut short"),
        (HEADER[:8] + bytes(8), "framing is too old"),
        (HELLO + HEADER[:11], "header is cut short"),
        (HELLO + b"\x82SNA" + bytes(12), "header is cut short"),
        (HELLO + b"\x00\x00", "chunk is cut short"),
        (HEADER + bytes(4), "impossible size"),
        (HEADER + b"\xff\xff\xff\xff", "impossible size"),
        (HELLO[:-1], "impossible size"),
        (b"\xff\xff\xff\xff\xff\x00", "has no size"),
        (b"\xff\xff\xff\x00hello", "cannot expand"),
        (b"\x05\x10hell", "damaged"),
    ),
)
def test_decompress_into_rejects_an_invalid_framing(stream: bytes, problem: str) -> None:
    with pytest.raises(CorruptMessageError, match=problem):
        read(stream)


def test_decompress_into_returns_none_when_the_second_chunk_does_not_fit() -> None:
    room = memoryview(bytearray(9))

    assert snappy_framing.decompress_into(memoryview(HELLO + HELLO), room) is None


def test_measure_adds_the_sizes_of_all_chunks() -> None:
    assert snappy_framing.measure(memoryview(HELLO + HELLO[16:])) == 10
