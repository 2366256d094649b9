"""Record sets are validated on the leader and receive their offsets."""

import pytest

from cordwood.core.errors import (
    CordwoodError,
    CorruptMessageError,
    InvalidRecordError,
    MessageTooLargeError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.legacy_builder import LegacyMagic
from cordwood.records.record import TimestampType
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log_config import LogConfig
from cordwood.storage.validation.log_validator import (
    ValidationParameters,
    target_codec,
    uncompressed_limit,
    validate,
)
from cordwood.storage.validation.record_rules import RejectedRecordsError
from tests.unit.storage.produced import (
    DEFAULTS,
    EPOCH,
    IDEMPOTENT,
    NOW,
    STAMPING,
    TIMES,
    TRANSACTIONAL,
    analyzed,
    appended,
    counted,
    offsets,
    old,
    only,
    patched,
    records,
    v2,
    wrapped,
)

AT_1000 = ValidationParameters(1000, EPOCH, NOW)
COORDINATOR = AT_1000._replace(origin=AppendOrigin.COORDINATOR)
LEGACY: tuple[LegacyMagic, ...] = (0, 1)
OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
CHANGED_CODEC = LogConfig(compression_type="lz4")


def marker() -> bytes:
    fields = BatchFields(producer_id=9, producer_epoch=2)
    return bytes(
        control_batch(EndTransaction(is_commit=True, coordinator_epoch=3), fields, timestamp=NOW)
    )


# -- in place


@pytest.mark.parametrize("codec", Codec)
def test_batch_is_stored_unchanged_except_its_header(codec: Codec) -> None:
    source = v2(codec, fields=TRANSACTIONAL)

    validated = appended(source)

    batch = only(validated)
    assert not validated.is_rebuilt
    assert validated.data[61:] == source[61:]
    assert validated.data[17:61] == source[17:61]
    assert batch.base_offset == 1000
    assert batch.last_offset == 1002
    assert batch.partition_leader_epoch == 7
    assert validated.headers[0].base_offset == 1000
    assert validated.last_offset == 1002


def test_batch_is_patched_in_the_callers_own_buffer() -> None:
    buffer = bytearray(v2() + b"cut off")
    info = analyzed(buffer)

    validated = validate(buffer, info, append=AT_1000, config=DEFAULTS, inspector=PlainInspector())

    assert validated.data == buffer[: info.size]
    assert buffer[:8] == (1000).to_bytes(8)


def test_batch_has_its_max_timestamp_and_last_offset() -> None:
    validated = appended(v2())

    assert validated.max_timestamp == NOW + 1
    assert validated.offset_of_max_timestamp == 1002
    assert validated.log_append_time_ms == -1


def test_batch_gets_its_true_max_timestamp_when_the_producer_was_wrong() -> None:
    validated = appended(patched(v2(), 35, NOW.to_bytes(8)))

    assert only(validated).max_timestamp == validated.max_timestamp == NOW + 1


def test_batch_without_timestamps_has_no_maximum() -> None:
    validated = appended(v2(times=(-1, -1)))

    assert validated.max_timestamp == -1
    assert validated.offset_of_max_timestamp == -1


@pytest.mark.parametrize("codec", Codec)
def test_batch_has_its_append_time_in_the_header_only(codec: Codec) -> None:
    source = v2(codec)

    validated = appended(source, STAMPING)

    batch = only(validated)
    assert batch.base_timestamp == TIMES[0]
    assert batch.max_timestamp == NOW
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp for record in records(validated)} == {NOW}
    assert validated.data[61:] == source[61:]
    assert validated[2:] == (NOW, 1002, NOW, False)


def test_batch_loses_an_attribute_that_only_the_log_may_set() -> None:
    validated = appended(v2(fields=BatchFields(log_append_time_ms=NOW)))

    assert only(validated).timestamp_type is TimestampType.CREATE_TIME
    assert validated.max_timestamp == NOW


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.ZSTD))
def test_batch_of_a_coordinator_gets_offsets_without_gaps(codec: Codec) -> None:
    validated = appended(v2(codec, offsets=(0, 2, 3)), append=COORDINATOR)

    assert offsets(validated) == [1000, 1001, 1002]
    assert validated.is_rebuilt


