"""The intent record: the decision on a batch, as metadata of committed offsets.

    offset     the batch id
    metadata   base64 of one part; part i is the offset of partition i of the record's topic

    part       format (1 byte = 1), index, count (varints), CRC-32C of the record (4 bytes), bytes
    record     state (1 byte: 0 decided, 1 withdrawn), transaction version (1 byte)
               query id (16 bytes), batch id, producer id and epoch of the incarnation (varints)
               number of slots (varint), then each slot:
                 twice the distance from the slot before, + 1 if visible; number of its id (varints)
                 producer id, as a difference to the slot before (zigzag)
                 epoch, rows (varints), digest (8 bytes)

Brokers accept 4,096 characters of metadata (`offset.metadata.max.bytes`), which are about 170
slots. A larger record uses further partitions of the topic; they are replaced in one transaction.
A part that an earlier, larger record has left has another checksum and is ignored.

A withdrawn record belongs to a batch whose transactions have timed out after the decision: the
batch is written again, but for the slots that are visible. A batch that is assumed to be written
has one visible slot, with the number of its rows.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.binary import (
    append_unsigned_varint,
    append_varlong,
    crc32c,
    read_unsigned_varint,
    read_varlong,
)
from cordwood.core.errors import BytesError, InvalidRecordError, SparkError
from cordwood.spark.sink.exactly_once.sink_names import Incarnation, SinkNames

METADATA_LIMIT: Final = 4_096
_FORMAT: Final = 1
_PART_HEADER: Final = 1 + 5 + 5 + 4
_PART_BYTES: Final = METADATA_LIMIT // 4 * 3 - _PART_HEADER
_DIGEST_BYTES: Final = 8


class SlotRecord(NamedTuple):
    """A task of a batch: its transaction, and what it has written."""

    slot: int
    number: int
    producer_id: int
    epoch: int
    rows: int
    digest: int
    #: Whether an earlier decision on the batch has made the rows visible.
    is_visible: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRecord:
    """The decision on a batch."""

    query_id: UUID
    batch: int
    incarnation: Incarnation
    transaction_version: int
    slots: tuple[SlotRecord, ...]
    is_withdrawn: bool = False

    @property
    def done(self) -> int:
        """The last batch that must not be written again."""
        return self.batch - self.is_withdrawn

    def handles(self, names: SinkNames) -> list[TransactionHandle]:
        """Return the transactions that the decision commits."""
        return [
            TransactionHandle(
                names.task(self.incarnation, each.number),
                each.producer_id,
                each.epoch,
                self.transaction_version,
            )
            for each in self.slots
            if not each.is_visible
        ]

    def visible(self) -> dict[int, SlotRecord]:
        """Return the slots whose rows are visible already."""
        return {each.slot: each for each in self.slots if each.is_visible}

    def to_bytes(self) -> bytes:
        """Return the encoded record."""
        out = bytearray((self.is_withdrawn, self.transaction_version))
        out += self.query_id.bytes
        for number in (self.batch, *self.incarnation):
            append_varlong(out, number)
        append_unsigned_varint(out, len(self.slots))
        slot, producer_id = 0, self.incarnation.producer_id
        for each in self.slots:
            append_unsigned_varint(out, (each.slot - slot) << 1 | each.is_visible)
            append_varlong(out, each.number)
            append_varlong(out, each.producer_id - producer_id)
            append_unsigned_varint(out, each.epoch)
            append_varlong(out, each.rows)
            out += each.digest.to_bytes(_DIGEST_BYTES, "big")
            slot, producer_id = each.slot, each.producer_id
        return bytes(out)

    @classmethod
    def from_bytes(cls, data: bytes) -> "IntentRecord":
        """Return the record of these bytes; BytesError or ValueError for any other bytes."""
        is_withdrawn, version = data[0] == 1, data[1]
        query_id, at, end = UUID(bytes=data[2:18]), 18, len(data)
        batch, at = read_varlong(data, at, end)
        producer_id, at = read_varlong(data, at, end)
        epoch, at = read_varlong(data, at, end)
        slots = tuple(_slots(data, at, producer_id))
        return cls(
            query_id=query_id,
            batch=batch,
            incarnation=Incarnation(producer_id, epoch),
            transaction_version=version,
            slots=slots,
            is_withdrawn=is_withdrawn,
        )


def _slots(data: bytes, at: int, producer_id: int) -> Iterator[SlotRecord]:
    end, slot = len(data), 0
    count, at = read_unsigned_varint(data, at, end)
    for _ in range(count):
        moved, at = read_unsigned_varint(data, at, end)
        number, at = read_varlong(data, at, end)
        further, at = read_varlong(data, at, end)
        epoch, at = read_unsigned_varint(data, at, end)
        rows, at = read_varlong(data, at, end)
        digest = data[at : at + _DIGEST_BYTES]
        if len(digest) < _DIGEST_BYTES:
            raise ValueError("a digest is cut off")
        at += _DIGEST_BYTES
        slot, producer_id = slot + (moved >> 1), producer_id + further
        yield SlotRecord(
            slot, number, producer_id, epoch, rows, int.from_bytes(digest, "big"), bool(moved & 1)
        )
    if at != end:
        raise ValueError("bytes follow the last slot")


def count_parts(record: IntentRecord) -> int:
    """Return the number of partitions that a record uses."""
    return -(-len(record.to_bytes()) // _PART_BYTES)


def parts_in(metadata: Mapping[int, str]) -> int:
    """Return the number of partitions that the first part names; 1 if that is not a part."""
    try:
        return _parse_part(metadata[0]).parts
    except (BytesError, IndexError, KeyError, ValueError):
        return 1


def split_record(record: IntentRecord, *, partitions: int) -> list[str]:
    """Return the metadata of the first partitions of the record's topic."""
    data = record.to_bytes()
    places = range(0, len(data), _PART_BYTES)
    if len(places) > partitions:
        fitting = len(record.slots) * partitions // len(places)
        raise SparkError(
            f"a batch of {len(record.slots)} write tasks does not fit the intent record, which has"
            f" {partitions} partition(s) of {METADATA_LIMIT} bytes",
            remedy=f"coalesce({fitting}) before the write, or let the option recordTopic name a"
            f" topic with {len(places)} partitions",
        )
    return [_part(data, number, len(places)) for number in range(len(places))]


