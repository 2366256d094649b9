"""Keys and values of an uncompressed batch, read fast (Kafka: `DefaultRecord.readFrom`).

A load spends most of its time on the fields of records. This scan reads the common form alone:
lengths below 8,192 and no headers. It returns None for any other batch, damaged ones included,
and the caller reads that with `RecordBatch.records`, which names the damage.
"""

from typing import Final, NamedTuple

from cordwood.records.compression import Codec
from cordwood.records.record_batch import RecordBatch

_MORE: Final = 0x80
_LOW_BITS: Final = 0x7F
_VARLONG_BYTES: Final = 10
_NULL: Final = 1
"""The varint of the length -1."""


class PlainRecord(NamedTuple):
    """A record without its timestamp."""

    offset: int
    key: bytes | None
    value: bytes | None


def plain_records(batch: RecordBatch) -> list[PlainRecord] | None:
    """Return the records of a batch, None if they do not have the common form."""
    if batch.codec is not Codec.NONE or batch.count < 0:
        return None
    data = bytes(batch.payload)
    try:
        return _scan(data, batch)
    except IndexError:
        return None


def _scan(data: bytes, batch: RecordBatch) -> list[PlainRecord] | None:
    found = list[PlainRecord]()
    base_offset, last_delta = batch.base_offset, batch.last_offset_delta
    at = lowest = 0
    for _ in range(batch.count):
        length, at = _length(data, at)
        stop = at + (length >> 1)
        timestamp_at = at = at + 1
        while data[at] & _MORE:
            at += 1
        if at - timestamp_at >= _VARLONG_BYTES:
            return None
        delta, at = _length(data, at + 1)
        key_size, at = _length(data, at)
        if (length | delta | key_size) & 1 or not lowest <= delta >> 1 <= last_delta:
            return None
        end = at + (key_size >> 1)
        key = data[at:end]
        value_size, at = _length(data, end)
        if value_size == _NULL:
            value = None
        elif value_size & 1:
            return None
        else:
            end = at + (value_size >> 1)
            value, at = data[at:end], end
        if data[at] or at + 1 != stop:
            return None
        at = stop
        lowest = (delta >> 1) + 1
        found.append(PlainRecord(base_offset + lowest - 1, key, value))
    return found if at == len(data) else None


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Return a zigzag number of one or two bytes, still encoded, and its end."""
    low = data[at]
    if low < _MORE:
        return low, at + 1
    high = data[at + 1]
    if high & _MORE:
        raise IndexError(at)
    return low & _LOW_BITS | high << 7, at + 2
