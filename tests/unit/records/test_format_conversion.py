"""Conversion up keeps everything; conversion down loses what Kafka loses and refuses zstd."""

from struct import pack

import pytest

from cordwood.core.errors import (
    InvalidRecordError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.compression import Codec, compress
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.format_conversion import (
    down_convert,
    ensure_can_be_written,
    up_convert,
    up_convert_produced,
)
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.legacy_message import LOG_APPEND_TIME_BIT, LegacyMessage, append_message
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import RecordBatch
from tests.unit.records.segments import changed, v2

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


THREE = [(10, 1000, b"10"), (11, 1100, b"11"), (14, 1400, b"14")]
THREE_UNDATED = [(10, -1, b"10"), (11, -1, b"11"), (14, -1, b"14")]


@pytest.mark.parametrize("codec", (Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
def test_up_conversion_keeps_offsets_timestamps_and_codec(codec: Codec) -> None:
    (batch,) = old(1, codec=codec)

    converted = RecordBatch(up_convert(batch))

    converted.ensure_valid()
    assert (converted.codec, converted.base_offset, converted.last_offset) == (codec, 10, 14)
    assert list(converted.records()) == list(batch.records())


def test_up_conversion_has_no_timestamps_when_the_source_is_v0() -> None:
    (batch,) = old(0, codec=Codec.GZIP)

    converted = RecordBatch(up_convert(batch))

    assert (converted.base_timestamp, converted.max_timestamp) == (-1, -1)
    assert summary([converted]) == THREE_UNDATED


def test_up_conversion_keeps_the_time_that_the_log_has_set() -> None:
    (batch,) = old(1, codec=Codec.GZIP, log_append_time_ms=77)

    converted = RecordBatch(up_convert(batch))

    assert converted.max_timestamp == 77
    assert list(converted.records()) == list(batch.records())


@pytest.mark.parametrize("attributes", (GZIP, GZIP | LOG_APPEND_TIME_BIT))
def test_up_conversion_gives_v0_messages_a_time_only_when_the_log_has_set_one(
    attributes: int,
) -> None:
    """Kafka's cleaner does the same: the time that the log has set is that of the whole batch."""
    batch = wrapper(message(0, magic=0), message(1), attributes=attributes)

    converted = RecordBatch(up_convert(batch))

    dated = converted.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert next(batch.records()).timestamp == -1
    assert [r.timestamp for r in converted.records()] == ([77, 77] if dated else [-1, 10])


@pytest.mark.parametrize("offsets", ((1, 0, 2), (0, 0)))
def test_up_conversion_refuses_offsets_that_do_not_increase(offsets: tuple[int, ...]) -> None:
    batch = wrapper(*(message(offset) for offset in offsets))

    with pytest.raises(InvalidRecordError, match="offset that does not fit"):
        up_convert(batch)
    with pytest.raises(InvalidRecordError, match="offset that does not follow"):
        down_convert([batch], 0)


@pytest.mark.parametrize("offsets", ((1, 0, 2), (0, 0)))
def test_up_conversion_of_produced_messages_numbers_them_afresh(offsets: tuple[int, ...]) -> None:
    batch = wrapper(*(message(offset) for offset in offsets))

    converted = RecordBatch(up_convert_produced([batch], BatchFields(base_offset=500)))

    assert [r.offset for r in converted.records()] == [500 + n for n in range(len(offsets))]


def test_up_conversion_refuses_a_timestamp_below_none() -> None:
    batch = wrapper(message(0, timestamp=-5))

    with pytest.raises(InvalidRecordError, match=r"timestamp .*found -5"):
        up_convert(batch)
    with pytest.raises(InvalidRecordError, match=r"timestamp .*found -5"):
        up_convert_produced([batch], BatchFields())


def test_up_conversion_of_produced_messages_makes_one_batch_of_them() -> None:
    fields = BatchFields(base_offset=500, codec=Codec.LZ4)

    converted = RecordBatch(up_convert_produced(old(1), fields))

    assert (converted.count, converted.codec) == (3, Codec.LZ4)
    assert summary([converted]) == [(500, 1000, b"10"), (501, 1100, b"11"), (502, 1400, b"14")]


@pytest.mark.parametrize(("magic", "records"), ((0, THREE_UNDATED), (1, THREE)))
@pytest.mark.parametrize("codec", (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
def test_down_conversion_loses_headers_and_producers_alone(
    codec: Codec, magic: LegacyMagic, records: list[tuple[int, int, bytes]]
) -> None:
    source = new(PRODUCER._replace(codec=codec, is_transactional=True))

    found = list(batches(down_convert([source], magic)))

    assert len(found) == (3 if codec is Codec.NONE else 1)
    assert all(batch.is_crc_valid() and batch.magic == magic for batch in found)
    assert [batch.codec for batch in found] == [codec] * len(found)
    assert found[-1].last_offset == 14
    assert summary(found) == records


def test_down_conversion_writes_the_same_bytes_as_an_old_producer() -> None:
    assert down_convert([new(BatchFields())], 1) == b"".join(batch.data for batch in old(1))


def test_down_conversion_keeps_the_time_that_the_log_has_set() -> None:
    source = new(BatchFields(log_append_time_ms=77))

    found = list(batches(down_convert([source], 1)))

    assert {(batch.max_timestamp, batch.timestamp_type) for batch in found} == {
        (77, TimestampType.LOG_APPEND_TIME)
    }


def test_down_conversion_copies_what_is_old_enough_with_its_bytes() -> None:
    older, newer = old(0, codec=Codec.GZIP), old(1, codec=Codec.GZIP)

    converted = down_convert([*older, *newer], 1, first_offset=99)

    assert converted == bytes(older[0].data) + bytes(newer[0].data)


def test_down_conversion_takes_the_timestamps_of_v1_to_v0() -> None:
    found = list(batches(down_convert(old(1), 0)))

    assert summary(found) == THREE_UNDATED
    assert {batch.timestamp_type for batch in found} == {TimestampType.NO_TIMESTAMP}


def test_down_conversion_leaves_out_what_lies_before_the_first_offset() -> None:
    found = list(batches(down_convert([new(BatchFields())], 1, first_offset=11)))

    assert summary(found) == THREE[1:]


def test_down_conversion_keeps_all_of_a_compressed_batch() -> None:
    source = new(BatchFields(codec=Codec.GZIP))

    found = list(batches(down_convert([source], 1, first_offset=12)))

    assert summary(found) == THREE


def test_down_conversion_writes_nothing_of_what_holds_nothing() -> None:
    marker = RecordBatch(
        control_batch(EndTransaction(is_commit=True, coordinator_epoch=1), PRODUCER, timestamp=5)
    )
    empty = RecordBatch(empty_batch(BatchFields(), last_offset=4, max_timestamp=5))

    assert down_convert([marker, empty, new(BatchFields())], 1, first_offset=15) == b""


@pytest.mark.parametrize("magic", (0, 1))
def test_down_conversion_refuses_a_timestamp_below_none(magic: LegacyMagic) -> None:
    """Readers take it and builders do not, in Kafka as here."""
    batch = RecordBatch(changed(v2(b"a", timestamp=0), BASE_TIMESTAMP_AT, pack(">q", -5)))

    assert [record.timestamp for record in batch.records()] == [-5]
    with pytest.raises(InvalidRecordError, match=r"timestamp .*found -5"):
        down_convert([batch], magic)


def test_down_conversion_refuses_zstd_in_an_old_message_unread() -> None:
    with pytest.raises(UnsupportedCompressionTypeError, match="offset 9 is zstd"):
        down_convert([wrapper(b"no messages", attributes=Codec.ZSTD)], 1)


def test_down_conversion_refuses_zstd() -> None:
    with pytest.raises(UnsupportedCompressionTypeError, match="offset 10 is zstd"):
        down_convert([new(BatchFields(codec=Codec.ZSTD))], 1)


@pytest.mark.parametrize(
    ("fields", "error"),
    (
        (PRODUCER, UnsupportedForMessageFormatError),
        (PRODUCER._replace(is_transactional=True), UnsupportedForMessageFormatError),
        (BatchFields(is_control=True), InvalidRecordError),
        (BatchFields(codec=Codec.ZSTD), UnsupportedCompressionTypeError),
    ),
)
def test_writing_into_an_older_format_is_refused_when_it_would_lose_something(
    fields: BatchFields, error: type[Exception]
) -> None:
    batch = new(fields)

    ensure_can_be_written(batch, 2)

    with pytest.raises(error):
        ensure_can_be_written(batch, 1)


def test_writing_into_an_older_format_is_allowed_when_nothing_depends_on_the_new() -> None:
    sources: list[AnyBatch] = [new(BatchFields()), *old(1)]

    for batch in sources:
        ensure_can_be_written(batch, 0)


def test_records_of_old_batches_have_no_sequence() -> None:
    assert next(old(1)[0].records()) == Record(10, 1000, CREATE, b"k", b"10")