@pytest.mark.parametrize("codec", ("snappy", "uncompressed", "producer"))
def test_marker_stays_uncompressed_under_any_topic_config(codec: str) -> None:
    config = LogConfig(compression_type=codec)

    validated = appended(marker(), config, append=COORDINATOR)

    assert only(validated).codec is Codec.NONE
    assert only(validated).is_control
    assert not validated.is_rebuilt


# -- in place, old formats in a log of their own


@pytest.mark.parametrize("magic", LEGACY)
def test_each_message_has_its_own_offset(magic: LegacyMagic) -> None:
    validated = appended(old(magic), append=AT_1000._replace(magic=magic))

    assert offsets(validated) == [1000, 1001, 1002]
    assert not validated.is_rebuilt
    assert [header.last_offset for header in validated.headers] == [1000, 1001, 1002]
    assert validated.offset_of_max_timestamp == (1001 if magic else -1)


def test_each_message_has_the_append_time() -> None:
    validated = appended(old(1), STAMPING, append=AT_1000._replace(magic=1))

    assert {record.timestamp for record in records(validated)} == {NOW}
    assert validated.max_timestamp == NOW
    assert validated.offset_of_max_timestamp == 1000


def test_wrapper_gets_offsets_with_its_content() -> None:
    source = old(1, Codec.GZIP)

    validated = appended(source, append=AT_1000._replace(magic=1))

    assert offsets(validated) == [1000, 1001, 1002]
    assert not validated.is_rebuilt
    assert validated.headers[0].last_offset == 1002
    assert validated.data[8:] == source[8:]


@pytest.mark.parametrize("inner", ((0, 2, 3), (4, 5, 6)))
def test_wrapper_that_does_not_count_from_0_is_rebuilt(inner: tuple[int, ...]) -> None:
    source = old(1, Codec.GZIP, offsets=inner)

    validated = appended(source, append=AT_1000._replace(magic=1))

    assert offsets(validated) == [1000, 1001, 1002]
    assert validated.is_rebuilt


def test_wrapper_of_absolute_offsets_is_rebuilt() -> None:
    validated = appended(old(0, Codec.GZIP), append=AT_1000._replace(magic=0))

    assert offsets(validated) == [1000, 1001, 1002]
    assert validated.is_rebuilt


# -- rebuilt


def test_batch_is_compressed_as_the_topic_is_configured() -> None:
    validated = appended(v2(fields=IDEMPOTENT), LogConfig(compression_type="gzip"))

    batch = only(validated)
    assert batch.codec == Codec.GZIP
    assert batch.base_timestamp == TIMES[0]
    assert batch.max_timestamp == NOW + 1
    assert batch.producer_id == 9
    assert batch.producer_epoch == 2
    assert batch.base_sequence == 40
    assert batch.partition_leader_epoch == EPOCH
    assert batch.base_offset == 1000
    assert validated.is_rebuilt
    assert validated[2:4] == (NOW + 1, 1002)


def test_batch_is_uncompressed_when_the_topic_is_configured_so() -> None:
    validated = appended(v2(Codec.ZSTD), LogConfig(compression_type="uncompressed"))

    assert only(validated).codec is Codec.NONE


def test_batch_is_not_compressed_again_for_another_level() -> None:
    source = v2(Codec.GZIP)

    validated = appended(source, LogConfig(compression_type="gzip", compression_gzip_level=1))

    assert validated.data[61:] == source[61:]
    assert not validated.is_rebuilt


def test_batch_gets_its_append_time_when_it_is_rebuilt() -> None:
    config = LogConfig(
        compression_type="zstd", message_timestamp_type=TimestampType.LOG_APPEND_TIME
    )

    validated = appended(v2(), config)

    assert validated[2:] == (NOW, 1002, NOW, True)
    assert {record.timestamp for record in records(validated)} == {NOW}


