"""Batches are parsed as leniently as by Kafka's dump tool, and printed as one line each."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.decoder import Selection
from cordwood.records.record_batch import RecordBatch
from cordwood.workbench.dump.batch_lines import batch_at, batch_line, batch_ranges, walk_batches
from cordwood.workbench.file_window import WINDOW_BYTES
from tests.unit.records.segments import changed, legacy, packed
from tests.unit.workbench.dump_samples import batch, dumped, window_of


def test_line_of_a_batch_contains_its_header() -> None:
    fields = BatchFields(
        base_offset=10, partition_leader_epoch=3, producer_id=7, producer_epoch=1, base_sequence=5
    )
    builder = BatchBuilder(fields)
    builder.append(b"k", b"v", timestamp=1000)
    data = bytes(builder.build())

    line, is_valid = batch_line(dumped(data))

    assert is_valid
    assert line.decode() == (
        "baseOffset: 10 lastOffset: 10 count: 1 baseSequence: 5 lastSequence: 5 producerId: 7"
        " producerEpoch: 1 partitionLeaderEpoch: 3 isTransactional: false isControl: false"
        " deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1000 size: 70 magic: 2"
        f" compresscodec: none crc: {RecordBatch(data).crc} isvalid: true\n"
    )


def test_line_shows_a_delete_horizon_and_a_time_of_the_log() -> None:
    builder = BatchBuilder(BatchFields(delete_horizon_ms=123, log_append_time_ms=9))
    builder.append(b"k", None, timestamp=1000)

    line, _ = batch_line(dumped(bytes(builder.build())))

    assert b"deleteHorizonMs: OptionalLong[123] position: 0 LogAppendTime: 9 " in line


@pytest.mark.parametrize(
    ("magic", "label"), ((0, b"NoTimestampType: -1"), (1, b"CreateTime: 1000"))
)
def test_line_of_an_old_message_begins_with_its_offset(magic: int, label: bytes) -> None:
    line, is_valid = batch_line(dumped(legacy(0 if magic == 0 else 1, b"v", base_offset=4)))

    assert is_valid
    assert line.startswith(b"offset: 4 position: 0 %s size: " % label)


def test_time_of_the_log_in_an_old_message_is_named() -> None:
    assert b" LogAppendTime: 5 " in batch_line(dumped(legacy(1, b"v", log_append_time_ms=5)))[0]


def test_line_contains_the_result_of_the_checksum() -> None:
    line, is_valid = batch_line(dumped(batch()[:-1] + b"\xff"))

    assert not is_valid
    assert line.endswith(b"isvalid: false\n")


def test_line_ends_at_an_unknown_codec() -> None:
    line, is_valid = batch_line(dumped(changed(batch(), 21, b"\0\7")))

    assert not is_valid
    assert line.endswith(b"deleteHorizonMs: OptionalLong.empty")


def test_higher_magic_is_read_as_2() -> None:
    found = dumped(batch()[:16] + b"\x03" + batch()[17:])

    assert b" magic: 3 " in batch_line(found)[0]
    assert found.as_v2().magic == 2
    assert [record.key for record in found.as_v2().records()] == [b"k0", b"k1"]


def test_walk_ends_at_a_truncated_batch() -> None:
    data = batch(0) + batch(2) + batch(4)[:-1]

    assert [each.base_offset for each in walk_batches(window_of(data))] == [0, 2]
    assert [each.base_offset for each in walk_batches(window_of(data), len(batch(0)))] == [2]


def test_walk_ends_where_only_a_prefix_remains() -> None:
    assert batch_at(window_of(b"\0" * 17), 0) is None


def test_batch_with_an_impossible_size_is_rejected() -> None:
    with pytest.raises(CorruptMessageError, match="batch size"):
        batch_at(window_of(b"\0" * 18), 0)


def test_incomplete_header_is_damage() -> None:
    small = batch()[:8] + (20).to_bytes(4) + batch()[12:32]

    with pytest.raises(CorruptMessageError, match="a truncated header"):
        batch_at(window_of(small), 0)


def test_batch_is_selected_if_its_offset_range_overlaps() -> None:
    found, old = dumped(batch(10)), dumped(legacy(1, b"a", base_offset=10))

    assert found.is_selected(None)
    assert found.is_selected(Selection(first_offset=11, last_offset=20))
    assert not found.is_selected(Selection(first_offset=12))
    assert not found.is_selected(Selection(last_offset=9))
    assert old.is_selected(Selection(last_offset=3))
    assert not old.is_selected(Selection(first_offset=11))


def test_batch_ranges_have_whole_batches() -> None:
    data = b"".join(batch(2 * at) for at in range(10)) + batch()[:30]

    assert [bytes(each) for each in batch_ranges(window_of(data))] == [data[:-30]]


def test_batch_range_may_be_larger_than_a_window() -> None:
    builder = BatchBuilder()
    builder.append(None, bytes(WINDOW_BYTES), timestamp=1)
    data = batch(0) + bytes(builder.build()) + packed_one()

    assert [len(each) for each in batch_ranges(window_of(data))] == [
        len(batch(0)),
        len(data) - len(batch(0)) - len(packed_one()),
        len(packed_one()),
    ]


def packed_one() -> bytes:
    return packed(Codec.LZ4, 2, b"v")


def test_batch_ranges_stop_at_damage() -> None:
    with pytest.raises(CorruptMessageError):
        list(batch_ranges(window_of(batch(0) + b"\0" * 30)))
