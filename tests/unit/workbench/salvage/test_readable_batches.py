"""Batches with a right checksum are mended or rebuilt if their records cannot be read."""

import struct

import pytest

from cordwood.core.binary import crc32c
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.records.batch_stream import batch_at
from cordwood.records.compression import Codec
from cordwood.workbench.salvage.readable_batches import (
    ReadableBatches,
    fault_of,
    rebuild_readable,
    with_right_count,
)
from tests.unit.workbench.dump_samples import window_of
from tests.unit.workbench.salvage_samples import batch, harmed, headed


def sealed(data: bytes) -> bytes:
    """Return the batch with the checksum of its bytes."""
    return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]


def counted(count: int, codec: Codec = Codec.NONE) -> bytes:
    """Return a batch of four records that claims another number of them."""
    data = batch(codec=codec)
    return sealed(data[:57] + struct.pack(">i", count) + data[61:])


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.ZSTD))
@pytest.mark.parametrize("count", (0, 3, 5, 1 << 30, -1))
def test_wrong_count_is_corrected_if_records_fill_the_batch(count: int, codec: Codec) -> None:
    assert with_right_count(counted(count, codec)) == batch(codec=codec)


def test_count_is_not_corrected_if_a_record_is_unreadable() -> None:
    assert with_right_count(sealed(harmed(batch(), 61))) is None


@pytest.mark.parametrize("count", (3, 4, 5))
def test_fault_is_that_of_the_records(count: int) -> None:
    found = batch_at(counted(count), 0)

    assert found is not None
    assert (fault_of(found) is None) == (count == 4)


def test_readable_records_of_a_compressed_batch_are_rebuilt() -> None:
    data = counted(5, Codec.ZSTD)

    rebuilt = rebuild_readable(data, headed(data))

    assert rebuilt is not None
    assert rebuilt.offsets == (0, 1, 2, 3)


def test_batches_are_readable_up_to_the_first_that_is_not() -> None:
    data = (batch(), batch(4), counted(5))
    readable = ReadableBatches(window_of(b"".join(data)), PlainBatchChecker())

    places = (0, len(data[0]), len(data[0]) + len(data[1]))

    assert [readable.has(place) for place in places] == [True, True, False]