@pytest.mark.parametrize("magic", LEGACY)
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_old_messages_become_one_batch(magic: LegacyMagic, codec: Codec) -> None:
    validated = appended(old(magic, codec))

    batch = only(validated)
    assert batch.codec == codec
    assert batch.partition_leader_epoch == EPOCH
    assert offsets(validated) == [1000, 1001, 1002]
    assert validated[2:4] == ((NOW + 1, 1002) if magic else (-1, -1))


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_batch_becomes_messages_when_the_log_has_an_old_format(codec: Codec) -> None:
    validated = appended(v2(codec), append=AT_1000._replace(magic=1))

    assert offsets(validated) == [1000, 1001, 1002]
    assert {batch.magic for batch in batches(validated.data)} == {1}
    assert validated[2:4] == (NOW + 1, 1002 if codec else 1001)


def test_batch_is_rejected_when_it_has_grown_too_large() -> None:
    source = v2(Codec.GZIP, times=(NOW,) * 100)
    config = LogConfig(compression_type="uncompressed", max_message_bytes=len(source))

    with pytest.raises(MessageTooLargeError):
        appended(source, config)


def test_batch_is_not_measured_again_when_it_is_stored_in_place() -> None:
    assert appended(v2(), LogConfig(max_message_bytes=1)).headers


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    (
        ("producer", Codec.ZSTD, (Codec.ZSTD, None)),
        ("uncompressed", Codec.ZSTD, (Codec.NONE, None)),
        ("gzip", Codec.NONE, (Codec.GZIP, 5)),
        ("snappy", Codec.NONE, (Codec.SNAPPY, None)),
        ("lz4", Codec.GZIP, (Codec.LZ4, 9)),
        ("zstd", Codec.NONE, (Codec.ZSTD, 3)),
    ),
)
def test_target_is_the_producers_codec_or_the_topics(
    name: str, source: Codec, expected: tuple[Codec, int | None]
) -> None:
    config = LogConfig(compression_type=name, compression_gzip_level=5)

    assert target_codec(config, source) == expected


# -- rejected


def errors_of(
    data: bytes, kind: type[CordwoodError], *, append: ValidationParameters = AT_1000
) -> list[str]:
    """Return the errors of an invalid set, for storage in place and for a rebuild."""
    texts = []
    for config in (DEFAULTS, CHANGED_CODEC):
        with pytest.raises(kind) as caught:
            appended(data, config, append=append)
        texts.append(str(caught.value))
    return texts


@pytest.mark.parametrize("data", (b"", b"cut off"))
def test_set_without_a_batch_is_rejected(data: bytes) -> None:
    errors_of(data, InvalidRecordError)


@pytest.mark.parametrize(
    "data",
    (v2() * 2, v2(Codec.GZIP) * 2, old(1, Codec.GZIP) * 2, old(0, Codec.LZ4) * 2,
     old(1) + old(1, Codec.GZIP)),
)  # fmt: skip
def test_record_set_of_several_batches_is_rejected_when_v2_or_compressed(data: bytes) -> None:
    assert "more than one batch" in errors_of(data, InvalidRecordError)[0]


def test_record_set_of_several_magics_is_rejected() -> None:
    assert "the magic differs" in errors_of(old(1) + old(0), InvalidRecordError)[0]


@pytest.mark.parametrize(("last_delta", "count"), ((0, 3), (15, 3), (-3, 3), (5, 6), (1, 2)))
def test_batch_is_rejected_when_the_numbers_of_records_and_offsets_differ(
    last_delta: int, count: int
) -> None:
    errors_of(counted(last_delta, count), InvalidRecordError)


def test_batch_is_accepted_when_the_numbers_of_records_and_offsets_agree() -> None:
    assert offsets(appended(counted(2, 3))) == [1000, 1001, 1002]


