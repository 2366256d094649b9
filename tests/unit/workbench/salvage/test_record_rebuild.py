"""Records that can be parsed from a damaged batch."""

import pytest

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.record_batch import RecordBatch
from cordwood.workbench.salvage.record_rebuild import RecordLimits, readable_records, rebuild_batch
from tests.unit.workbench.salvage_samples import batch, harmed, headed, marker

RECORD = 14  # bytes: a length, 6 of its own, a key of 2 and a value of 5


def rescued(data: bytes) -> tuple[int, ...]:
    found = rebuild_batch(memoryview(data), headed(data))
    return () if found is None else found.offsets


def test_records_around_a_damaged_one_are_read() -> None:
    data = harmed(batch(10, 8), 61 + 3 * RECORD)

    assert rescued(data) == (10, 11, 12, 14, 15, 16, 17)


def test_rebuilt_batch_keeps_offsets_times_and_last_offset() -> None:
    data = harmed(batch(10, 8), 61 + 7 * RECORD)

    found = rebuild_batch(memoryview(data), headed(data))

    assert found is not None
    again = RecordBatch(found.data)
    assert (again.base_offset, again.last_offset, again.is_crc_valid()) == (10, 17, True)
    assert [(each.offset, each.timestamp, each.key) for each in again.records()][-1] == (
        16,
        1006,
        b"k6",
    )


def test_records_before_a_tear_are_read() -> None:
    data = batch(0, 8)[: 61 + 2 * RECORD + 4]

    assert rescued(data) == (0, 1)


def test_single_record_between_two_damaged_ones_is_read() -> None:
    data = harmed(batch(0, 8), 61 + 2 * RECORD, 61 + 4 * RECORD)

    assert rescued(data) == (0, 1, 3, 5, 6, 7)


def test_records_of_a_batch_with_gaps_are_read() -> None:
    builder = BatchBuilder(BatchFields())
    for offset in (0, 5, 9, 11, 14):
        builder.append(b"key", b"value", offset=offset, timestamp=1)

    assert rescued(harmed(bytes(builder.build()), 61)) == (5, 9, 11, 14)


def test_copied_record_does_not_replace_others() -> None:
    data = bytearray(batch(0, 8))
    at = 61 + 2 * RECORD
    data[at : at + RECORD] = data[61 + 6 * RECORD : 61 + 7 * RECORD]

    assert rescued(bytes(data)) == (0, 1, 3, 4, 5, 6, 7)


def test_record_with_an_impossible_time_is_left_out() -> None:
    builder = BatchBuilder(BatchFields(log_append_time_ms=5))
    builder.append(b"key", b"value", timestamp=100)
    builder.append(b"key", b"value", timestamp=3)
    data = bytearray(builder.build())
    data[27:35] = (50).to_bytes(8)

    assert rescued(bytes(data)) == (0,)


def test_last_records_may_be_missing() -> None:
    builder = BatchBuilder(BatchFields())
    builder.append(b"key", b"value", timestamp=1)

    assert rescued(harmed(bytes(builder.build(last_offset=7)), 17)) == (0,)


def test_empty_range_has_no_rows() -> None:
    assert rescued(batch()[:61] + bytes(40)) == ()
    assert list(readable_records(b"", RecordLimits(0, is_dense=True, latest_delta=0))) == []


@pytest.mark.parametrize(
    "data",
    (
        marker(3),
        batch(codec=Codec.GZIP),
        harmed(batch(), 21),
        harmed(batch(), 0, mask=0x80),
        harmed(batch(), 35, mask=0x80),
        harmed(batch(), 43, mask=0x80),
    ),
    ids=("marker", "compressed", "unknown bits", "offset", "time", "producer"),
)
def test_batch_with_an_impossible_header_is_not_rebuilt(data: bytes) -> None:
    assert rescued(data) == ()
