"""Bytes of batches, markers and messages of all formats, written independently of Cordwood's code.

Only the compression of record data is Cordwood's. The result names the bytes that each record
needs, relative to the start of the batch.
"""

import struct
import zlib
from typing import NamedTuple

import google_crc32c

from cordwood.records.compression import Codec, compress

HEADER = 61
OVERHEAD = 12
TRANSACTIONAL = 0x10
CONTROL = 0x20

#: The bytes of a batch from one position to another.
Span = tuple[int, int]


class RecordContent(NamedTuple):
    """A record as it was sent; v0 has no timestamps, v0 and v1 no headers."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class BatchFacts(NamedTuple):
    """The header fields of a v2 batch; a batch without producer has -1 three times."""

    base_offset: int
    last_offset: int
    leader_epoch: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    attributes: int = 0


class EncodedBatch(NamedTuple):
    """The bytes of a batch, and the spans that each of its records needs."""

    data: bytes
    needs: tuple[tuple[Span, ...], ...]


def varint(number: int) -> bytes:
    """Return a zigzag varint."""
    raw, out = (number << 1) ^ (number >> 63), bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes((*out, raw))


def v2_batch(facts: BatchFacts, records: tuple[RecordContent, ...], times: Span) -> EncodedBatch:
    """Return a v2 batch; `times` are the base and the latest timestamp."""
    body, places = bytearray(), []
    for record in records:
        data = _v2_record(record, facts.base_offset, times[0])
        places.append((len(body), len(body) + len(data)))
        body += data
    codec = Codec(facts.attributes & 7)
    payload = compress(codec, bytes(body)) if codec and body else bytes(body)
    size = HEADER + len(payload)
    checked = struct.pack(
        ">hiqqqhii",
        facts.attributes,
        facts.last_offset - facts.base_offset,
        *times,
        facts.producer_id,
        facts.producer_epoch,
        facts.base_sequence,
        len(records),
    )
    data = sealed(facts.base_offset, facts.leader_epoch, checked + payload)
    whole = (((0, size),),) * len(records)
    apart = tuple(((0, HEADER), (HEADER + start, HEADER + stop)) for start, stop in places)
    return EncodedBatch(data, whole if codec else apart)


def marker(facts: BatchFacts, *, is_commit: bool, timestamp: int) -> bytes:
    """Return the batch of an end transaction marker of coordinator epoch 0."""
    key, value = struct.pack(">hh", 0, int(is_commit)), struct.pack(">hi", 0, 0)
    record = RecordContent(facts.base_offset, timestamp, key, value)
    facts = facts._replace(attributes=TRANSACTIONAL | CONTROL, base_sequence=-1)
    return v2_batch(facts, (record,), (timestamp, timestamp)).data


def old_messages(
    magic: int, codec: Codec, records: tuple[RecordContent, ...]
) -> tuple[EncodedBatch, ...]:
    """Return v0 or v1 messages: one for each record, or one wrapper of all records."""
    plain = [_old_message(magic, record, record.offset) for record in records]
    if not codec:
        return tuple(EncodedBatch(data, (((0, len(data)),),)) for data in plain)
    first, last = records[0], records[-1]
    if magic:
        plain = [_old_message(1, record, record.offset - first.offset) for record in records]
    latest = max(record.timestamp for record in records)
    value = compress(codec, b"".join(plain), magic=magic)
    wrapper = RecordContent(last.offset, latest, None, value)
    data = _old_message(magic, wrapper, last.offset, attributes=codec)
    return (EncodedBatch(data, (((0, len(data)),),) * len(records)),)


def sealed(offset: int, epoch: int, checked: bytes) -> bytes:
    """Return a v2 batch: the checksummed bytes with the fields before them."""
    crc = google_crc32c.value(checked)
    return struct.pack(">qiibI", offset, 9 + len(checked), epoch, 2, crc) + checked


def _v2_record(record: RecordContent, base_offset: int, base_time: int) -> bytes:
    out = bytearray(b"\0" + varint(record.timestamp - base_time))
    out += varint(record.offset - base_offset)
    for data in (record.key, record.value):
        out += varint(-1) if data is None else varint(len(data)) + data
    out += varint(len(record.headers))
    for name, data in record.headers:
        out += varint(len(name)) + name.encode()
        out += varint(-1) if data is None else varint(len(data)) + data
    return varint(len(out)) + bytes(out)


def _old_message(magic: int, record: RecordContent, offset: int, *, attributes: int = 0) -> bytes:
    checked = bytes((magic, attributes))
    if magic:
        checked += struct.pack(">q", record.timestamp)
    for data in (record.key, record.value):
        checked += struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    return struct.pack(">qiI", offset, 4 + len(checked), zlib.crc32(checked)) + checked