def _part(data: bytes, number: int, count: int) -> str:
    out = bytearray((_FORMAT,))
    append_unsigned_varint(out, number)
    append_unsigned_varint(out, count)
    out += crc32c(data).to_bytes(4, "big")
    out += data[number * _PART_BYTES : (number + 1) * _PART_BYTES]
    return base64.b64encode(out).decode("ascii")


class _Part(NamedTuple):
    number: int
    parts: int
    crc: int
    data: bytes


def join_record(metadata: Mapping[int, str]) -> IntentRecord | None:
    """Return the record of a group's offsets by partition; None if there is none.

    Raises InvalidRecordError if the metadata are not a record: they are another program's.
    """
    if 0 not in metadata:
        return None
    try:
        first = _parse_part(metadata[0])
        parts = [first, *(_parse_part(metadata[each]) for each in range(1, first.parts))]
        _ensure_whole(parts)
        return IntentRecord.from_bytes(b"".join(each.data for each in parts))
    except (BytesError, IndexError, KeyError, ValueError) as error:
        raise InvalidRecordError(
            f"the committed offsets of the sink's group are not an intent record ({error}); another"
            " program commits offsets of this group: set transactionalIdPrefix to a name that no"
            " consumer group has"
        ) from error


def _ensure_whole(parts: Sequence[_Part]) -> None:
    crc = crc32c(b"".join(each.data for each in parts))
    for number, each in enumerate(parts):
        if each.number != number or each.crc != crc:
            raise ValueError(f"part {number} belongs to another record")


def _parse_part(text: str) -> _Part:
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    if not data or data[0] != _FORMAT:
        raise ValueError("unknown format")
    number, at = read_unsigned_varint(data, 1, len(data))
    count, at = read_unsigned_varint(data, at, len(data))
    return _Part(number, count, int.from_bytes(data[at : at + 4], "big"), data[at + 4 :])
