"""Batches are read again from their place, and written with corrected fields."""

from cordwood.records.batch_stream import batch_at
from cordwood.records.compression import Codec, compress
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.legacy_message import LegacyMessage, append_message
from cordwood.workbench.salvage.salvaged_batch import (
    Trust,
    read_batch,
    without_transaction,
    wrapper_start,
)
from tests.unit.workbench.dump_samples import window_of
from tests.unit.workbench.salvage_samples import batch, marker, transactional


def wrapper(base_offset: int) -> bytes:
    builder = LegacyBuilder(1, base_offset=base_offset, codec=Codec.GZIP)
    for _ in range(3):
        builder.append(b"key", b"value", timestamp=5)
    return bytes(builder.build())


def test_batch_is_read_from_its_place() -> None:
    found = read_batch("file", window_of(batch(0) + marker(4)), position=len(batch(0)))

    assert (found.offset, found.is_regular, found.trust) == (4, True, Trust.LED)
    assert found.marker is not None
    assert found.marker.is_commit


def test_wrapper_begins_at_its_first_message() -> None:
    found = read_batch("file", window_of(wrapper(10)), position=0)

    assert (found.offset, found.last_offset) == (10, 12)
    assert wrapper_start(wrapper(10)[:-9], 12) == 12


def test_batch_without_its_transaction_is_valid() -> None:
    data = without_transaction(bytearray(transactional(3)))

    found = batch_at(bytes(data), 0)
    assert found is not None
    assert (found.is_transactional, found.producer_id, found.is_crc_valid()) == (False, -1, True)


def test_wrapper_begins_at_its_lowest_message() -> None:
    inner = bytearray()
    for offset in (1, 0, 2):
        append_message(inner, LegacyMessage(offset, 0, 1, 0, 10, None, memoryview(b"v")))
    value = memoryview(compress(Codec.GZIP, bytes(inner)))
    data = bytearray()
    append_message(data, LegacyMessage(12, 0, 1, 1, 10, None, value))

    assert wrapper_start(bytes(data), 12) == 10
