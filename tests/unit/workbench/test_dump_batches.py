"""Batches are seen as Kafka's dump tool sees them: leniently, and each as one line."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch import RecordBatch
from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.records.chunk import Selection
from cordwood.records.compression import Codec
from cordwood.workbench.dump_batches import batch_at, batch_line, stretches, walk
from cordwood.workbench.windows import WINDOW_BYTES
from tests.unit.records.segments import changed, legacy, packed
from tests.unit.workbench.dump_samples import batch, dumped, window_of


def test_line_of_a_batch_says_all_that_its_header_says() -> None:
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


def test_line_says_when_the_checksum_is_wrong() -> None:
    line, is_valid = batch_line(dumped(batch()[:-1] + b"\xff"))

    assert not is_valid
    assert line.endswith(b"isvalid: false\n")


def test_line_ends_at_a_codec_that_nobody_knows() -> None:
    line, is_valid = batch_line(dumped(changed(batch(), 21, b"\0\7")))

    assert not is_valid
    assert line.endswith(b"deleteHorizonMs: OptionalLong.empty")


def test_higher_magic_is_read_as_2() -> None:
    found = dumped(batch()[:16] + b"\x03" + batch()[17:])

    assert b" magic: 3 " in batch_line(found)[0]
    assert found.as_v2().magic == 2
    assert [record.key for record in found.as_v2().records()] == [b"k0", b"k1"]


def test_walk_goes_from_batch_to_batch_until_one_is_cut_off() -> None:
    data = batch(0) + batch(2) + batch(4)[:-1]

    assert [each.base_offset for each in walk(window_of(data))] == [0, 2]
    assert [each.base_offset for each in walk(window_of(data), len(batch(0)))] == [2]


def test_walk_ends_where_only_a_prefix_remains() -> None:
    assert batch_at(window_of(b"\0" * 17), 0) is None


def test_walk_stops_at_a_size_that_no_batch_can_have() -> None:
    with pytest.raises(CorruptMessageError, match="batch size"):
        batch_at(window_of(b"\0" * 18), 0)


def test_header_that_is_cut_off_is_damage() -> None:
    small = batch()[:8] + (20).to_bytes(4) + batch()[12:32]

    with pytest.raises(CorruptMessageError, match="header that is cut off"):
        batch_at(window_of(small), 0)


def test_batch_is_wanted_when_a_record_of_it_may_be() -> None:
    found, old = dumped(batch(10)), dumped(legacy(1, b"a", base_offset=10))

    assert found.is_wanted(None)
    assert found.is_wanted(Selection(first_offset=11, last_offset=20))
    assert not found.is_wanted(Selection(first_offset=12))
    assert not found.is_wanted(Selection(last_offset=9))
    assert old.is_wanted(Selection(last_offset=3))
    assert not old.is_wanted(Selection(first_offset=11))


def test_stretches_hold_whole_batches() -> None:
    data = b"".join(batch(2 * at) for at in range(10)) + batch()[:30]

    assert [bytes(each) for each in stretches(window_of(data))] == [data[:-30]]


def test_stretch_may_be_larger_than_a_window() -> None:
    builder = BatchBuilder()
    builder.append(None, bytes(WINDOW_BYTES), timestamp=1)
    data = batch(0) + bytes(builder.build()) + packed_one()

    assert [len(each) for each in stretches(window_of(data))] == [
        len(batch(0)),
        len(data) - len(batch(0)) - len(packed_one()),
        len(packed_one()),
    ]


def packed_one() -> bytes:
    return packed(Codec.LZ4, 2, b"v")


def test_stretches_stop_at_damage() -> None:
    with pytest.raises(CorruptMessageError):
        list(stretches(window_of(batch(0) + b"\0" * 30)))
