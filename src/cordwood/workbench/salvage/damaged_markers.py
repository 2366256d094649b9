"""Markers that are still readable in a damaged range, although their batches are not whole.

The bytes of a plain marker are the same but for a few fields:

    0    base offset 8 | size 4 = 66 | leader epoch 4 | magic 1 = 2 | checksum 4
    21   attributes 2 = 0x30 | last offset delta 4 = 0 | both timestamps 8 + 8
    43   producer id 8 | producer epoch 2 | sequence 4 = -1 | record count 4 = 1
    61   record: 20 00 00 00 08 | key 0000, type 2 | 0c 0000 | coordinator epoch 4 | 00

A damaged range has a marker where it begins with the size and the magic of one, or where enough of
the bytes in it are those of a marker. Its type is certain if the checksum is that of a marker with
the fields that are left. Otherwise it is what the key reads, which proves nothing. But an abort
entry of an index that names the place of a commit is not certain either.
"""

import re
from collections.abc import Collection, Iterator
from itertools import product
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, crc32c
from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record_batch import HEADER_SIZE

_OFFSET: Final = Struct(">q")
_CRC: Final = Struct(">I")
_EPOCH: Final = Struct(">h")
_COORDINATOR_EPOCH: Final = Struct(">i")
_CRC_AT: Final = 17
_CRC_START: Final = 21
_TIMES_AT: Final = (27, 35)
_PRODUCER_ID_AT: Final = 43
_EPOCH_AT: Final = 51
_KEY_AT: Final = 66
#: The low byte of the type in the key.
_TYPE_AT: Final = 69
_COORDINATOR_EPOCH_AT: Final = 73

_MARKER: Final = bytes(
    control_batch(
        EndTransaction(is_commit=True, coordinator_epoch=0),
        BatchFields(base_offset=0, partition_leader_epoch=0, producer_id=0, producer_epoch=0),
        timestamp=0,
    )
)
MARKER_SIZE: Final = len(_MARKER)
#: Places of bytes that every marker has, and zeros have not: size, magic, attributes and so on.
_TELLING: Final = (11, 16, 22, 53, 54, 55, 56, 60, 61, 65, 70)
#: The number of them that shows a marker.
_ENOUGH: Final = 4
_TYPES: Final = {b"\0": False, b"\1": True}

#: Parts of a marker, one of which is left, and their places in it.
_PARTS: Final = tuple(
    (re.compile(part, re.DOTALL), at)
    for part, at in (
        (rb"(?=\0\0\0\x42.{4}\x02)", 8),
        (rb"(?=\xff{4}\0\0\0\x01)", 53),
        (rb"(?=\x20\0\0\0\x08)", 61),
        (rb"(?=\0\0\0[\0\x01]\x0c\0\0)", _KEY_AT),
    )
)


class DamagedMarker(NamedTuple):
    """A marker in a damaged range: its producer id, its offset, and its type by the key.

    They are None if they are not readable. The producer id may be damaged too. `image` are its
    bytes, if the range has all of them.
    """

    producer_id: int | None
    offset: int | None
    is_commit: bool | None
    image: bytes = b""

    def proven_type(
        self, producer_id: int, *, epochs: Collection[int], coordinator_epochs: Collection[int]
    ) -> bool | None:
        """Return whether the checksum proves a commit of a producer, or an abort; else None.

        The epochs are those that the producer and its coordinator may have had.
        """
        image = self.image
        if not image:
            return None
        fields = product(
            {image[at : at + 8] for at in _TIMES_AT},
            {image[_EPOCH_AT : _EPOCH_AT + 2], *map(_EPOCH.pack, epochs)},
            {image[_COORDINATOR_EPOCH_AT:-1], *map(_COORDINATOR_EPOCH.pack, coordinator_epochs)},
            _TYPES.items(),
        )
        for time, epoch, coordinator_epoch, (kind, is_commit) in fields:
            data = bytearray(_MARKER)
            for at, part in (
                *((at, time) for at in _TIMES_AT),
                (_PRODUCER_ID_AT, _OFFSET.pack(producer_id)),
                (_EPOCH_AT, epoch),
                (_TYPE_AT, kind),
                (_COORDINATOR_EPOCH_AT, coordinator_epoch),
            ):
                data[at : at + len(part)] = part
            if crc32c(data[_CRC_START:]) == _CRC.unpack_from(image, _CRC_AT)[0]:
                return is_commit
        return None


def find_markers(data: Buffer) -> Iterator[DamagedMarker]:
    """Yield the markers in the bytes of a damaged range, in order."""
    starts = {found.start() - at for part, at in _PARTS for found in part.finditer(data)}
    for start in sorted(starts):
        if start > -_KEY_AT and _is_marker(data, start):
            yield _marker_at(data, start)


def has_marker_record(data: Buffer) -> bool:
    """Return whether a damaged batch has the record of a marker, so that it is not data."""
    record = bytes(data[HEADER_SIZE:])
    same = _MARKER[HEADER_SIZE:_TYPE_AT], _MARKER[_TYPE_AT + 1 : _COORDINATOR_EPOCH_AT]
    found = (
        record[: _TYPE_AT - HEADER_SIZE],
        record[_TYPE_AT + 1 - HEADER_SIZE : _COORDINATOR_EPOCH_AT - HEADER_SIZE],
    )
    return len(data) == MARKER_SIZE and found == same and data[_TYPE_AT] <= 1


def _is_marker(data: Buffer, start: int) -> bool:
    """Return whether enough bytes are those of a marker that begins here."""
    is_first = start == 0 and len(data) >= len(_MARKER) and _has_begin(data, start)
    places = (at for at in _TELLING if 0 <= start + at < len(data))
    return is_first or sum(data[start + at] == _MARKER[at] for at in places) >= _ENOUGH


def _has_begin(data: Buffer, start: int) -> bool:
    """Return whether size and magic are those of a marker."""
    return start >= 0 and all(
        data[start + at : start + end] == _MARKER[at:end] for at, end in ((8, 12), (16, 17))
    )


def _marker_at(data: Buffer, start: int) -> DamagedMarker:
    kind, producer = (
        bytes(data[start + at : start + end]) if start + at >= 0 else b""
        for at, end in ((_TYPE_AT, _TYPE_AT + 1), (_PRODUCER_ID_AT, _EPOCH_AT))
    )
    image = bytes(data[max(start, 0) : start + len(_MARKER)])
    return DamagedMarker(
        _OFFSET.unpack(producer)[0] if len(producer) == _OFFSET.size else None,
        _OFFSET.unpack_from(data, start)[0] if _has_begin(data, start) else None,
        _TYPES.get(kind),
        image if len(image) == len(_MARKER) else b"",
    )
