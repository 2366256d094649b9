"""The batches of a buffer, one after the other, whatever their formats.

     8  i32  size of all that follows: the same place in all formats
    16  i8   magic: the same place in all formats

What is cut off at the end is nobody's fault: a fetch is limited by bytes, a broker may have died.
So the walk ends in silence where fewer than 17 bytes remain or where the size says that bytes are
missing; the last batch's `end` says how far it came, and `ensure_whole` refuses what is left. A
size or a magic that no batch can have is damage, and raises.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, TypeAlias

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import SettingError
from cordwood.records.batch import MAGIC, RecordBatch
from cordwood.records.legacy import LegacyBatch
from cordwood.records.message import LOG_OVERHEAD, SMALLEST_SIZE
from cordwood.records.place import Place

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
    """Return the batch that begins at `position`, or None when it is cut off."""
    view = bytes_view(buffer)
    if position < 0:
        raise Place(position).corrupt(
            "no batch begins before its buffer", expected="a position of at least 0", found=position
        )
    room = len(view) - position
    if room < PREFIX_SIZE:
        return None
    base_offset, size, _, magic = _PREFIX.unpack_from(view, position)
    place = Place(position, base_offset)
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
    """Refuse what is left at `position`, where no whole batch begins."""
    left = bytes_view(buffer)[position:]
    if len(left) == 0:
        return
    claim = f"at least {PREFIX_SIZE} bytes"
    if len(left) >= LOG_OVERHEAD:
        claim = f"{int.from_bytes(left[8:12], signed=True) + LOG_OVERHEAD} bytes"
    base_offset = int.from_bytes(left[:8], signed=True) if len(left) >= 8 else None
    raise Place(position, base_offset).corrupt(
        "the last batch is cut off", expected=claim, found=f"{len(left)} bytes"
    )


def flat_view(buffer: Buffer) -> memoryview:
    """Return a buffer of any shape as bytes, which have to lie one behind the other."""
    view = memoryview(buffer)
    if not view.c_contiguous:
        raise SettingError(
            "the bytes of a buffer do not lie one behind the other",
            key="buffer",
            remedy="copy it: bytes(buffer)",
        )
    return bytes_view(view) if view.nbytes else memoryview(b"")
