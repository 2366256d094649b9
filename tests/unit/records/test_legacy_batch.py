"""v0 and v1 as batches: golden bytes, the offsets inside wrappers, fields patched in place."""

import tracemalloc
from struct import pack

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import (
    CorruptMessageError,
    InvalidRecordError,
    UnsupportedForMessageFormatError,
)
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec, compress
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.legacy_message import LegacyMessage, append_message
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import RecordBatch
from tests.unit.records.segments import v2

V0 = bytes.fromhex("0000000000000000 00000010 1fecd70a 00 00 00000001 6b 00000001 76")
V1 = bytes.fromhex(
    "0000000000000000 00000018 e4e321bc 01 00 00000000000003e8 00000001 6b 00000001 76"
)
OLD_CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)


def message(offset: int, *, magic: int = 1, attributes: int = 0, timestamp: int = 10) -> bytes:
    out = bytearray()
    append_message(
        out, LegacyMessage(offset, 0, magic, attributes, timestamp, None, memoryview(b"v"))
    )
    return bytes(out)


def wrapper(
    offset: int, inner: bytes | None, *, magic: int = 1, attributes: int = 1, timestamp: int = 10
) -> LegacyBatch:
    """Return a gzip wrapper over the bytes `inner`."""
    value = None if inner is None else memoryview(compress(Codec.GZIP, inner))
    out = bytearray()
    append_message(out, LegacyMessage(offset, 0, magic, attributes, timestamp, None, value))
    return LegacyBatch(out)


def offsets(batch: LegacyBatch) -> list[int]:
    return [record.offset for record in batch.records()]


def test_legacy_reads_a_v0_message() -> None:
    batch = LegacyBatch(b"..." + V0, 3)

    batch.ensure_valid()

    assert (batch.magic, batch.size, batch.end, batch.crc) == (0, 28, 31, 0x1FECD70A)
    assert (batch.codec, batch.timestamp_type) == (Codec.NONE, TimestampType.NO_TIMESTAMP)
    assert (batch.base_offset, batch.last_offset, batch.next_offset) == (0, 0, 1)
    assert (bytes(batch.data), batch.max_timestamp, batch.count) == (V0, -1, 1)
    assert list(batch.records()) == [Record(0, -1, TimestampType.NO_TIMESTAMP, b"k", b"v")]
    assert repr(batch) == (
        "LegacyBatch(magic=0, last_offset=0, size=28, attributes=0x00, position=3)"
    )


def test_legacy_reads_a_v1_message() -> None:
    batch = LegacyBatch(V1)

    assert batch.is_crc_valid()
    assert (batch.magic, batch.max_timestamp) == (1, 1000)
    assert list(batch.records()) == [Record(0, 1000, TimestampType.CREATE_TIME, b"k", b"v")]


def test_legacy_batch_has_no_producer_or_transaction() -> None:
    batch = LegacyBatch(V1)

    assert (batch.producer_id, batch.producer_epoch, batch.partition_leader_epoch) == (-1, -1, -1)
    assert (batch.base_sequence, batch.last_sequence, batch.delete_horizon_ms) == (-1, -1, None)
    assert not any((batch.has_producer_id, batch.is_transactional, batch.is_control))
    assert not batch.has_delete_horizon


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", (0, 1))
def test_legacy_batch_has_the_messages_of_a_wrapper(magic: LegacyMagic, codec: Codec) -> None:
    builder = LegacyBuilder(magic, base_offset=1025, codec=codec)
    for number in range(6):
        builder.append(b"k", b"%d" % number, timestamp=number)

    batch = LegacyBatch(builder.build())

    assert batch.is_wrapper
    assert (batch.base_offset, batch.last_offset, batch.count) == (1025, 1030, 6)
    assert offsets(batch) == [1025, 1026, 1027, 1028, 1029, 1030]
    assert [record.value for record in batch.records()] == [b"%d" % n for n in range(6)]


def test_relative_inner_offsets_count_back_from_that_of_the_wrapper() -> None:
    inner = b"".join(message(offset) for offset in range(6))

    assert offsets(wrapper(1030, inner)) == [1025, 1026, 1027, 1028, 1029, 1030]


def test_legacy_keeps_the_gaps_inside_a_wrapper() -> None:
    assert offsets(wrapper(1030, message(0) + message(2) + message(5))) == [1025, 1027, 1030]


def test_legacy_batch_has_its_count_and_base_offset_like_a_v2_batch() -> None:
    messages = (message(5), bytes(wrapper(6, message(0) + message(1)).data))
    views = [*batches(b"".join(messages)), RecordBatch(v2(b"a", b"b", b"c"))]

    assert [(batch.base_offset, batch.count) for batch in views] == [(5, 1), (5, 2), (0, 3)]


def test_wrapper_offset_0_is_that_of_the_first_message() -> None:
    assert offsets(wrapper(0, message(0) + message(1) + message(2))) == [0, 1, 2]


def test_legacy_is_invalid_when_more_is_inside_than_the_wrapper_offset_allows() -> None:
    batch = wrapper(1, message(0) + message(1) + message(2))

    with pytest.raises(InvalidRecordError, match=r"last offset inside .*0 to 1, found 2"):
        list(batch.records())


def test_legacy_moves_all_records_when_a_v1_wrapper_moves() -> None:
    batch = wrapper(0, message(0) + message(1) + message(2))
    batch.set_last_offset(500)

    assert offsets(batch) == [498, 499, 500]
    assert batch.is_crc_valid()


def test_legacy_reads_offsets_that_a_client_left_all_0() -> None:
    assert offsets(wrapper(7, message(0) + message(0))) == [7, 7]


