"""Records are copied and hashed as bytes."""

from cordwood.compaction.engine.unpacked_batch import UnpackedBatch
from cordwood.compaction.key_hash import record_hash
from cordwood.core.binary import INT64_MAX
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from cordwood.records.record_batch import RecordBatch
from tests.unit.compaction.compaction_samples import NOW, batch, only
from tests.unit.storage.produced import patched


def unpacked(text: str, codec: Codec = Codec.NONE) -> UnpackedBatch:
    return UnpackedBatch.of(RecordBatch(batch(7, text, fields=BatchFields(codec=codec))))


def test_unpacked_batch_has_the_start_of_each_record() -> None:
    found = unpacked("a1 b22 c-", Codec.GZIP)

    starts = [each.start for each in found.records]
    assert starts == [0, *(each.record.end for each in found.records[:-1])]
    assert [each.record.key for each in found.records] == [b"a", b"b", b"c"]


def test_hash_is_of_the_bytes_from_the_key_on() -> None:
    found = unpacked("a1 b-")

    assert found.hash_of(found.records[1]) == record_hash(
        b"\x02b\x01\x00", offset=8, timestamp=NOW + 1
    )


def test_filtered_batch_has_the_bytes_of_its_records() -> None:
    found = unpacked("a1 b2 c3 d4")

    left = RecordBatch(found.filtered([found.records[0], found.records[2]]))

    first, second, third = (each.record.end for each in found.records[:3])
    assert left.uncompressed() == bytes(found.data[:first]) + bytes(found.data[second:third])


def test_filtered_batch_whose_times_are_below_all_has_none() -> None:
    data = patched(batch(7, "a1 b2"), 27, (-9).to_bytes(8, signed=True))
    found = UnpackedBatch.of(RecordBatch(data))

    assert RecordBatch(found.filtered(found.records[:1])).max_timestamp == -1


def test_new_horizon_changes_no_record() -> None:
    found = unpacked("a1 b-")

    left = only(found.filtered(found.records, new_horizon_ms=NOW + 10**9))

    assert left.delete_horizon_ms == NOW + 10**9
    assert list(left.records()) == list(found.batch.records())


def test_new_horizon_keeps_the_attributes_of_records() -> None:
    data = patched(batch(7, "a1"), 62, b"\x05")
    found = UnpackedBatch.of(RecordBatch(data))

    left = RecordBatch(found.filtered(found.records, new_horizon_ms=5))

    assert left.payload[1] == 5


def test_new_horizon_keeps_times_that_wrap() -> None:
    data = patched(batch(7, "a1"), 27, INT64_MAX.to_bytes(8))
    found = UnpackedBatch.of(RecordBatch(data))

    left = only(found.filtered(found.records, new_horizon_ms=-9))

    assert [each.timestamp for each in left.records()] == [INT64_MAX]
