"""Header of a batch, read on its own: all fields that a log needs to store and to find the batch.

    v2       61 bytes, drawn in `record_batch`
    v0, v1   the first 18 or 26 bytes of a message, drawn in `legacy_message`

The records need not be in memory, so a scan reads headers from small windows of a file. A header is
checked only against itself: a size too small for its format and an unknown magic are damage.
"""

from struct import Struct
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, crc32c
from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch_location import CODEC_BITS, BatchLocation
from cordwood.records.batch_stream import PREFIX_SIZE
from cordwood.records.legacy_message import LOG_OVERHEAD, SMALLEST_SIZE, message_crc
from cordwood.records.record_batch import (
    CONTROL_BIT,
    CRC_START,
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    TRANSACTIONAL_BIT,
)
from cordwood.records.sequence import increment_sequence

#: The largest header of all formats.
LARGEST_HEADER: Final = HEADER_SIZE

_V2: Final = Struct(">qiibIhiqqqhii")
_PREFIX: Final = Struct(">qiib")
_LEGACY: Final = Struct(">Ibb")
_TIMESTAMP: Final = Struct(">q")
_BASE_OFFSET: Final = Struct(">q")
_LEADER_EPOCH: Final = Struct(">i")
_LEADER_EPOCH_START: Final = 12
_LEGACY_HEADERS: Final = (18, 26)
#: The smallest valid size field, by magic.
_SMALLEST_SIZES: Final = MappingProxyType(
    {0: SMALLEST_SIZE[0], 1: SMALLEST_SIZE[1], MAGIC: HEADER_SIZE - LOG_OVERHEAD}
)


class BatchHeader(NamedTuple):
    """Header fields of a batch. `position` is its start in the source that it was read from.

    v0 and v1 have one offset, the last one, and `record_count` -1: the count needs the records.
    """

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    partition_leader_epoch: int
    crc: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def end(self) -> int:
        """The position after the batch."""
        return self.position + self.size

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def last_sequence(self) -> int:
        if self.base_sequence < 0:
            return -1
        return increment_sequence(self.base_sequence, self.last_offset - self.base_offset)

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id >= 0

    @property
    def is_control(self) -> bool:
        return self.magic == MAGIC and bool(self.attributes & CONTROL_BIT)

    @property
    def is_transactional(self) -> bool:
        return self.magic == MAGIC and bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_log_append_time(self) -> bool:
        return self.magic > 0 and bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def codec_id(self) -> int:
        """Return the codec's number, known or unknown."""
        return self.attributes & CODEC_BITS


def read_header(window: Buffer, at: int = 0, *, position: int | None = None) -> BatchHeader | None:
    """Return the header that begins at `at`, or None when the window is too short for it.

    `position` is the place in errors and in the header; the default is `at`.
    """
    position = at if position is None else position
    room = len(window) - at
    if room < PREFIX_SIZE:
        return None
    offset, size, _, magic = _PREFIX.unpack_from(window, at)
    smallest = _SMALLEST_SIZES.get(magic)
    if smallest is None or size < smallest:
        raise _no_header(BatchLocation(position, offset), magic, size)
    if magic != MAGIC:
        return _read_legacy(window, at, position)
    if room < HEADER_SIZE:
        return None
    _, _, epoch, _, crc, attributes, last_delta, *rest = _V2.unpack_from(window, at)
    return BatchHeader(
        position,
        LOG_OVERHEAD + size,
        MAGIC,
        offset,
        offset + last_delta,
        epoch,
        crc,
        attributes,
        *rest,
    )


def place_batch(
    data: memoryview, header: BatchHeader, *, base_offset: int, leader_epoch: int
) -> BatchHeader:
    """Write base offset and leader epoch into a v2 batch; return its new header.

    Both lie outside the checksum. The caller has checked their ranges.
    """
    assert header.magic == MAGIC, "the old formats have no leader epoch"
    position = header.position
    _BASE_OFFSET.pack_into(data, position, base_offset)
    _LEADER_EPOCH.pack_into(data, position + _LEADER_EPOCH_START, leader_epoch)
    last_offset = base_offset + header.last_offset - header.base_offset
    # `_replace` takes twice as long, on the way of every append.
    return BatchHeader(
        position, header.size, MAGIC, base_offset, last_offset, leader_epoch, *header[6:]
    )


def ensure_crc(header: BatchHeader, data: memoryview) -> None:
    """Raise CorruptMessageError if the checksum does not match; `data` is the whole batch.

    For a wrapper only its own checksum is compared.
    """
    if header.magic == MAGIC:
        computed = crc32c(data[CRC_START:])
    else:
        computed = message_crc(data, 0, len(data))
    place = BatchLocation(header.position, header.base_offset)
    place.ensure_crc(header.crc, computed, message="the checksum is wrong")


def _no_header(place: BatchLocation, magic: int, size: int) -> CorruptMessageError:
    """Return the error for an unknown magic or, if the magic is known, for the size."""
    smallest = _SMALLEST_SIZES.get(magic)
    if smallest is None:
        return place.corrupt("unknown magic", expected="0, 1 or 2", found=magic)
    return place.corrupt(
        "a batch size that cannot be right", expected=f"at least {smallest}", found=size
    )


def _read_legacy(window: Buffer, at: int, position: int) -> BatchHeader | None:
    """Read the header of a message; None when the window is too short."""
    offset, size, _, magic = _PREFIX.unpack_from(window, at)
    if len(window) - at < _LEGACY_HEADERS[magic]:
        return None
    crc, _, attributes = _LEGACY.unpack_from(window, at + LOG_OVERHEAD)
    timestamp = _TIMESTAMP.unpack_from(window, at + 18)[0] if magic else -1
    return BatchHeader(
        position,
        LOG_OVERHEAD + size,
        magic,
        offset,
        offset,
        -1,
        crc,
        attributes,
        timestamp,
        timestamp,
        -1,
        -1,
        -1,
        -1,
    )