def test_legacy_reads_v0_messages_inside_v1_since_old_brokers_mixed_them() -> None:
    batch = wrapper(6, message(0, magic=0) + message(1))

    found = [(record.offset, record.timestamp_type) for record in batch.records()]

    assert found == [(5, TimestampType.NO_TIMESTAMP), (6, TimestampType.CREATE_TIME)]


def test_messages_of_a_wrapper_have_its_log_append_time() -> None:
    batch = wrapper(1, message(0) + message(1))
    batch.set_log_append_time(99)

    found = [(record.timestamp, record.timestamp_type) for record in batch.records()]

    assert found == [(99, TimestampType.LOG_APPEND_TIME)] * 2
    assert batch.is_crc_valid()


def test_messages_of_a_wrapper_have_its_timestamp_type() -> None:
    batch = wrapper(0, message(0, attributes=8, timestamp=5))

    found = [(record.timestamp, record.timestamp_type) for record in batch.records()]

    assert found == [(5, TimestampType.CREATE_TIME)]


def test_restored_timestamp_restores_the_original_bytes() -> None:
    batch = LegacyBatch(bytearray(V1))
    batch.set_log_append_time(5)
    changed = bytes(batch.data)
    batch.set_max_timestamp(1000)

    assert changed != V1
    assert batch.data == V1


def test_checksum_is_not_recomputed_without_changes() -> None:
    batch = LegacyBatch(bytearray(V1))
    batch.view[12:16] = bytes(4)
    batch.set_max_timestamp(1000)

    assert batch.crc == 0


def test_legacy_has_no_timestamp_to_set_in_v0() -> None:
    with pytest.raises(UnsupportedForMessageFormatError, match="no timestamps"):
        LegacyBatch(bytearray(V0)).set_log_append_time(5)


# -- what is refused


@pytest.mark.parametrize(
    ("data", "problem"),
    (
        (V0[:25], "no room"),
        (V0[:-1], "message size"),
        (V0[:16] + b"\2" + V0[17:], "magic 0 or 1, found 2"),
        (V1[:8] + pack(">i", 21) + V1[12:], "22 to 24, found 21"),
    ),
)
def test_message_outside_its_buffer_is_rejected(data: bytes, problem: str) -> None:
    with pytest.raises(CorruptMessageError, match=problem):
        LegacyBatch(data)


def test_message_at_a_negative_position_is_rejected() -> None:
    with pytest.raises(CorruptMessageError, match="no room"):
        LegacyBatch(V0 + V0, -28)


def test_legacy_is_corrupt_when_a_byte_under_the_checksum_changes() -> None:
    batch = LegacyBatch(V0[:-1] + b"w")

    with pytest.raises(CorruptMessageError, match=r"checksum is wrong.*expected 1fecd70a"):
        batch.ensure_valid()

    assert not batch.is_crc_valid()


def test_legacy_is_invalid_when_its_lengths_do_not_fill_it() -> None:
    batch = LegacyBatch(V0[:-5] + bytes(4) + b"v")

    with pytest.raises(InvalidRecordError, match="byte 27 of the message: a message longer"):
        list(batch.records())


def test_legacy_is_invalid_when_its_offset_is_negative() -> None:
    with pytest.raises(InvalidRecordError, match="negative offset"):
        list(LegacyBatch(message(-1)).records())


@pytest.mark.parametrize(
    ("inner", "problem"),
    (
        (None, "found null"),
        (b"", "found 0 bytes"),
        (message(0)[:-1], "byte 0 inside the wrapper: a message size"),
        (message(0) + bytes(5), "byte 35 inside the wrapper: no room"),
        (message(0)[:16] + b"\2" + message(0)[17:], "byte 0 inside the wrapper: not an old"),
        (message(-1) + message(2), "offset inside a wrapper .*0 to 2, found -1"),
        (message(3) + message(2), "offset inside a wrapper .*0 to 2, found 3"),
        (message(-1), "last offset inside .*0 to 9, found -1"),
        (message(0, attributes=1), "compression inside"),
    ),
)
def test_wrapper_with_invalid_messages_is_rejected(inner: bytes | None, problem: str) -> None:
    with pytest.raises(InvalidRecordError, match=problem) as caught:
        list(wrapper(9, inner).records())

    assert (caught.value.position, caught.value.base_offset) == (0, 9)


def test_legacy_is_invalid_when_an_absolute_offset_inside_is_negative() -> None:
    with pytest.raises(InvalidRecordError, match=f"0 to {INT64_MAX}, found -1"):
        list(wrapper(9, message(-1, magic=0), magic=0).records())


def test_legacy_is_corrupt_when_a_checksum_inside_is_wrong() -> None:
    with pytest.raises(CorruptMessageError, match="checksum inside"):
        list(wrapper(0, message(0)[:-1] + b"w").records())


def test_legacy_is_invalid_when_it_claims_zstd() -> None:
    with pytest.raises(InvalidRecordError, match="zstd in an old message"):
        list(wrapper(0, message(0), attributes=4).records())


def test_wrapper_above_the_decompression_limit_is_rejected() -> None:
    batch = wrapper(9, message(0) * 100)

    with pytest.raises(CorruptMessageError, match="at most 3499 bytes"):
        list(batch.records(limit=3499))


def test_value_out_of_range_is_rejected_and_the_message_stays_valid() -> None:
    batch = LegacyBatch(bytearray(V1))

    for set_field, number in (
        (batch.set_last_offset, -1),
        (batch.set_log_append_time, INT64_MAX + 1),
    ):
        with pytest.raises(InvalidRecordError, match=r"to set .*expected"):
            set_field(number)

    assert bytes(batch.data) == V1


def test_wrapper_of_many_messages_is_opened_without_a_list_of_them() -> None:
    batch = wrapper(5, message(0) * 20_000)

    tracemalloc.start()
    next(batch.records())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20_000 * len(message(0)) * 3
