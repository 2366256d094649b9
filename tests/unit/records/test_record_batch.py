"""A v2 batch read in place: golden bytes, validation, fields patched in place."""

import pytest

from cordwood.core.binary import INT64_MAX, crc32c
from cordwood.core.errors import CorruptMessageError, InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.compression import Codec
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import RecordBatch

CREATE = TimestampType.CREATE_TIME
TWO = bytes.fromhex(
    "000000000000000a 00000045 00000003 02 b0db168e 0000 00000001 00000000000003e8"
    "00000000000003ed ffffffffffffffff ffff ffffffff 00000002"
    "14 00 00 00 04 6b31 04 7631 00 10 00 0a 02 04 6b32 01 00"
)
CAPTURED = bytes.fromhex(
    "0000000000000000 0000003b 00000001 02 0318a270 0000 00000000 0000015dff7b063c"
    "0000015dff7b063c ffffffffffffffff ffff ffffffff 00000001 12 00 00 00 01 06 313233 00"
)
TRANSACTIONAL = bytes.fromhex(
    "000000000000002a 0000003a 00000000 02 dd2fee59 0010 00000000 00000000000003e8"
    "00000000000003e8 0000000000000007 0001 00000005 00000001 10 00 00 00 02 61 02 62 00"
)
CLEANED = bytes.fromhex(
    "000000000000000a 0000003d 00000003 02 a8b086b8 0040 00000001 00000000055d4a80"
    "00000000000003ed ffffffffffffffff ffff ffffffff 00000001 16 00 a59aea55 02 04 6b32 01 00"
)
EMPTY = bytes.fromhex(
    "0000000000000064 00000031 00000002 02 741bbe18 0000 00000004 ffffffffffffffff"
    "00000000000004d2 0000000000000007 0001 00000005 00000000"
)


def changed(data: bytes, at: int, field: bytes) -> RecordBatch:
    """Return a batch with other bytes at one place and a checksum that fits them."""
    out = bytearray(data)
    out[at : at + len(field)] = field
    out[17:21] = crc32c(bytes(out[21:])).to_bytes(4)
    return RecordBatch(out)


@pytest.mark.parametrize("data", (TWO, CAPTURED, TRANSACTIONAL, CLEANED, EMPTY))
def test_unchanged_batch_is_valid(data: bytes) -> None:
    batch = RecordBatch(data)

    batch.ensure_valid()

    assert batch.is_crc_valid()
    assert batch.end == batch.size == len(data)
    assert batch.data == data


def test_batch_reads_every_field_of_the_header() -> None:
    batch = RecordBatch(b"..." + TRANSACTIONAL, 3)

    assert (batch.base_offset, batch.last_offset, batch.next_offset) == (42, 42, 43)
    assert (batch.batch_length, batch.size, batch.position, batch.magic) == (58, 70, 3, 2)
    assert (batch.partition_leader_epoch, batch.crc, batch.attributes) == (0, 0xDD2FEE59, 0x10)
    assert (batch.base_timestamp, batch.max_timestamp, batch.count) == (1000, 1000, 1)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 1, 5)
    assert (batch.last_sequence, batch.last_offset_delta, batch.codec) == (5, 0, Codec.NONE)
    assert batch.is_transactional
    assert batch.has_producer_id
    assert not batch.is_control
    assert not batch.has_delete_horizon
    assert repr(batch) == (
        "RecordBatch(offsets=42..42, count=1, size=70, attributes=0x0010, position=3)"
    )


def test_batch_yields_its_records_with_offsets_and_timestamps_of_their_own() -> None:
    assert list(RecordBatch(TWO).records()) == [
        Record(10, 1000, CREATE, b"k1", b"v1"),
        Record(11, 1005, CREATE, b"k2", None),
    ]


def test_batch_of_an_old_broker_has_its_records() -> None:
    assert list(RecordBatch(CAPTURED).records()) == [Record(0, 1503229838908, CREATE, None, b"123")]


def test_batch_keeps_record_timestamps_when_the_base_is_a_delete_horizon() -> None:
    batch = RecordBatch(CLEANED)

    assert batch.delete_horizon_ms == 90_000_000
    assert list(batch.records()) == [Record(11, 1005, CREATE, b"k2", None)]


