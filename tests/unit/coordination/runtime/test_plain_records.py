"""A plain scan has the records of a batch, or leaves it to the general reader."""

import pytest

from cordwood.coordination.runtime.plain_records import PlainRecord, plain_records
from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder
from cordwood.records.compression import Codec
from cordwood.records.record_batch import RecordBatch


def batch_of(*records: tuple[bytes | None, bytes | None], codec: Codec = Codec.NONE) -> RecordBatch:
    """Return a batch whose timestamps need several bytes."""
    builder = BatchBuilder(NO_FIELDS._replace(codec=codec))
    for number, (key, value) in enumerate(records):
        builder.append(key, value, timestamp=number * 1_000_000)
    batch = RecordBatch(builder.build())
    batch.set_base_offset(40)
    return batch


def test_records_have_offsets_keys_and_values() -> None:
    batch = batch_of((b"a", b"1"), (b"b" * 100, None), (b"c", b"2" * 5_000))

    assert plain_records(batch) == [
        PlainRecord(40, b"a", b"1"),
        PlainRecord(41, b"b" * 100, None),
        PlainRecord(42, b"c", b"2" * 5_000),
    ]


@pytest.mark.parametrize(
    "batch",
    (
        batch_of((b"a", b"1"), codec=Codec.GZIP),
        batch_of((None, b"1")),
        batch_of((b"a", b"1" * 10_000)),
    ),
    ids=("compressed", "null key", "long value"),
)
def test_unusual_batch_is_left_to_the_general_reader(batch: RecordBatch) -> None:
    assert plain_records(batch) is None


def test_record_with_headers_is_left_to_the_general_reader() -> None:
    builder = BatchBuilder(NO_FIELDS)
    builder.append(b"a", b"1", timestamp=0, headers=[("name", b"text")])

    assert plain_records(RecordBatch(builder.build())) is None


@pytest.mark.parametrize("position", range(61, 75))
def test_damaged_batch_is_left_to_the_general_reader_or_has_its_records(position: int) -> None:
    batch = batch_of((b"a", b"1"), (b"b", b"2"))
    data = bytearray(batch.view)
    data[position] ^= 0xFF
    damaged = RecordBatch(data)

    found = plain_records(damaged)

    if found is not None:
        assert found == [
            PlainRecord(each.offset, each.key, each.value) for each in damaged.records()
        ]
