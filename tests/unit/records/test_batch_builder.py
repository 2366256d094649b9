"""Building v2 batches: golden bytes, gaps, compacted batches, rejected input."""

import pytest

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.records import batch_builder as builder_module
from cordwood.records.batch_builder import BatchBuilder, BatchFields, emptied, empty_batch
from cordwood.records.compression import Codec
from cordwood.records.record import TimestampType
from cordwood.records.record_batch import RecordBatch
from tests.unit.records.encode_samples import encoded

PRODUCER = BatchFields(producer_id=7, producer_epoch=1, base_sequence=5)


def test_builder_writes_two_records_as_kafka_does() -> None:
    builder = BatchBuilder(BatchFields(base_offset=10, partition_leader_epoch=3))
    builder.append(b"k1", b"v1", timestamp=1000)
    builder.append(b"k2", None, timestamp=1005)

    assert builder.build().hex() == (
        "000000000000000a000000450000000302b0db168e00000000000100000000000003e8"
        "00000000000003edffffffffffffffffffffffffffff00000002"
        "1400000004"
        "6b31"
        "04"
        "7631"
        "00"
        "10000a02046b320100"
    )


def test_builder_writes_the_bytes_of_an_old_broker() -> None:
    builder = BatchBuilder(BatchFields(partition_leader_epoch=1))
    builder.append(None, b"123", timestamp=0x15DFF7B063C)

    assert builder.build().hex() == (
        "00000000000000000000003b00000001020318a2700000000000000000015dff7b063c"
        "0000015dff7b063cffffffffffffffffffffffffffff00000001"
        "12000000010631323300"
    )


def test_builder_writes_transactional_records_as_kafka_does() -> None:
    fields = PRODUCER._replace(base_offset=42, partition_leader_epoch=0, is_transactional=True)
    builder = BatchBuilder(fields)
    builder.append(b"a", b"b", timestamp=1000)

    assert builder.build().hex() == (
        "000000000000002a0000003a0000000002dd2fee5900100000000000000000000003e8"
        "00000000000003e8000000000000000700010000000500000001"
        "100000000261026200"
    )


def test_timestamps_are_relative_to_the_delete_horizon() -> None:
    fields = BatchFields(base_offset=10, partition_leader_epoch=3, delete_horizon_ms=90_000_000)
    builder = BatchBuilder(fields)
    builder.append(b"k2", None, timestamp=1005, offset=11)

    assert builder.build().hex() == (
        "000000000000000a0000003d0000000302a8b086b800400000000100000000055d4a80"
        "00000000000003edffffffffffffffffffffffffffff00000001"
        "1600a59aea5502046b320100"
    )


def test_builder_writes_an_empty_batch_of_61_bytes_for_its_producer() -> None:
    fields = PRODUCER._replace(base_offset=100, partition_leader_epoch=2)

    assert empty_batch(fields, last_offset=104, max_timestamp=1234).hex() == (
        "0000000000000064000000310000000202741bbe18000000000004ffffffffffffffff"
        "00000000000004d2000000000000000700010000000500000000"
    )


def test_builder_keeps_the_place_of_a_batch_that_compaction_emptied() -> None:
    builder = BatchBuilder(PRODUCER._replace(base_offset=3, base_sequence=10, codec=Codec.GZIP))
    builder.append(b"a", b"1", timestamp=11)
    builder.append(b"b", b"2", timestamp=12)

    batch = RecordBatch(emptied(RecordBatch(builder.build())))

    assert (batch.size, batch.count, batch.codec) == (61, 0, Codec.NONE)
    assert (batch.base_offset, batch.last_offset, batch.max_timestamp) == (3, 4, 12)
    assert (batch.base_sequence, batch.last_sequence, batch.base_timestamp) == (10, 11, -1)


def test_builder_empties_a_batch_dated_by_the_log_and_keeps_its_type() -> None:
    builder = BatchBuilder(BatchFields(log_append_time_ms=99, delete_horizon_ms=5))
    builder.append(b"a", None, timestamp=11)

    batch = RecordBatch(emptied(RecordBatch(builder.build())))

    assert (batch.timestamp_type, batch.max_timestamp) == (TimestampType.LOG_APPEND_TIME, 99)
    assert not batch.has_delete_horizon