def test_batch_of_none_keeps_offsets_and_sequences() -> None:
    batch = RecordBatch(EMPTY)

    assert (batch.base_offset, batch.last_offset, batch.count) == (100, 104, 0)
    assert (batch.base_sequence, batch.last_sequence, batch.delete_horizon_ms) == (5, 9, None)
    assert list(batch.records()) == []


def test_batch_counts_sequences_on_from_0_when_they_pass_the_largest() -> None:
    fields = BatchFields(producer_id=7, producer_epoch=0, base_sequence=(1 << 31) - 2)
    builder = BatchBuilder(fields)
    for _ in range(3):
        builder.append(None, b"v")

    batch = RecordBatch(builder.build())

    assert [record.sequence for record in batch.records()] == [(1 << 31) - 2, (1 << 31) - 1, 0]
    assert batch.last_sequence == 0


def test_batch_without_a_producer_has_no_sequences() -> None:
    assert RecordBatch(TWO).last_sequence == -1


def test_batch_wraps_timestamps_at_64_bits_like_kafka() -> None:
    batch = changed(TWO, 27, INT64_MAX.to_bytes(8))

    assert [record.timestamp for record in batch.records()] == [INT64_MAX, -(1 << 63) + 4]


@pytest.mark.parametrize("codec", Codec)
def test_records_are_the_same_under_each_codec(codec: Codec) -> None:
    builder = BatchBuilder(BatchFields(base_offset=10, codec=codec))
    for record in RecordBatch(TWO).records():
        builder.append_record(record)

    batch = RecordBatch(builder.build())

    assert batch.codec is codec
    assert list(batch.records()) == list(RecordBatch(TWO).records())


# -- what is refused


@pytest.mark.parametrize(
    ("data", "position", "problem"),
    (
        (TWO[:60], 0, "no room .*at least 61 bytes, found 60"),
        (TWO, 21, "no room"),
        (TWO, 99, "no room .*found 0"),
        (TWO, -1, "no room"),
        (TWO[:80], 0, "batch length .*49 to 68, found 69"),
        (TWO[:8] + bytes(4) + TWO[12:], 0, "batch length .*49 to 69, found 0"),
        (TWO[:16] + b"\1" + TWO[17:], 0, "not a v2 batch .*magic 2, found 1"),
    ),
)
def test_batch_outside_its_buffer_is_rejected(data: bytes, position: int, problem: str) -> None:
    with pytest.raises(CorruptMessageError, match=problem):
        RecordBatch(data, position)


def test_batch_is_corrupt_when_a_byte_under_the_checksum_changes() -> None:
    batch = RecordBatch(TWO[:-1] + b"\2")

    with pytest.raises(CorruptMessageError, match=r"checksum.*expected b0db168e") as caught:
        batch.ensure_valid()

    assert not batch.is_crc_valid()
    assert (caught.value.position, caught.value.base_offset) == (0, 10)


@pytest.mark.parametrize(
    ("at", "field", "problem"),
    (
        (0, "ffffffffffffffff", "offsets that cannot be right"),
        (0, "7fffffffffffffff", "offsets that cannot be right"),
        (23, "ffffffff", "offsets that cannot be right"),
        (23, "00000000", "record 1: an offset delta out of order .*expected 1 to 0, found 1"),
        (75, "00", "record 1: an offset delta out of order .*expected 1 to 1, found 0"),
        (64, "01", "record 0: an offset delta out of order .*found -1"),
        (57, "ffffffff", "record count .*found -1"),
        (57, "00000003", "record count .*0 to 2 in 20 bytes, found 3"),
        (57, "7fffffff", "record count"),
        (57, "00000001", "bytes remain after 1 records .*expected 11, found 20"),
        (57, "00000000", "bytes remain after 0 records"),
        (61, "12", "record 0, byte 10 of the records: a varint without an end"),
        (61, "16", "record 0, byte 11 of the records: a record longer than its fields"),
        (72, "12", "record 1, byte 11 of the records: a record length .*6 to 8, found 9"),
    ),
)
def test_batch_is_invalid_when_its_records_contradict_it(at: int, field: str, problem: str) -> None:
    batch = changed(TWO, at, bytes.fromhex(field))

    with pytest.raises(InvalidRecordError, match=problem) as caught:
        list(batch.records())

    assert caught.value.position == 0
    assert caught.value.base_offset == batch.base_offset


