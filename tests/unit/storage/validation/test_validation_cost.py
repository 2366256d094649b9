"""A record set is small if its validation takes less than about 1 ms."""

import gzip

import pytest

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec, compress
from cordwood.records.record_batch import HEADER_SIZE
from cordwood.storage.log_config import LogConfig
from cordwood.storage.validation.validation_cost import (
    COMPILED,
    OLD_FORMAT,
    PACKED,
    PLAIN,
    REBUILT,
    UNPACKED,
    is_small,
)
from tests.unit.storage.produced import DEFAULTS, old, patched

LZ4 = LogConfig(compression_type="lz4")
UNCOMPRESSED = LogConfig(compression_type="uncompressed")
MANY = 10**6


def sized(size: int, codec: Codec = Codec.NONE, *, count: int = 1) -> bytes:
    """Return a batch whose uncompressed records have about `size` bytes, and at most that."""
    builder = BatchBuilder(BatchFields(codec=codec))
    for left in range(count, 0, -1):
        value = b"v" * (size - 16 - 8 * (count - 1)) if left == 1 else b""
        builder.append(None, value)
    return bytes(builder.build())


def whole(size: int) -> bytes:
    """Return an uncompressed batch of exactly `size` bytes, its header included."""
    batch = sized(size - HEADER_SIZE)
    return sized(size - HEADER_SIZE + size - len(batch))


def with_records(data: bytes, records: bytes, codec: Codec) -> bytes:
    """Return a batch with other packed records."""
    size = HEADER_SIZE + len(records) - 12
    header = data[:8] + size.to_bytes(4) + data[12:HEADER_SIZE]
    return patched(header + records, 21, codec.to_bytes(2))


def test_sizes_of_the_samples_are_exact() -> None:
    assert len(whole(PLAIN.size)) == PLAIN.size


@pytest.mark.parametrize(
    ("data", "config", "is_compiled", "expected"),
    (
        pytest.param(whole(PLAIN.size), DEFAULTS, False, True, id="plain, at the size"),
        pytest.param(whole(PLAIN.size + 1), DEFAULTS, False, False, id="plain, above the size"),
        pytest.param(whole(COMPILED.size), DEFAULTS, True, True, id="compiled, at the size"),
        pytest.param(whole(COMPILED.size + 1), DEFAULTS, True, False, id="compiled, above it"),
        pytest.param(
            sized(9000, count=PLAIN.records), DEFAULTS, False, True, id="plain, at the records"
        ),
        pytest.param(
            sized(9000, count=PLAIN.records + 1), DEFAULTS, False, False, id="plain, above them"
        ),
        pytest.param(
            sized(9000, count=COMPILED.records), DEFAULTS, True, True, id="compiled, at the records"
        ),
        pytest.param(
            sized(9000, count=COMPILED.records + 1), DEFAULTS, True, False, id="compiled, above"
        ),
        pytest.param(whole(REBUILT.size), LZ4, True, True, id="recompressed, at the size"),
        pytest.param(whole(REBUILT.size + 1), LZ4, True, False, id="recompressed, above the size"),
        pytest.param(
            sized(3000, count=REBUILT.records + 1), LZ4, True, False, id="recompressed, records"
        ),
        pytest.param(
            sized(9000, Codec.LZ4), UNCOMPRESSED, True, False, id="stored uncompressed, above"
        ),
        pytest.param(sized(9000, Codec.LZ4), LZ4, True, True, id="stored as it is"),
        pytest.param(whole(200) * 2, DEFAULTS, True, False, id="several batches"),
        pytest.param(old(1), DEFAULTS, True, True, id="old messages"),
        pytest.param(old(1) * (OLD_FORMAT // len(old(1)) + 1), DEFAULTS, True, False, id="many"),
        pytest.param(old(1, Codec.GZIP), DEFAULTS, True, False, id="old wrapper"),
        pytest.param(b"", DEFAULTS, True, True, id="no batch"),
        pytest.param(whole(COMPILED.size + 1)[:-1], DEFAULTS, True, True, id="no whole batch"),
        pytest.param(patched(whole(99), 16, b"\x09"), DEFAULTS, True, True, id="unknown magic"),
        pytest.param(patched(whole(99), 22, b"\x07"), DEFAULTS, True, False, id="unknown codec"),
    ),
)
def test_small_set_is_within_the_limits_of_its_case(
    data: bytes,
    config: LogConfig,
    is_compiled: bool,  # noqa: FBT001 - a column of the table
    expected: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert is_small(memoryview(data), config, is_compiled=is_compiled) is expected


def test_compressed_set_above_its_received_size_is_not_small() -> None:
    frame = compress(Codec.ZSTD, sized(40_000)[HEADER_SIZE:])
    skipped = b"\x50\x2a\x4d\x18" + PACKED.to_bytes(4, "little") + bytes(PACKED)
    small = with_records(sized(99, Codec.ZSTD), frame, Codec.ZSTD)
    large = with_records(sized(99, Codec.ZSTD), frame + skipped, Codec.ZSTD)

    found = [is_small(memoryview(each), DEFAULTS, is_compiled=True) for each in (small, large)]

    assert found == [True, False]


def test_batch_with_offset_gaps_counts_as_rebuilt() -> None:
    data = patched(whole(REBUILT.size + 1), 23, (9).to_bytes(4))

    assert not is_small(memoryview(data), DEFAULTS, is_compiled=True)


@pytest.mark.parametrize("codec", tuple(Codec)[1:])
def test_compressed_set_is_small_when_its_records_are(codec: Codec) -> None:
    small, large = sized(UNPACKED - 99, codec), sized(UNPACKED + 99, codec)

    found = [is_small(memoryview(each), DEFAULTS, is_compiled=True) for each in (small, large)]

    assert found == [True, False]


@pytest.mark.parametrize("codec", tuple(Codec)[1:])
def test_bomb_of_little_bytes_is_not_small(codec: Codec) -> None:
    data = sized(8 * MANY, codec)

    assert not is_small(memoryview(data), DEFAULTS, is_compiled=True)


def test_gzip_bomb_whose_last_member_is_small_is_not_small() -> None:
    packed = gzip.compress(bytes(MANY)) + gzip.compress(b"")
    data = with_records(sized(99, Codec.GZIP), packed, Codec.GZIP)

    assert not is_small(memoryview(data), DEFAULTS, is_compiled=True)


def test_zstd_without_a_content_size_is_measured() -> None:
    """A frame of one block, whose framing allows 128 KiB, as Java's client writes it."""
    records = bytes(sized(200)[HEADER_SIZE:])
    frame = compress(Codec.ZSTD, records)
    assert frame[4] == 0x20 and len(records) < 256  # noqa: PT018 - one fact: a one-byte size
    unsized = frame[:4] + b"\x00\x58" + frame[6:]
    data = with_records(sized(200, Codec.ZSTD), unsized, Codec.ZSTD)

    assert is_small(memoryview(data), DEFAULTS, is_compiled=True)


@pytest.mark.parametrize("codec", (Codec.GZIP, Codec.LZ4, Codec.ZSTD))
def test_damaged_records_are_not_small(codec: Codec) -> None:
    data = with_records(sized(99, codec), b"damaged" * 9, codec)

    assert not is_small(memoryview(data), DEFAULTS, is_compiled=True)
