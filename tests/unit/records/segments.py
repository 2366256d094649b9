"""Batches for tests of column readers, and their decoded rows."""

import pytest

from cordwood.core.binary import crc32, crc32c
from cordwood.core.errors import BadRecordsError
from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder, BatchFields
from cordwood.records.columns import read_columns
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.decoder import Decoder, ReadRequest
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic

Values = list[bytes | None]
Row = dict[str, object]


def v2(*values: bytes | None, fields: BatchFields = NO_FIELDS, timestamp: int = 1000) -> bytes:
    """Return a v2 batch whose records are a millisecond apart."""
    builder = BatchBuilder(fields)
    for step, value in enumerate(values):
        builder.append(None, value, timestamp=timestamp + step)
    return bytes(builder.build())


def packed(codec: Codec, base_offset: int, *values: bytes) -> bytes:
    """Return a compressed v2 batch."""
    return v2(*values, fields=BatchFields(base_offset=base_offset, codec=codec))


def produced(base_offset: int, producer_id: int, *values: bytes, in_transaction: bool) -> bytes:
    """Return a batch of a producer that has an id."""
    fields = BatchFields(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=in_transaction,
    )
    return v2(*values, fields=fields)


def marker(base_offset: int, producer_id: int, *, is_commit: bool) -> bytes:
    """Return the batch that ends a transaction."""
    fields = BatchFields(base_offset=base_offset, producer_id=producer_id, producer_epoch=0)
    return bytes(control_batch(EndTransaction(is_commit, 3), fields, timestamp=1000))


def legacy(
    magic: LegacyMagic,
    *values: bytes | None,
    base_offset: int = 0,
    codec: Codec = Codec.NONE,
    log_append_time_ms: int | None = None,
) -> bytes:
    """Return messages of v0 or v1, a millisecond apart, in a wrapper when there is a codec."""
    builder = LegacyBuilder(
        magic, base_offset=base_offset, codec=codec, log_append_time_ms=log_append_time_ms
    )
    for step, value in enumerate(values):
        builder.append(None, value, timestamp=1000 + step if magic else -1)
    return bytes(builder.build())


def changed(data: bytes, at: int, field: bytes) -> bytes:
    """Return one batch with other bytes at one place and a checksum that fits them."""
    out = bytearray(data)
    out[at : at + len(field)] = field
    if out[16] == 2:
        out[17:21] = crc32c(bytes(out[21:])).to_bytes(4)
    else:
        out[12:16] = crc32(bytes(out[16:])).to_bytes(4)
    return bytes(out)


def broken(data: bytes) -> bytes:
    """Return one batch with a wrong last byte."""
    return data[:-1] + bytes([data[-1] ^ 0xFF])


def chunks(decoder: Decoder, data: bytes, request: ReadRequest | None = None) -> list[Values]:
    """Return the values, chunk by chunk."""
    return [batch["value"].to_pylist() for batch in read_columns(data, decoder, request=request)]


def values(decoder: Decoder, data: bytes, request: ReadRequest | None = None) -> Values:
    """Return all values."""
    return [value for chunk in chunks(decoder, data, request) for value in chunk]


def rows(decoder: Decoder, data: bytes, request: ReadRequest) -> list[Row]:
    """Return all rows, timestamps as numbers."""
    found: list[Row] = []
    for batch in read_columns(data, decoder, request=request):
        numbers = [
            array.cast("int64") if name == "timestamp" else array
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        ]
        lists = [array.to_pylist() for array in numbers]
        found += [
            dict(zip(batch.schema.names, row, strict=True)) for row in zip(*lists, strict=True)
        ]
    return found


def refused(
    decoder: Decoder, data: bytes, request: ReadRequest | None = None
) -> tuple[list[Values], BadRecordsError]:
    """Return the values of each chunk before an error, and that error."""
    seen: list[Values] = []
    reading = read_columns(data, decoder, request=request)
    with pytest.raises(BadRecordsError) as caught:
        seen.extend(batch["value"].to_pylist() for batch in reading)
    return seen, caught.value
