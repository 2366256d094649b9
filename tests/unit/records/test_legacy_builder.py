"""Building v0 and v1: golden bytes, wrappers, rejected input."""

import pytest

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import InvalidRecordError, UnsupportedCompressionTypeError
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec, decompress
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.legacy_message import message_size, read_message


def inner_offsets(wrapper: bytearray, codec: Codec) -> list[int]:
    """Return the offsets inside a wrapper as they are written."""
    value = read_message(memoryview(wrapper), 0, len(wrapper)).value
    assert value is not None
    inner = memoryview(decompress(codec, value))
    offsets, at = [], 0
    while at < len(inner):
        end = at + message_size(inner, at, len(inner))
        offsets.append(read_message(inner, at, end).offset)
        at = end
    return offsets


def test_builder_writes_v0_as_kafka_does() -> None:
    builder = LegacyBuilder(0)
    builder.append(b"k", b"v")

    assert builder.build().hex() == "0000000000000000000000101fecd70a0000000000016b0000000176"


def test_builder_writes_v1_as_kafka_does() -> None:
    builder = LegacyBuilder(1)
    builder.append(b"k", b"v", timestamp=1000)

    assert builder.build().hex() == (
        "000000000000000000000018e4e321bc010000000000000003e8000000016b0000000176"
    )


def test_builder_writes_one_message_per_record_without_a_codec() -> None:
    builder = LegacyBuilder(1, base_offset=5)
    builder.append(None, b"a", timestamp=1)
    builder.append(b"k", None, timestamp=2, offset=8)

    found = list(batches(builder.build()))

    assert [(batch.last_offset, batch.max_timestamp) for batch in found] == [(5, 1), (8, 2)]


@pytest.mark.parametrize(("magic", "offsets"), ((0, [5, 6, 9]), (1, [0, 1, 4])))
def test_inner_offsets_are_relative_or_absolute_by_format(
    magic: LegacyMagic, offsets: list[int]
) -> None:
    builder = LegacyBuilder(magic, base_offset=5, codec=Codec.GZIP)
    for offset in (5, 6, 9):
        builder.append(None, b"v", offset=offset)

    wrapper = builder.build()

    assert next(batches(wrapper)).last_offset == 9
    assert inner_offsets(wrapper, Codec.GZIP) == offsets


def test_builder_dates_the_wrapper_by_the_latest_inside() -> None:
    builder = LegacyBuilder(1, codec=Codec.SNAPPY)
    for timestamp in (7, 9, 8):
        builder.append(None, b"v", timestamp=timestamp)

    assert next(batches(builder.build())).max_timestamp == 9


def test_builder_dates_all_the_same_when_the_log_sets_timestamps() -> None:
    builder = LegacyBuilder(1, codec=Codec.LZ4, log_append_time_ms=77)
    builder.append(None, b"v", timestamp=5)

    (batch,) = batches(builder.build())

    assert (batch.max_timestamp, batch.attributes) == (77, 0x0B)
    assert [record.timestamp for record in batch.records()] == [77]


def test_builder_writes_the_wrong_lz4_header_checksum_in_v0_alone() -> None:
    builders = [LegacyBuilder(0, codec=Codec.LZ4), LegacyBuilder(1, codec=Codec.LZ4)]
    for builder in builders:
        builder.append(None, b"v")

    written = [bytes(builder.build()) for builder in builders]

    assert [b"\x04\x22\x4d\x18\x60\x40\x1a" in data for data in written] == [True, False]
    assert [b"\x04\x22\x4d\x18\x60\x40\x82" in data for data in written] == [False, True]


def test_builder_keeps_the_v0_attributes_free_of_a_timestamp_type() -> None:
    builder = LegacyBuilder(0, codec=Codec.GZIP, log_append_time_ms=77)
    builder.append(None, b"v")

    assert next(batches(builder.build())).attributes == 1


def test_builder_compresses_at_the_given_level() -> None:
    value = bytes(range(256)) * 40
    sizes = []
    for level in (1, 9):
        builder = LegacyBuilder(1, codec=Codec.GZIP, level=level)
        builder.append(None, value)
        sizes.append(len(builder.build()))

    assert sizes[0] != sizes[1]


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.GZIP))
def test_builder_without_records_returns_no_bytes(codec: Codec) -> None:
    assert LegacyBuilder(1, codec=codec).build() == b""


def test_builder_rejects_zstd() -> None:
    with pytest.raises(UnsupportedCompressionTypeError, match="magic 2, not 1"):
        LegacyBuilder(1, codec=Codec.ZSTD)


@pytest.mark.parametrize(
    ("base_offset", "offset"),
    ((5, 4), (5, 5), (0, INT32_MAX + 1), (INT64_MAX - 2, INT64_MAX + 1)),
)
def test_builder_rejects_an_offset_that_does_not_follow(base_offset: int, offset: int) -> None:
    builder = LegacyBuilder(1, base_offset=base_offset)
    builder.append(None, None)

    with pytest.raises(InvalidRecordError, match="does not follow"):
        builder.append(None, None, offset=offset)


@pytest.mark.parametrize("timestamp", (-2, INT64_MAX + 1))
def test_builder_rejects_an_invalid_timestamp(timestamp: int) -> None:
    with pytest.raises(InvalidRecordError, match="timestamp"):
        LegacyBuilder(1).append(None, None, timestamp=timestamp)


def test_legacy_builder_counts_the_bytes_of_wide_elements() -> None:
    builder = LegacyBuilder(1)
    wide = memoryview(bytes(range(8))).cast("i")

    builder.append(wide, wide)

    (batch,) = batches(builder.build())
    (record,) = batch.records()
    assert record.key == record.value == bytes(range(8))
