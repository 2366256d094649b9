"""Iteration over the batches of a buffer, in all formats (Kafka: `MemoryRecords.batches`).

     8  i32  size of all following bytes: the same place in all formats
    16  i8   magic: the same place in all formats

An incomplete batch at the end is not an error: a fetch is limited by bytes, and a broker may have
died. So the walk ends in silence where fewer than 17 bytes remain, or where bytes of the last batch
are missing. The last batch's `end` is the end of the walk, and `ensure_whole` rejects remaining
bytes. An impossible size or magic is damage, and raises an error.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, TypeAlias

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import SettingError
from cordwood.records.batch_location import BatchLocation
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_message import LOG_OVERHEAD, SMALLEST_SIZE
from cordwood.records.record_batch import MAGIC, RecordBatch

AnyBatch: TypeAlias = RecordBatch | LegacyBatch

PREFIX_SIZE: Final = 17

_PREFIX: Final = Struct(">qiib")


def batches(buffer: Buffer, position: int = 0) -> Iterator[AnyBatch]:
    """Yield every whole batch from `position` on."""
    view = bytes_view(buffer)
    while (batch := batch_at(view, position)) is not None:
        yield batch
        position = batch.end


def batch_at(buffer: Buffer, position: int) -> AnyBatch | None:
    """Return the batch that begins at `position`, or None when it is incomplete."""
    view = bytes_view(buffer)
    if position < 0:
        raise BatchLocation(position).corrupt(
            "no batch begins before its buffer", expected="a position of at least 0", found=position
        )
    room = len(view) - position
    if room < PREFIX_SIZE:
        return None
    base_offset, size, _, magic = _PREFIX.unpack_from(view, position)
    place = BatchLocation(position, base_offset)
    if size < SMALLEST_SIZE[0]:
        raise place.corrupt(
            "a batch size that cannot be right",
            expected=f"at least {SMALLEST_SIZE[0]}",
            found=size,
        )
    if size > room - LOG_OVERHEAD:
        return None
    if magic == MAGIC:
        return RecordBatch(view, position)
    if magic in (0, 1):
        return LegacyBatch(view, position)
    raise place.corrupt("unknown magic", expected="0, 1 or 2", found=magic)


def ensure_whole(buffer: Buffer, position: int) -> None:
    """Raise CorruptMessageError if bytes remain at `position`, where no whole batch begins."""
    left = bytes_view(buffer)[position:]
    if len(left) == 0:
        return
    claim = f"at least {PREFIX_SIZE} bytes"
    if len(left) >= LOG_OVERHEAD:
        claim = f"{int.from_bytes(left[8:12], signed=True) + LOG_OVERHEAD} bytes"
    base_offset = int.from_bytes(left[:8], signed=True) if len(left) >= 8 else None
    raise BatchLocation(position, base_offset).corrupt(
        "the last batch is cut off", expected=claim, found=f"{len(left)} bytes"
    )


def flat_view(buffer: Buffer) -> memoryview:
    """Return a contiguous buffer of any shape as bytes."""
    view = memoryview(buffer)
    if not view.c_contiguous:
        raise SettingError(
            "the bytes of a buffer do not lie one behind the other",
            key="buffer",
            remedy="copy it: bytes(buffer)",
        )
    return bytes_view(view) if view.nbytes else memoryview(b"")
