"""Rebuilt batches have the same records under another codec or in another format."""

import pytest

from cordwood.core.errors import UnsupportedCompressionTypeError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.validation.batch_rebuild import Magic, rebuild
from tests.unit.storage.produced import NOW, TIMES, TRANSACTIONAL, old, v2

AT_1000 = BatchFields(base_offset=1000, partition_leader_epoch=7)


def rebuilt(data: bytes | bytearray, fields: BatchFields = AT_1000, *, magic: Magic = 2) -> bytes:
    found = list(batches(data))
    facts = [PlainInspector().inspect(batch) for batch in found]
    return bytes(rebuild(found, facts, fields=fields, magic=magic))


def records(data: bytes) -> list[Record]:
    found = list(batches(data))
    for batch in found:
        batch.ensure_valid()
    return [record for batch in found for record in batch.records()]


@pytest.mark.parametrize("codec", Codec)
def test_rebuild_equals_a_producers_batch_with_that_codec(codec: Codec) -> None:
    fields = TRANSACTIONAL._replace(base_offset=1000, partition_leader_epoch=7, codec=codec)

    data = rebuilt(v2(Codec.GZIP, fields=TRANSACTIONAL), fields)

    assert data == v2(codec, fields=fields)


def test_rebuild_compresses_at_the_given_level() -> None:
    source = v2(times=(NOW,) * 500)

    fast, small = (
        rebuilt(source, AT_1000._replace(codec=Codec.GZIP, level=level)) for level in (1, 9)
    )

    assert len(small) < len(fast)
    assert records(small) == records(fast)


def test_rebuild_sets_the_append_time_in_the_header_only() -> None:
    fields = AT_1000._replace(codec=Codec.LZ4, log_append_time_ms=NOW + 50)

    batch = RecordBatch(rebuilt(v2(), fields))

    assert batch.max_timestamp == NOW + 50
    assert batch.base_timestamp == TIMES[0]
    assert {record.timestamp for record in batch.records()} == {NOW + 50}


def test_rebuild_keeps_control_of_a_control_batch() -> None:
    fields = BatchFields(producer_id=9, producer_epoch=2)
    marker = control_batch(EndTransaction(is_commit=True, coordinator_epoch=3), fields, timestamp=9)

    batch = RecordBatch(
        rebuilt(marker, fields._replace(is_control=True, is_transactional=True, base_offset=5))
    )

    assert batch.is_control
    assert batch.is_transactional
    assert batch.base_offset == 5


def test_rebuild_closes_gaps() -> None:
    data = rebuilt(v2(offsets=(0, 2, 3)))

    assert [record.offset for record in records(data)] == [1000, 1001, 1002]


def test_rebuild_keeps_the_append_time_of_a_batch() -> None:
    data = rebuilt(v2(fields=BatchFields(log_append_time_ms=NOW + 50)))

    assert RecordBatch(data).timestamp_type is TimestampType.CREATE_TIME
    assert {record.timestamp for record in records(data)} == {NOW + 50}


def test_rebuild_drops_a_delete_horizon() -> None:
    batch = RecordBatch(rebuilt(v2(fields=BatchFields(delete_horizon_ms=5))))

    assert not batch.has_delete_horizon
    assert [record.timestamp for record in batch.records()] == list(TIMES)


def test_rebuild_keeps_headers_of_records() -> None:
    builder = BatchBuilder()
    builder.append(None, b"a", headers=(("h", b"1"),))
    builder.append(None, b"b", offset=5)

    first, _ = records(rebuilt(builder.build()))

    assert first.headers == (("h", b"1"),)


@pytest.mark.parametrize("magic", (0, 1))
@pytest.mark.parametrize("codec", (Codec.NONE, Codec.GZIP))
def test_old_messages_are_rebuilt_as_one_batch(codec: Codec, magic: Magic) -> None:
    source = old(1 if magic else 0, codec)

    data = rebuilt(source, AT_1000._replace(codec=Codec.ZSTD))

    assert len(list(batches(data))) == 1
    assert [record.offset for record in records(data)] == [1000, 1001, 1002]
    assert [record.timestamp for record in records(data)] == (list(TIMES) if magic else [-1] * 3)


@pytest.mark.parametrize("magic", (0, 1))
@pytest.mark.parametrize("codec", (Codec.NONE, Codec.SNAPPY))
def test_batch_is_rebuilt_as_old_messages(codec: Codec, magic: Magic) -> None:
    data = rebuilt(v2(), AT_1000._replace(codec=codec), magic=magic)

    assert [batch.magic for batch in batches(data)] == [magic] * (1 if codec else 3)
    assert [record.offset for record in records(data)] == [1000, 1001, 1002]
    assert [record.timestamp for record in records(data)] == (list(TIMES) if magic else [-1] * 3)


def test_rebuild_rejects_a_codec_that_the_old_formats_do_not_have() -> None:
    with pytest.raises(UnsupportedCompressionTypeError):
        rebuilt(v2(), AT_1000._replace(codec=Codec.ZSTD), magic=1)
