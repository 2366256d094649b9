"""The common view of batches, with one batch of each format."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch_builder import BatchBuilder
from cordwood.records.batch_stream import AnyBatch, batch_at
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder


def batch_of(magic: int) -> AnyBatch:
    """A batch of one record at offset 0, behind three foreign bytes."""
    builder = BatchBuilder() if magic == 2 else LegacyBuilder(1 if magic else 0)
    builder.append(b"k", b"v", timestamp=5)
    found = batch_at(bytearray(b"...") + builder.build(), 3)
    assert found is not None
    return found


@pytest.mark.parametrize(("magic", "size"), ((0, 28), (1, 36), (2, 70)))
def test_batch_has_its_range_of_the_buffer(magic: int, size: int) -> None:
    batch = batch_of(magic)

    assert (batch.size, batch.batch_length, batch.end) == (size, size - 12, 3 + size)
    assert batch.data == batch.view[3:]
    assert (batch.place.position, batch.place.base_offset, batch.next_offset) == (3, 0, 1)
    assert batch.codec is Codec.NONE


@pytest.mark.parametrize("magic", (0, 1, 2))
def test_batch_with_a_changed_byte_is_rejected(magic: int) -> None:
    batch = batch_of(magic)
    batch.ensure_valid()

    batch.view[-1] ^= 1

    assert not batch.is_crc_valid()
    with pytest.raises(CorruptMessageError, match="the checksum is wrong"):
        batch.ensure_valid()
