"""The batches of a chunk have retentions and numbers, and their checksums are verified."""

import pytest

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.segment_chunk import count_numbered, numbered_batches
from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.records.batch_stream import batches
from tests.unit.compaction.compaction_samples import batch, chunk, empty, marker, only
from tests.unit.storage.produced import patched


def test_batches_have_their_retentions_and_record_numbers() -> None:
    parts = batch(0, "a1 b2"), marker(2, is_commit=True), batch(3, "c3")

    found = list(
        numbered_batches(chunk(*parts, retentions={1: BatchRetention.CONTROL}, first_number=7))
    )

    assert [each.first_number for each in found] == [7, 9, 9]
    assert [each.retention for each in found] == [
        BatchRetention.DELETE_EMPTY,
        BatchRetention.CONTROL,
        BatchRetention.DELETE_EMPTY,
    ]


def test_batch_with_a_wrong_checksum_is_rejected() -> None:
    damaged = bytearray(batch(0, "a1"))
    damaged[-2] ^= 1

    with pytest.raises(CorruptMessageError, match="checksum"):
        list(numbered_batches(chunk(bytes(damaged))))


def test_chunk_that_ends_inside_a_batch_is_rejected() -> None:
    with pytest.raises(CorruptMessageError, match="cut off"):
        list(numbered_batches(chunk(batch(0, "a1")[:-1])))


def test_record_count_is_not_negative() -> None:
    data = batch(0, "a1 b2 c3")

    assert count_numbered(only(empty(data))) == 0
    with pytest.raises(BadRecordsError, match="negative record count"):
        count_numbered(next(iter(batches(patched(data, 57, (-1).to_bytes(4, signed=True))))))