def test_builder_keeps_offsets_and_sequences_when_compaction_drops_records() -> None:
    builder = BatchBuilder(PRODUCER._replace(base_offset=20, base_sequence=10))
    for key in (None, b"k", b"k", None):
        builder.append(key, b"v")
    original = RecordBatch(builder.build())

    cleaned = BatchBuilder(BatchFields.of(original))
    for record in original.records():
        if record.key is not None:
            cleaned.append_record(record)
    batch = RecordBatch(cleaned.build(last_offset=original.last_offset))

    assert (batch.base_offset, batch.last_offset, batch.count) == (20, 23, 2)
    assert [(r.offset, r.sequence) for r in batch.records()] == [(21, 11), (22, 12)]
    assert (batch.base_sequence, batch.last_sequence) == (10, 13)


def test_builder_keeps_records_dated_by_the_log_when_they_are_written_again() -> None:
    builder = BatchBuilder(BatchFields(log_append_time_ms=99))
    builder.append(None, b"v", timestamp=11)
    original = RecordBatch(builder.build())

    again = BatchBuilder(BatchFields.of(original))
    again.append_record(next(original.records()))

    assert (original.base_timestamp, original.max_timestamp) == (11, 99)
    assert list(RecordBatch(again.build()).records()) == list(original.records())


def test_builder_sets_the_bit_of_every_field() -> None:
    fields = PRODUCER._replace(
        codec=Codec.LZ4,
        log_append_time_ms=0,
        is_transactional=True,
        is_control=True,
        delete_horizon_ms=0,
    )

    assert fields.attributes == 0x7B


def test_uncompressed_size_is_known_before_the_batch_is_built() -> None:
    builder = BatchBuilder()
    builder.append(b"k", b"v", headers=[("a", b"b")])

    assert builder.uncompressed_size == len(builder.build())


def test_builder_compresses_at_the_given_level() -> None:
    value = bytes(range(256)) * 40
    sizes = []
    for level in (1, 9):
        builder = BatchBuilder(BatchFields(codec=Codec.GZIP, level=level))
        builder.append(None, value)
        sizes.append(len(builder.build()))

    assert sizes[0] != sizes[1]


def test_builder_wraps_deltas_when_timestamps_are_farthest_apart() -> None:
    builder = BatchBuilder()
    builder.append(None, None, timestamp=-1)
    builder.append(None, None, timestamp=INT64_MAX)

    batch = RecordBatch(builder.build())

    assert [record.timestamp for record in batch.records()] == [-1, INT64_MAX]


# -- what is refused


@pytest.mark.parametrize(
    ("fields", "problem"),
    (
        (BatchFields(is_transactional=True), "needs a producer id"),
        (BatchFields(producer_id=1, base_sequence=0), "needs a producer epoch"),
        (BatchFields(producer_id=1, producer_epoch=0), "needs a base sequence"),
    ),
)
def test_builder_with_an_incomplete_producer_is_rejected(fields: BatchFields, problem: str) -> None:
    with pytest.raises(InvalidRecordError, match=problem):
        BatchBuilder(fields)


@pytest.mark.parametrize(
    ("base_offset", "offset"),
    ((5, 4), (5, 5), (0, INT32_MAX + 1), (INT64_MAX - 2, INT64_MAX + 1)),
)
def test_builder_rejects_an_offset_outside_the_batch(base_offset: int, offset: int) -> None:
    builder = BatchBuilder(BatchFields(base_offset=base_offset))
    builder.append(None, None)

    with pytest.raises(InvalidRecordError, match="offset that does not fit"):
        builder.append(None, None, offset=offset)

    assert builder.count == 1


def test_builder_rejects_a_negative_offset() -> None:
    with pytest.raises(InvalidRecordError, match="offset that does not fit"):
        BatchBuilder(BatchFields(base_offset=-5)).append(None, None)


@pytest.mark.parametrize("timestamp", (-2, INT64_MAX + 1))
def test_builder_rejects_an_invalid_timestamp(timestamp: int) -> None:
    with pytest.raises(InvalidRecordError, match="timestamp"):
        BatchBuilder().append(None, None, timestamp=timestamp)


def test_builder_rejects_an_empty_batch() -> None:
    with pytest.raises(InvalidRecordError, match="without records"):
        BatchBuilder(BatchFields(delete_horizon_ms=5)).build()


@pytest.mark.parametrize("last_offset", (0, INT32_MAX + 1))
def test_builder_rejects_a_last_offset_that_contradicts_its_records(last_offset: int) -> None:
    builder = BatchBuilder()
    builder.append(None, None)
    builder.append(None, None)

    with pytest.raises(InvalidRecordError, match="last offset"):
        builder.build(last_offset=last_offset)


def test_builder_rejects_a_batch_above_the_largest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder_module, "LARGEST_BATCH", 100)
    builder = BatchBuilder()
    builder.append(None, bytes(100))

    with pytest.raises(InvalidRecordError, match="too large"):
        builder.build()


