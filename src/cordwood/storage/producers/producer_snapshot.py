"""Producer snapshot format: a log's producers at one offset (Kafka: `ProducerStateManager`).

    file     i16 version (1) | u32 CRC-32C of all that follows | i32 count | entry * count

    entry    46 bytes
     0  i64  producer id
     8  i16  producer epoch
    10  i32  last sequence             -1 without a batch
    14  i64  last offset               -1 without a batch
    22  i32  offset delta              last offset minus first offset of the last batch
    26  i64  timestamp                 of the last batch or marker
    34  i32  coordinator epoch         -1 without a marker
    38  i64  first offset of the open transaction, -1 without one

    example  producer 7, epoch 1, sequence 5 at offset 42, timestamp 1000:
             0001 7b74335c 00000001  0000000000000007 0001 00000005 000000000000002a 00000000
             00000000000003e8 ffffffff ffffffffffffffff

The file's name is the offset. A snapshot contains only the last batch of each producer. The
entries have no order.
"""

from collections.abc import Collection, Iterable
from struct import Struct
from typing import Final

from cordwood.core.binary import Buffer, bytes_view, crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.core.types import NO_OFFSET, NO_SEQUENCE, NO_TIMESTAMP
from cordwood.storage.producers.producer_state_entry import BatchMetadata, ProducerStateEntry

VERSION: Final = 1

_HEADER: Final = Struct(">hIi")
_COUNT: Final = Struct(">i")
_ENTRY: Final = Struct(">qhiqiqiq")
_CRC_START: Final = 6
_NO_BATCH: Final = BatchMetadata(NO_SEQUENCE, NO_OFFSET, 0, NO_TIMESTAMP)
_REMEDY: Final = "remove it: an older snapshot and the log after it replace it"


def encode_snapshot(states: Collection[ProducerStateEntry]) -> bytes:
    """Return the bytes of a snapshot."""
    entries = encode_entries(states)
    checksum = crc32c(entries, initial_checksum(len(states)))
    return encode_header(len(states), checksum) + entries


def encode_entries(states: Iterable[ProducerStateEntry]) -> bytes:
    """Return the entries of a snapshot, or a part of them."""
    pack, found = _ENTRY.pack, []
    # A loop over 100,000 producers: fields are unpacked, since properties take twice the time.
    for producer_id, epoch, batches, coordinator_epoch, timestamp, first_offset in states:
        sequence, offset, delta, _ = batches[-1] if batches else _NO_BATCH
        found.append(
            pack(
                producer_id,
                epoch,
                sequence,
                offset,
                delta,
                timestamp,
                coordinator_epoch,
                first_offset,
            )
        )
    return b"".join(found)


def encode_header(count: int, checksum: int) -> bytes:
    """Return the bytes before the entries; the checksum covers the count and the entries."""
    return _HEADER.pack(VERSION, checksum, count)


def initial_checksum(count: int) -> int:
    """Return the checksum of the count, to be continued over the entries."""
    return crc32c(_COUNT.pack(count))


def decode_snapshot(data: Buffer, *, path: str) -> list[ProducerStateEntry]:
    """Return the producers in a snapshot; `path` names the file in errors."""
    view = bytes_view(data)
    _ensure_long_enough(len(view), _HEADER.size, path)
    version, crc, count = _HEADER.unpack_from(view)
    if version != VERSION:
        raise _damaged("the version is unknown", path, position=0, expected=VERSION, found=version)
    computed = crc32c(view[_CRC_START:])
    if crc != computed:
        raise _damaged(
            "the checksum is wrong",
            path,
            position=2,
            expected=f"{computed:08x}",
            found=f"{crc:08x}",
        )
    if count < 0:
        raise _damaged(
            "the count is negative", path, position=6, expected="at least 0", found=count
        )
    end = _HEADER.size + count * _ENTRY.size
    _ensure_long_enough(len(view), end, path)
    return [_entry(fields) for fields in _ENTRY.iter_unpack(view[_HEADER.size : end])]


def _entry(fields: tuple[int, ...]) -> ProducerStateEntry:
    (
        producer_id,
        producer_epoch,
        last_sequence,
        last_offset,
        offset_delta,
        timestamp,
        coordinator_epoch,
        transaction_first_offset,
    ) = fields
    batch = BatchMetadata(last_sequence, last_offset, offset_delta, timestamp)
    return ProducerStateEntry(
        producer_id,
        producer_epoch,
        (batch,) if last_offset >= 0 else (),
        coordinator_epoch,
        timestamp,
        max(transaction_first_offset, NO_OFFSET),
    )


def _ensure_long_enough(size: int, needed: int, path: str) -> None:
    if size < needed:
        raise _damaged(
            "the producer snapshot is too short",
            path,
            position=size,
            expected=f"{needed} bytes",
            found=size,
        )


def _damaged(
    what: str, path: str, *, position: int, expected: int | str, found: int | str
) -> DamagedFileError:
    return DamagedFileError(
        what, path=path, position=position, expected=expected, found=found, remedy=_REMEDY
    )
