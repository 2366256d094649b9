"""Salvaged batch: its place in a file, its corrected fields, and how certain its place is.

    LED        the sizes of the batches before it lead to it
    CONFIRMED  a search found it; the sizes from it on lead to the end of the file, and its offsets
               join those of a neighbour or of the next file
    REBUILT    its records were parsed from a batch that is damaged
    UNJOINED   sizes lead to it next to damage, and its offsets join those of no neighbour; or its
               size was damaged, and they do not join those of both
    MOVED      sizes lead to it, its base offset is wrong, and it got the one next to a neighbour
    STRAY      sizes lead to it, and its offset is outside of the bounds of its file
    FOUND      a search found it in a damaged range; it may be the value of a damaged record, and
               it may be rebuilt

All but LED and CONFIRMED batches are doubtful.
"""

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import crc32c
from cordwood.core.errors import BadRecordsError
from cordwood.core.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import EndTransaction
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record_batch import CRC_START, MAGIC, TRANSACTIONAL_BIT
from cordwood.storage.reader.offset_gaps import has_start_offset
from cordwood.workbench.file_window import FileWindow
from cordwood.workbench.salvage.batch_scan import whole_batch

_I32: Final = Struct(">i")
_I64: Final = Struct(">q")
_CRC: Final = Struct(">I")
_CRC_AT: Final = 17
_ATTRIBUTES_LOW_BYTE: Final = 22
_PRODUCER: Final = Struct(">qhi")
_PRODUCER_AT: Final = 43


class Trust(IntEnum):
    """The certainty of a batch's place in the log, lowest first."""

    FOUND = 0
    STRAY = 1
    MOVED = 2
    UNJOINED = 3
    REBUILT = 4
    CONFIRMED = 5
    LED = 6


class SalvagedBatch(NamedTuple):
    """A salvaged batch: its file, and its bytes (`mended`) if they differ from those in the file.

    `offset` and `epoch` are the corrected base offset and leader epoch. `offsets` is set if the
    batch was rebuilt from single records, `marker` if it ends a transaction.
    """

    file: str
    header: BatchHeader
    mended: bytes | None = None
    repairs: tuple[str, ...] = ()
    offset: int = 0
    epoch: int = -1
    offsets: tuple[int, ...] | None = None
    marker: EndTransaction | None = None
    trust: Trust = Trust.LED

    @property
    def last_offset(self) -> int:
        if self.header.magic != MAGIC:
            return self.header.last_offset
        return self.offset + self.header.last_offset - self.header.base_offset

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last offset."""
        return self.offset, self.last_offset

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def is_doubtful(self) -> bool:
        """Return whether the records may not be those of the log."""
        return self.trust <= Trust.REBUILT

    @property
    def is_regular(self) -> bool:
        """Return whether the batch can be read again from its place in its file."""
        header = self.header
        return (
            self.mended is None
            and not self.repairs
            and not self.is_doubtful
            and (header.magic != MAGIC or self.offset == header.base_offset)
        )

    @property
    def size(self) -> int:
        return self.header.size if self.mended is None else len(self.mended)

    def apply_to(self, data: bytearray) -> bytearray:
        """Write the corrected offset and epoch into the bytes of the batch."""
        if self.header.magic == MAGIC:
            _I64.pack_into(data, 0, self.offset)
            _I32.pack_into(data, 12, self.epoch)
        return data


def read_batch(file: str, window: FileWindow, *, position: int) -> SalvagedBatch:
    """Return the whole batch at a position of a file."""
    piece = whole_batch(window, position)
    header = piece.header
    offset = header.base_offset
    if not has_start_offset(header):
        offset = wrapper_start(window.view(position, header.size), offset)
    epoch = header.partition_leader_epoch
    return SalvagedBatch(file, header, offset=offset, epoch=epoch, marker=piece.marker)


def wrapper_start(data: bytes | memoryview, last_offset: int) -> int:
    """Return the lowest offset in a wrapper of old messages."""
    return min(last_offset, wrapper_offsets(data, last_offset)[0])


def wrapper_offsets(data: bytes | memoryview, last_offset: int) -> tuple[int, int]:
    """Return the lowest and the highest offset in a wrapper; its own if the inside is unreadable.

    The messages inside may have any order.
    """
    try:
        offsets = [each.offset for each in LegacyBatch(data).records()]
    except BadRecordsError:
        offsets = []
    return min(offsets, default=last_offset), max(offsets, default=last_offset)


def without_transaction(data: bytearray) -> bytearray:
    """Remove the producer and the transaction from a v2 batch."""
    data[_ATTRIBUTES_LOW_BYTE] &= ~TRANSACTIONAL_BIT
    _PRODUCER.pack_into(data, _PRODUCER_AT, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE)
    _CRC.pack_into(data, _CRC_AT, crc32c(memoryview(data)[CRC_START:]))
    return data