@pytest.mark.parametrize(
    ("name", "fields"),
    (
        ("partition_leader_epoch", BatchFields(partition_leader_epoch=1 << 31)),
        ("producer_id", PRODUCER._replace(producer_id=1 << 63)),
        ("producer_epoch", PRODUCER._replace(producer_epoch=1 << 15)),
        ("base_sequence", PRODUCER._replace(base_sequence=1 << 31)),
        ("log_append_time_ms", BatchFields(log_append_time_ms=1 << 63)),
        ("delete_horizon_ms", BatchFields(delete_horizon_ms=1 << 63)),
        ("base_offset", BatchFields(base_offset=1 << 63)),
    ),
)
def test_builder_names_the_field_when_a_number_does_not_fit(name: str, fields: BatchFields) -> None:
    with pytest.raises(InvalidRecordError, match=f"a {name} that does not fit its field"):
        BatchBuilder(fields)


@pytest.mark.parametrize(
    ("base_offset", "last_offset"), ((10, 9), (10, 1 << 40), (-1, 3), (INT64_MAX, INT64_MAX + 1))
)
def test_empty_batch_rejects_invalid_offsets(base_offset: int, last_offset: int) -> None:
    with pytest.raises(InvalidRecordError, match="last offset"):
        empty_batch(BatchFields(base_offset), last_offset=last_offset, max_timestamp=0)


def test_empty_batch_rejects_a_timestamp_of_more_than_64_bits() -> None:
    with pytest.raises(InvalidRecordError, match="timestamp"):
        empty_batch(BatchFields(), last_offset=0, max_timestamp=INT64_MAX + 1)


def test_builder_counts_the_bytes_of_wide_elements() -> None:
    builder = BatchBuilder()
    wide = memoryview(bytes(range(8))).cast("i")

    builder.append(wide, wide, headers=[("h", bytes(wide))])

    (record,) = RecordBatch(builder.build()).records()
    assert record.key == record.value == bytes(range(8))


@pytest.mark.parametrize(
    ("key", "more", "problem"),
    (
        ("text", {}, "a key is bytes, not text: encode 'text' first"),
        (b"k", {"headers": {"a": b"1"}}, "headers are pairs"),
        (b"k", {"headers": [("a", "1")]}, "a header value is bytes"),
        (b"k", {"timestamp": 1.5}, "whole milliseconds since 1970, not float"),
    ),
)
def test_rejected_record_is_not_added(key: bytes, more: dict[str, int], problem: str) -> None:
    builder = BatchBuilder()

    with pytest.raises(TypeError, match=problem):
        builder.append(key, b"v", **more)  # type: ignore[arg-type]  # the mistake to be refused
    builder.append(b"k", b"v")

    assert [record.key for record in RecordBatch(builder.build()).records()] == [b"k"]


@pytest.mark.parametrize("codec", ("zstd", 5, 9, -1))
def test_builder_rejects_an_unknown_codec(codec: Codec) -> None:
    with pytest.raises(SettingError, match="is not a codec; use Codec") as caught:
        BatchBuilder(BatchFields(codec=codec))

    assert caught.value.key == "codec"


def test_builder_rejects_a_record_at_a_negative_base_offset() -> None:
    with pytest.raises(InvalidRecordError, match="expected 0 to 2147483646, found -1"):
        BatchBuilder(BatchFields(base_offset=-1)).append(b"k", b"v")


def test_builder_continues_after_encoded_records() -> None:
    builder = BatchBuilder.of_encoded(encoded(b"a", b"b", timestamp=7), BatchFields(base_offset=5))

    builder.append(None, b"c", timestamp=9)

    records = list(RecordBatch(builder.build()).records())
    found = [(record.offset, record.timestamp, record.value) for record in records]
    assert found == [(5, 7, b"a"), (6, 7, b"b"), (7, 9, b"c")]


def test_split_builder_has_its_records_in_two_parts() -> None:
    builder = BatchBuilder(BatchFields(codec=Codec.GZIP))
    for n in range(5):
        builder.append(b"k", b"%d" % n, timestamp=100 - n, headers=[("h", None)])

    parts = builder.split(2)

    made = [list(RecordBatch(bytes(part.build())).records()) for part in parts]
    assert [[(each.offset, each.value, each.timestamp) for each in part] for part in made] == [
        [(0, b"0", 100), (1, b"1", 99)],
        [(0, b"2", 98), (1, b"3", 97), (2, b"4", 96)],
    ]
    assert {each.headers for part in made for each in part} == {(("h", None),)}
