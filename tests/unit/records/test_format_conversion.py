"""Conversion to v2 loses nothing; an old format rejects batches that it would change."""

import pytest

from cordwood.core.errors import (
    InvalidRecordError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.compression import Codec, compress
from cordwood.records.format_conversion import (
    ensure_can_be_written,
    up_convert,
)
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.legacy_message import LOG_APPEND_TIME_BIT, LegacyMessage, append_message
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import RecordBatch

CREATE = TimestampType.CREATE_TIME
GZIP = int(Codec.GZIP)
BASE_TIMESTAMP_AT = 27
PRODUCER = BatchFields(producer_id=7, producer_epoch=1, base_sequence=5)


def old(magic: LegacyMagic, **fields: int | Codec | None) -> list[LegacyBatch]:
    """Return three records at 10, 11 and 14 in an old format."""
    builder = LegacyBuilder(magic, base_offset=10, **fields)  # type: ignore[arg-type] # by name
    for offset in (10, 11, 14):
        builder.append(b"k", b"%d" % offset, timestamp=offset * 100, offset=offset)
    return [batch for batch in batches(builder.build()) if isinstance(batch, LegacyBatch)]


def message(offset: int, *, magic: int = 1, timestamp: int = 10) -> bytes:
    out = bytearray()
    append_message(out, LegacyMessage(offset, 0, magic, 0, timestamp, None, memoryview(b"v")))
    return bytes(out)


def wrapper(*messages: bytes, attributes: int = GZIP) -> LegacyBatch:
    """Return a v1 wrapper at 9, of time 77, over messages that no builder would put there."""
    value = memoryview(compress(Codec.GZIP, b"".join(messages)))
    out = bytearray()
    append_message(out, LegacyMessage(9, 0, 1, attributes, 77, None, value))
    return LegacyBatch(out)


def new(fields: BatchFields) -> RecordBatch:
    """Return three records at 10, 11 and 14 in a v2 batch, one of them with a header."""
    builder = BatchBuilder(fields._replace(base_offset=10))
    for offset in (10, 11, 14):
        headers = [("h", b"x")] if offset == 11 else []
        builder.append(b"k", b"%d" % offset, timestamp=offset * 100, offset=offset, headers=headers)
    return RecordBatch(builder.build(last_offset=19))


def summary(found: list[AnyBatch]) -> list[tuple[int, int, bytes | None]]:
    return [(r.offset, r.timestamp, r.value) for batch in found for r in batch.records()]


THREE_UNDATED = [(10, -1, b"10"), (11, -1, b"11"), (14, -1, b"14")]


@pytest.mark.parametrize("codec", (Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
def test_up_conversion_keeps_offsets_timestamps_and_codec(codec: Codec) -> None:
    (batch,) = old(1, codec=codec)

    converted = RecordBatch(up_convert(batch, list(batch.records())))

    converted.ensure_valid()
    assert (converted.codec, converted.base_offset, converted.last_offset) == (codec, 10, 14)
    assert list(converted.records()) == list(batch.records())


def test_up_conversion_has_no_timestamps_when_the_source_is_v0() -> None:
    (batch,) = old(0, codec=Codec.GZIP)

    converted = RecordBatch(up_convert(batch, list(batch.records())))

    assert (converted.base_timestamp, converted.max_timestamp) == (-1, -1)
    assert summary([converted]) == THREE_UNDATED


def test_up_conversion_keeps_the_time_that_the_log_has_set() -> None:
    (batch,) = old(1, codec=Codec.GZIP, log_append_time_ms=77)

    converted = RecordBatch(up_convert(batch, list(batch.records())))

    assert converted.max_timestamp == 77
    assert list(converted.records()) == list(batch.records())


@pytest.mark.parametrize("attributes", (GZIP, GZIP | LOG_APPEND_TIME_BIT))
def test_up_conversion_timestamps_v0_messages_only_under_log_append_time(
    attributes: int,
) -> None:
    """Kafka's cleaner does the same: the time that the log has set is that of the whole batch."""
    batch = wrapper(message(0, magic=0), message(1), attributes=attributes)

    converted = RecordBatch(up_convert(batch, list(batch.records())))

    dated = converted.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert next(batch.records()).timestamp == -1
    assert [r.timestamp for r in converted.records()] == ([77, 77] if dated else [-1, 10])


@pytest.mark.parametrize("offsets", ((1, 0, 2), (0, 0)))
def test_conversion_rejects_offsets_that_do_not_increase(offsets: tuple[int, ...]) -> None:
    batch = wrapper(*(message(offset) for offset in offsets))

    with pytest.raises(InvalidRecordError, match="offset that does not fit"):
        up_convert(batch, list(batch.records()))


def test_up_conversion_rejects_a_timestamp_below_minus_one() -> None:
    batch = wrapper(message(0, timestamp=-5))

    with pytest.raises(InvalidRecordError, match=r"timestamp .*found -5"):
        up_convert(batch, list(batch.records()))


@pytest.mark.parametrize(
    ("fields", "error"),
    (
        (PRODUCER, UnsupportedForMessageFormatError),
        (PRODUCER._replace(is_transactional=True), UnsupportedForMessageFormatError),
        (BatchFields(is_control=True), InvalidRecordError),
        (BatchFields(codec=Codec.ZSTD), UnsupportedCompressionTypeError),
    ),
)
def test_writing_into_an_older_format_is_rejected_when_data_would_be_lost(
    fields: BatchFields, error: type[Exception]
) -> None:
    batch = new(fields)

    ensure_can_be_written(batch, 2)

    with pytest.raises(error):
        ensure_can_be_written(batch, 1)


def test_writing_into_an_older_format_is_allowed_when_no_data_is_lost() -> None:
    sources: list[AnyBatch] = [new(BatchFields()), *old(1)]

    for batch in sources:
        ensure_can_be_written(batch, 0)


def test_records_of_old_batches_have_no_sequence() -> None:
    assert next(old(1)[0].records()) == Record(10, 1000, CREATE, b"k", b"10")
