"""Kafka's own decompressors read our codecs' output, and the reverse, at every level."""

import random

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.compression import Codec, compress, decompress
from tests.interop.kafka_harness.oracle import Oracle, OracleRefusalError

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

LZ4_BLOCK = 64 * 1024
SNAPPY_CHUNK = 32 * 1024


def _noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


DATA = {
    "nothing": b"",
    "a byte": b"x",
    "a text": b"cut to length and stacked, " * 40,
    "a snappy chunk": b"ab" * (SNAPPY_CHUNK // 2),
    "an lz4 block and a byte": b"z" * (LZ4_BLOCK + 1),
    "noise": _noise(LZ4_BLOCK),
    "noise beyond blocks": _noise(3 * LZ4_BLOCK + 17),
    "a mixture": b"".join(_noise(900) + b"\x00" * 5_000 for _ in range(100)),
}
LEVELS = [
    *[("gzip", level) for level in (1, 6, 9)],
    *[("lz4", level) for level in (1, 9, 17)],
    *[("zstd", level) for level in (-5, 1, 3, 22)],
]
MAGICS = [
    (codec.kafka_name, magic)
    for codec in Codec
    for magic in (0, 1, 2)
    if magic == 2 or codec is not Codec.ZSTD
]


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize(("codec", "magic"), MAGICS)
def test_kafka_decompresses_our_output(
    kafka43: Oracle, codec: str, magic: int, data: bytes
) -> None:
    ours = compress(Codec.from_name(codec), data, magic=magic)

    theirs = kafka43.decompress(codec, ours, magic=magic)

    assert theirs == data


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize(("codec", "magic"), MAGICS)
def test_kafkas_output_is_decompressed(
    kafka43: Oracle, codec: str, magic: int, data: bytes
) -> None:
    theirs = kafka43.compress(codec, data, magic=magic)

    ours = decompress(Codec.from_name(codec), theirs, magic=magic)

    assert bytes(ours) == data


@pytest.mark.parametrize(("codec", "level"), LEVELS)
def test_levels_are_read_by_either_side(kafka43: Oracle, codec: str, level: int) -> None:
    data = DATA["a mixture"]

    ours = compress(Codec.from_name(codec), data, level=level)
    theirs = kafka43.compress(codec, data, level=level)

    assert kafka43.decompress(codec, ours) == data
    assert bytes(decompress(Codec.from_name(codec), theirs)) == data


def test_lz4_of_v0_read_as_v1_is_rejected_by_kafka(kafka43: Oracle) -> None:
    wrong = compress(Codec.LZ4, DATA["a text"], magic=0)

    with pytest.raises(OracleRefusalError):
        kafka43.decompress("lz4", wrong, magic=1)

    assert kafka43.decompress("lz4", wrong, magic=0) == DATA["a text"]


def test_lz4_of_v0_read_as_v1_is_rejected_by_us(kafka43: Oracle) -> None:
    wrong = kafka43.compress("lz4", DATA["a text"], magic=0)

    with pytest.raises(CorruptMessageError):
        decompress(Codec.LZ4, wrong, magic=1)

    assert bytes(decompress(Codec.LZ4, wrong, magic=0)) == DATA["a text"]
