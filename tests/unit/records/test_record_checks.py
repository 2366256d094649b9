"""The facts of a batch, found record by record."""

import pytest

from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.compression import Codec, compress
from cordwood.records.record_checks import BatchFacts, PlainInspector
from tests.unit.records.inspected import UNSOUND, at_start, three
from tests.unit.records.segments import changed, legacy

PLAIN = PlainInspector()


def facts(data: bytes | bytearray) -> BatchFacts:
    return PLAIN.inspect(at_start(data))


@pytest.mark.parametrize("codec", Codec)
def test_facts_cover_all_records(codec: Codec) -> None:
    assert facts(three(codec, base_offset=7)) == (3, 7, True, 1001, 1009, 1, 0)


def test_facts_have_the_stamp_when_the_log_dated_the_batch() -> None:
    found = facts(three(log_append_time_ms=5000))

    assert (found.min_timestamp, found.max_timestamp) == (5000, 5000)


def test_facts_have_no_timestamp_without_record_timestamps() -> None:
    builder = BatchBuilder()
    builder.append(None, None)

    assert facts(builder.build()) == (1, 0, True, -1, -1, 1, 0)


def test_facts_leave_out_records_without_a_timestamp() -> None:
    builder = BatchBuilder()
    builder.append(b"k", None)
    builder.append(b"k", None, timestamp=8)

    assert facts(builder.build()) == (2, 0, True, 8, 8, 0, 0)


def test_facts_keep_a_time_before_the_epoch_out_of_the_latest() -> None:
    data = changed(three(), 27, (-9000).to_bytes(8, signed=True))

    assert facts(data)[3:5] == (-9004, -1)


def test_facts_see_a_gap_between_records() -> None:
    builder = BatchBuilder()
    builder.append(None, b"a")
    builder.append(None, b"b", offset=2)

    assert not facts(builder.build()).is_sequential


def test_facts_see_a_gap_at_the_end() -> None:
    builder = BatchBuilder()
    builder.append(None, b"a")

    assert not facts(builder.build(last_offset=(1 << 31) - 1)).is_sequential


def test_facts_of_no_records_have_neither_times_nor_order() -> None:
    data = empty_batch(BatchFields(base_offset=3), last_offset=4, max_timestamp=9)

    assert facts(data) == (0, 3, False, -1, -1, 0, 0)


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.GZIP))
def test_facts_of_a_message_cover_its_records(codec: Codec) -> None:
    values = (b"a",) if codec is Codec.NONE else (b"a", b"b")
    count = len(values)

    found = facts(legacy(1, *values, codec=codec, base_offset=5))

    assert found == (count, 5, True, 1000, 999 + count, count, 0)


def test_facts_see_a_gap_inside_a_wrapper() -> None:
    inner = legacy(0, b"a") + legacy(0, b"b", base_offset=2)

    assert not facts(wrapper(0, inner)).is_sequential


def test_facts_see_offsets_out_of_order_inside_a_wrapper() -> None:
    inner = legacy(0, b"a", base_offset=1) + legacy(0, b"b") + legacy(0, b"c", base_offset=3)

    assert not facts(wrapper(0, inner)).is_sequential


@pytest.mark.parametrize("magic", (0, 1))
def test_facts_count_messages_of_a_magic_that_is_not_the_wrappers(magic: int) -> None:
    inner = legacy(0, b"a") + legacy(1, b"b", base_offset=1) + legacy(1, b"c", base_offset=2)

    assert facts(wrapper(magic, inner)).foreign == 2 - magic


@pytest.mark.parametrize("data", UNSOUND.values(), ids=UNSOUND.keys())
def test_invalid_batch_has_no_facts(data: bytes) -> None:
    with pytest.raises(BadRecordsError):
        facts(data)


def test_batch_above_the_limit_has_no_facts() -> None:
    with pytest.raises(CorruptMessageError, match="larger than the limit"):
        PLAIN.inspect(at_start(three(Codec.LZ4)), limit=10)


def wrapper(magic: int, inner: bytes) -> bytes:
    """Return messages inside a gzip wrapper of a magic that need not be theirs."""
    builder = legacy(1 if magic else 0, compress(Codec.GZIP, inner), base_offset=9)
    return changed(builder, 17, b"\1")