def test_batch_is_corrupt_when_its_codec_is_unknown() -> None:
    batch = changed(TWO, 21, b"\0\7")

    with pytest.raises(CorruptMessageError, match="unknown codec"):
        list(batch.records())


def test_batch_is_corrupt_when_its_records_are_larger_than_the_limit() -> None:
    builder = BatchBuilder(BatchFields(codec=Codec.ZSTD))
    builder.append(None, bytes(5_000))
    batch = RecordBatch(builder.build())

    with pytest.raises(CorruptMessageError, match="at most 5000 bytes"):
        list(batch.records(limit=5_000))


def test_batch_is_invalid_when_fewer_records_than_counted_are_compressed() -> None:
    builder = BatchBuilder(BatchFields(codec=Codec.GZIP))
    builder.append(None, bytes(100))
    batch = changed(bytes(builder.build()), 57, (2).to_bytes(4))

    with pytest.raises(InvalidRecordError, match="record 1, byte 109 of the records: a varint"):
        list(batch.records())


# -- what a broker patches


def test_batch_moves_without_another_checksum_when_a_broker_assigns_offsets() -> None:
    batch = RecordBatch(bytearray(TWO))
    batch.set_last_offset(500)
    batch.set_partition_leader_epoch(9)

    assert (batch.base_offset, batch.last_offset, batch.partition_leader_epoch) == (499, 500, 9)
    assert batch.is_crc_valid()
    assert batch.crc == RecordBatch(TWO).crc


def test_batch_is_dated_in_the_header_alone_when_the_log_sets_timestamps() -> None:
    batch = RecordBatch(bytearray(TWO))
    batch.set_log_append_time(7777)

    assert batch.is_crc_valid()
    assert (batch.base_timestamp, batch.max_timestamp) == (1000, 7777)
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert batch.payload == TWO[61:]
    assert {(record.timestamp, record.timestamp_type) for record in batch.records()} == {
        (7777, TimestampType.LOG_APPEND_TIME)
    }


def test_batch_is_dated_by_its_records_again_when_the_maximum_is_corrected() -> None:
    batch = RecordBatch(bytearray(TWO))
    batch.set_log_append_time(7777)
    batch.set_max_timestamp(1005)

    assert batch.data == TWO


def test_checksum_is_not_recomputed_without_changes() -> None:
    batch = changed(TWO, 0, TWO[:8])
    batch.view[17:21] = b"\0\0\0\0"
    batch.set_max_timestamp(1005)

    assert batch.crc == 0


def test_batch_keeps_its_other_attributes_when_it_is_dated() -> None:
    fields = BatchFields(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    batch = RecordBatch(empty_batch(fields, last_offset=3, max_timestamp=5))
    batch.set_log_append_time(6)

    assert batch.attributes == 0x18


@pytest.mark.parametrize("codec", tuple(Codec))
def test_signed_bytes_have_the_same_records(codec: Codec) -> None:
    builder = BatchBuilder(BatchFields(codec=codec))
    builder.append(b"k" * 200, b"\xff" * 200)
    data = builder.build()

    signed = RecordBatch(memoryview(data).cast("b"))

    assert list(signed.records()) == list(RecordBatch(data).records())


def test_value_out_of_range_is_rejected_and_the_batch_stays_valid() -> None:
    batch = RecordBatch(bytearray(TWO))

    for set_field, number in (
        (batch.set_base_offset, INT64_MAX),
        (batch.set_last_offset, 0),
        (batch.set_partition_leader_epoch, 1 << 31),
        (batch.set_log_append_time, INT64_MAX + 1),
    ):
        with pytest.raises(InvalidRecordError, match=r"to set .*expected"):
            set_field(number)

    assert bytes(batch.data) == TWO