@pytest.mark.parametrize("origin", (AppendOrigin.CLIENT, AppendOrigin.COORDINATOR))
def test_batch_without_records_is_rejected(origin: AppendOrigin) -> None:
    data = bytes(empty_batch(BatchFields(), last_offset=0, max_timestamp=NOW))

    errors_of(data, InvalidRecordError, append=AT_1000._replace(origin=origin))


def test_batch_of_a_producer_with_a_gap_is_rejected() -> None:
    data = v2(Codec.GZIP, offsets=(0, 2, 3))

    assert "the number of offsets differs" in errors_of(data, InvalidRecordError)[0]


def test_control_batch_of_a_producer_is_rejected() -> None:
    assert "a producer sent a control batch" in errors_of(marker(), InvalidRecordError)[0]


def test_producer_id_without_a_sequence_is_rejected() -> None:
    data = patched(v2(fields=IDEMPOTENT), 53, b"\xff" * 4)

    assert "the sequence of producer 9 is negative" in errors_of(data, InvalidRecordError)[0]


def test_producer_id_without_a_sequence_is_accepted_from_a_coordinator() -> None:
    data = patched(v2(fields=IDEMPOTENT), 53, b"\xff" * 4)

    assert only(appended(data, append=COORDINATOR)).producer_id == 9


@pytest.mark.parametrize("magic", LEGACY)
@pytest.mark.parametrize("fields", (IDEMPOTENT, TRANSACTIONAL))
def test_producer_id_is_rejected_when_the_log_has_an_old_format(
    magic: LegacyMagic, fields: BatchFields
) -> None:
    append = AT_1000._replace(magic=magic)

    errors_of(v2(fields=fields), UnsupportedForMessageFormatError, append=append)


@pytest.mark.parametrize("magic", LEGACY)
def test_zstd_is_rejected_when_the_log_has_an_old_format(magic: LegacyMagic) -> None:
    append = AT_1000._replace(magic=magic)

    errors_of(v2(Codec.ZSTD), UnsupportedCompressionTypeError, append=append)


@pytest.mark.parametrize(
    "data",
    (
        patched(v2(), 61, b"\x7e"),
        wrapped(1, b""),
        wrapped(1, wrapped(1, old(1))),
    ),
    ids=("length", "empty wrapper", "wrapper in a wrapper"),
)
def test_invalid_records_are_rejected(data: bytes) -> None:
    errors_of(data, InvalidRecordError)


def test_wrong_checksum_inside_a_wrapper_is_rejected() -> None:
    inner = old(1)

    errors_of(wrapped(1, inner[:-1] + b"?"), CorruptMessageError)


def test_records_that_break_a_rule_of_the_topic_are_named() -> None:
    config = LogConfig(message_timestamp_after_max_ms=0)

    with pytest.raises(RejectedRecordsError) as caught:
        appended(v2(), config)

    assert [error.batch_index for error in caught.value.record_errors] == [1]


def test_rejected_set_is_unchanged() -> None:
    buffer = bytearray(old(1) + old(1, times=(NOW * 2,)))
    before = bytes(buffer)

    with pytest.raises(RejectedRecordsError):
        validate(
            buffer, analyzed(buffer), append=AT_1000._replace(magic=1), config=DEFAULTS,
            inspector=PlainInspector(),
        )  # fmt: skip

    assert buffer == before


def test_batch_that_becomes_hundreds_of_megabytes_is_rejected() -> None:
    """A gzip batch of 199 KB became 200 MiB, and took 564 MB of memory."""
    builder = BatchBuilder(BatchFields(codec=Codec.GZIP))
    builder.append(None, bytes(uncompressed_limit(LogConfig())), timestamp=NOW)
    bomb = bytes(builder.build())

    assert len(bomb) < LogConfig().max_message_bytes
    with pytest.raises(CorruptMessageError, match="larger than the limit"):
        appended(bomb)


def test_limit_of_a_batch_follows_the_topics_largest_one() -> None:
    limits = [uncompressed_limit(LogConfig(max_message_bytes=size << 20)) for size in (1, 8, 1_000)]

    assert [limit >> 20 for limit in limits] == [64, 128, 256]
