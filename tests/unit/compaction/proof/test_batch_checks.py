"""Rewritten headers and records: allowed and forbidden differences."""

import pytest

from cordwood.compaction.proof.batch_checks import (
    SurvivingRecords,
    header_differences,
    record_differences,
)
from cordwood.compaction.proof.batch_reader import LocatedBatch, SegmentFile
from cordwood.records.batch_header import read_header
from cordwood.records.compression import Codec
from cordwood.records.record import Record, TimestampType
from tests.unit.compaction.both_sides import changed, without
from tests.unit.compaction.compaction_samples import HORIZON, NOW, batch, empty, old, sent

WAS = sent(4, "a1 b1 c1")
NOW_IS = without(WAS, 4)
LEFT = SurvivingRecords(2, 5, 6, NOW + 2)


def found(data: bytes) -> LocatedBatch:
    header = read_header(data)
    assert header is not None
    return LocatedBatch(header, memoryview(data), at=0, file=SegmentFile(0, "", len(data), 0, 0))


def wrongs(
    after: bytes,
    *,
    before: bytes = WAS,
    left: SurvivingRecords = LEFT,
    horizon_ms: int | None = None,
) -> list[str]:
    differences = header_differences(found(before), found(after), left=left, horizon_ms=horizon_ms)
    return [each.what for each in differences]


def test_a_filtered_batch_keeps_its_fields() -> None:
    assert wrongs(NOW_IS) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    (
        ({"partition_leader_epoch": 3}, "the partition leader epoch of a batch has changed"),
        ({"producer_id": 2}, "the producer id of a batch has changed"),
        ({"producer_epoch": 2}, "the producer epoch of a batch has changed"),
        ({"base_sequence": 2}, "the base sequence of a batch has changed"),
        ({"base_offset": 3}, "the base offset of a batch has changed"),
        ({"is_transactional": False}, "the transactional bit of a batch has changed"),
        ({"is_control": True}, "the control bit of a batch has changed"),
        ({"codec": Codec.LZ4}, "the codec of a batch has changed"),
        ({"delete_horizon_ms": HORIZON}, "the delete horizon is wrong"),
    ),
)
def test_a_field_that_has_changed_is_named(fields: dict[str, object], words: str) -> None:
    assert wrongs(changed(NOW_IS, **fields)) == [words]


def test_the_kind_of_timestamps_may_not_change() -> None:
    stamped = changed(NOW_IS, log_append_time_ms=NOW + 2)

    assert wrongs(stamped) == ["the kind of timestamps of a batch has changed"]


def test_the_last_offset_may_not_change() -> None:
    shorter = without(sent(4, "a1 b1"), 4)

    assert "the last offset of a batch has changed" in wrongs(shorter)


def test_latest_timestamp_is_that_of_the_surviving_records() -> None:
    assert wrongs(without(WAS, 6)) == ["the latest time is not that of the records"]


def test_the_latest_time_of_a_broker_stays() -> None:
    before = changed(WAS, log_append_time_ms=NOW + 9)

    assert wrongs(without(before, 4), before=before) == []


def test_delete_horizon_must_be_the_planned_one() -> None:
    assert wrongs(without(WAS, 4, horizon_ms=HORIZON), horizon_ms=HORIZON) == []
    assert wrongs(NOW_IS, horizon_ms=HORIZON) == ["the delete horizon is wrong"]


def test_an_empty_batch_has_neither_codec_nor_horizon() -> None:
    before = changed(WAS, codec=Codec.ZSTD)

    assert wrongs(empty(before), before=before, left=SurvivingRecords(), horizon_ms=HORIZON) == []


def test_old_batch_becomes_a_v2_batch_from_its_first_to_its_last_surviving_record() -> None:
    before = old(4, "a1 b1 c1", magic=1, codec=Codec.LZ4)
    after = changed(batch(5, "b1 c1", time=NOW + 1), codec=Codec.LZ4)

    assert wrongs(after, before=before) == []
    assert wrongs(before, before=before, left=LEFT) == [
        "the base offset of a batch has changed",
        "a batch has an old format",
    ]


def test_empty_batch_of_an_old_wrapper_may_have_any_base_offset() -> None:
    before = old(4, "a1 b1", codec=Codec.GZIP)

    assert wrongs(empty(batch(4, "a1 b1")), before=before, left=SurvivingRecords()) == []


@pytest.mark.parametrize("name", ("timestamp", "key", "value", "headers"))
def test_records_differ_in_each_field_visible_to_consumers(name: str) -> None:
    values = {"timestamp": 1, "key": b"k", "value": b"v", "headers": ()}
    one, other = (
        {**values, "offset": 1, "timestamp_type": TimestampType.CREATE_TIME} for _ in "12"
    )
    other[name] = None

    (wrong,) = record_differences(Record(**one), Record(**other))  # type: ignore[arg-type]  # of any kind

    assert wrong.what == f"the {name} of a record has changed"


def test_a_long_value_is_shown_in_part() -> None:
    one = Record(0, 0, TimestampType.CREATE_TIME, b"k", bytes(100))
    other = Record(0, 0, TimestampType.CREATE_TIME, b"k", None)

    (wrong,) = record_differences(one, other)

    assert wrong.expected.endswith("…")
    assert len(wrong.expected) < 50


def with_unused_bit(data: bytes) -> bytes:
    return data[:21] + bytes([data[21] ^ 1]) + data[22:]


def test_unused_attribute_bits_are_kept_or_cleared() -> None:
    assert wrongs(with_unused_bit(NOW_IS)) == ["unused attribute bits of a batch are set"]
    assert wrongs(NOW_IS, before=with_unused_bit(WAS)) == []
    assert wrongs(with_unused_bit(NOW_IS), before=with_unused_bit(WAS)) == []
