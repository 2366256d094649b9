"""Every batch of a damaged log file: those that are whole, those that can be mended, and the rest.

A batch is whole when its checksum is right. Where none begins, the next one is looked for: at the
end that the damaged one claims, or else at every byte. Then the stretch between is one batch that
was hurt, and is mended if its checksum says how:

    size, magic   lie outside the v2 checksum: with the right ones it is right
    one bit       the checksum says which (`bit_errors`); the records are read to make sure

What cannot be mended is `Damage`; of an uncompressed v2 batch with the records that still read.
A record may hold bytes that look like a batch: behind damage one is believed if its offsets lie at
or above those of the last but one before the damage.
"""

import re
from collections.abc import Iterator
from itertools import islice
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import INT32_MAX, crc32, crc32c
from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.records.batch import CRC_START, HEADER_SIZE, MAGIC
from cordwood.records.header import LARGEST_HEADER, BatchHeader, ensure_crc, read_header
from cordwood.records.message import LOG_OVERHEAD
from cordwood.records.place import Place
from cordwood.records.stream import PREFIX_SIZE, batch_at
from cordwood.workbench.bit_errors import CASTAGNOLI, IEEE, is_of_the_checksum, wrong_bit
from cordwood.workbench.salvage_records import Rebuilt, rebuilt
from cordwood.workbench.windows import WINDOW_BYTES, Window

#: So many whole batches behind damage are tried as what follows the batch that was hurt.
MOST_ENDS: Final = 8

ZEROS: Final = "zeros"

_SIZE: Final = Struct(">i")
_CRC: Final = Struct(">I")
_LEGACY_CRC_START: Final = 16
_LEGACY_SMALLEST: Final = 26
# Base offset and size are no negative numbers, the size is not tiny, the magic is 0, 1 or 2.
_BEGIN: Final = re.compile(
    rb"(?=[\x00-\x7f].{7}(?!\x00\x00\x00[\x00-\x0d])[\x00-\x7f].{7}[\x00-\x02])", re.DOTALL
)
_V2_REST: Final = Struct(">hiqqqhii")
_V0_REST: Final = Struct(">bi")
_V1_REST: Final = Struct(">bqi")


class WholeBatch(NamedTuple):
    """A batch whose checksum is right; `mended` is its bytes where they are not those in the file.

    `repairs` say what was mended.
    """

    header: BatchHeader
    mended: bytes | None = None
    repairs: tuple[str, ...] = ()


class Damage(NamedTuple):
    """A stretch that is no batch, why, and what is left of it.

    `header` is what its first bytes say, if they say anything; it is not to be believed.
    """

    position: int
    end: int
    why: str
    header: BatchHeader | None = None
    rebuilt: Rebuilt | None = None

    @property
    def hides_more(self) -> bool:
        """Whether there was more in it than what was rebuilt; zeros are room that was not used."""
        if self.rebuilt is None or self.header is None:
            return self.why != ZEROS
        return self.header.end < self.end


Piece: TypeAlias = WholeBatch | Damage


def pieces(window: Window) -> Iterator[Piece]:
    """Yield what a file is made of, from its start to its end."""
    position = 0
    floors = (0, 0)
    while position < window.end:
        try:
            piece: Piece = WholeBatch(_whole_at(window, position))
        except CorruptMessageError as error:
            end = _end_of_damage(window, position, floors[0])
            piece = _mended(window, position, end) or _damage(window, position, end, why=error)
        yield piece
        if isinstance(piece, WholeBatch):
            floors = (floors[1], piece.header.next_offset)
            position += piece.header.size
        else:
            position = piece.end


def _whole_at(window: Window, position: int) -> BatchHeader:
    """Return the header of the batch that begins here; CorruptMessageError unless it is whole."""
    header = read_header(window.view(position, LARGEST_HEADER), position=position)
    if header is None or header.end > window.end:
        raise Place(position, None if header is None else header.base_offset).corrupt(
            "a batch that is cut off",
            expected=f"{LARGEST_HEADER if header is None else header.size} bytes",
            found=window.end - position,
        )
    ensure_crc(header, window.view(position, header.size))
    return header


def _is_whole(window: Window, position: int) -> bool:
    try:
        _whole_at(window, position)
    except CorruptMessageError:
        return False
    return True


# -- where the next batch is


def _end_of_damage(window: Window, position: int, floor: int) -> int:
    """Return where the next batch begins, or the end of the file."""
    claimed = _claimed_end(window, position)
    if claimed is not None and _leads_on(window, position, claimed):
        return claimed
    ends = [*islice(_begins_from(window, position + 1, floor), MOST_ENDS), window.end]
    return next((each for each in ends if _is_right_there(window, position, each)), ends[0])


def _is_right_there(window: Window, position: int, end: int) -> bool:
    """Whether the checksum is right when the batch ends here, whatever it says of its size."""
    data = window.view(position, min(end - position, INT32_MAX))
    if len(data) < _LEGACY_SMALLEST:
        return False
    if data[16] < MAGIC:
        return bool(crc32(data[_LEGACY_CRC_START:]) == _CRC.unpack_from(data, 12)[0])
    return len(data) >= HEADER_SIZE and crc32c(data[CRC_START:]) == _CRC.unpack_from(data, 17)[0]


def _claimed_end(window: Window, position: int) -> int | None:
    """Return where the damaged batch says that it ends, None if it cannot be."""
    view = window.view(position, PREFIX_SIZE)
    if len(view) < PREFIX_SIZE:
        return None
    end: int = position + LOG_OVERHEAD + _SIZE.unpack_from(view, 8)[0]
    return end if position + PREFIX_SIZE < end <= window.end else None


def _leads_on(window: Window, position: int, end: int) -> bool:
    """Whether a batch that may be hurt ends where the file does, or where the next one begins."""
    if end == window.end or _is_whole(window, end):
        return True
    first, second = _header_at(window, position), _header_at(window, end)
    return first is not None and second is not None and second.base_offset == first.next_offset


def _header_at(window: Window, position: int) -> BatchHeader | None:
    try:
        return read_header(window.view(position, LARGEST_HEADER), position=position)
    except CorruptMessageError:
        return None


def _begins_from(window: Window, position: int, floor: int) -> Iterator[int]:
    """Yield the places from `position` on at which a batch begins, be it hurt behind its header."""
    while position < window.end:
        view = window.view(position, WINDOW_BYTES)
        for found in _BEGIN.finditer(view):
            at = position + found.start()
            if _is_begin(window, at, floor):
                yield at
        position += max(1, len(view) - PREFIX_SIZE + 1)


def _is_begin(window: Window, at: int, floor: int) -> bool:
    if not _is_plausible(window.view(at, LARGEST_HEADER), window.end - at, floor):
        return False
    claimed = _claimed_end(window, at)
    return _is_whole(window, at) or (claimed is not None and _leads_on(window, at, claimed))


def _is_plausible(view: memoryview, room: int, floor: int) -> bool:
    """Whether a header says nothing that no header says, so that its batch is worth summing up."""
    magic = view[16]
    smallest = HEADER_SIZE if magic == MAGIC else _LEGACY_SMALLEST
    size = LOG_OVERHEAD + _SIZE.unpack_from(view, 8)[0]
    if len(view) < smallest or size > room:
        return False
    if magic != MAGIC:
        rest = _V1_REST if magic else _V0_REST
        attributes, *times, key = rest.unpack_from(view, 17)
        return 0 <= attributes <= 0x0F and -1 <= key <= size and all(each >= -1 for each in times)
    attributes, last_delta, _, latest, *producer, count = _V2_REST.unpack_from(view, 21)
    base_offset = int.from_bytes(view[:8])
    return (
        0 <= attributes <= 0x7F
        and base_offset >= floor
        and last_delta >= 0
        and 0 <= count <= last_delta + 1
        and latest >= -1
        and all(each >= -1 for each in producer)
    )


# -- what can be mended


def _mended(window: Window, position: int, end: int) -> WholeBatch | None:
    """Return the stretch as a batch, if its checksum says what it was."""
    data = bytearray(window.view(position, min(end - position, INT32_MAX)))
    if len(data) < PREFIX_SIZE:
        return None
    for mend in (_mended_v2, _mended_legacy):
        out = bytearray(data)
        repairs = mend(out)
        if repairs:
            return _checked(bytes(out), position, repairs)
    return None


def _checked(data: bytes, position: int, repairs: tuple[str, ...]) -> WholeBatch | None:
    """Return a mended batch once all its records have been read."""
    try:
        header = read_header(data, position=position)
        batch = batch_at(data, 0)
        assert header is not None, "a mended batch is whole"
        assert batch is not None, "a mended batch is whole"
        ensure_crc(header, memoryview(data))
        for _ in batch.records():
            pass
    except BadRecordsError:
        return None
    return WholeBatch(header, data, repairs)


def _mended_v2(data: bytearray) -> tuple[str, ...]:
    """Put right what can be; return what it was, nothing if it could not be put right."""
    if len(data) < HEADER_SIZE:
        return ()
    repairs = []
    if data[16] != MAGIC:
        repairs.append(f"the magic, {data[16]}")
        data[16] = MAGIC
    repairs += _resized(data)
    wrong = _turned(data, CRC_START, (crc32c(data[CRC_START:]), 17), CASTAGNOLI)
    return () if wrong is None else (*repairs, *wrong)


def _mended_legacy(data: bytearray) -> tuple[str, ...]:
    repairs = _resized(data)
    crc = crc32(data[_LEGACY_CRC_START:])
    wrong = _turned(data, _LEGACY_CRC_START, (crc, 12), IEEE)
    return () if wrong is None or data[16] >= MAGIC else (*repairs, *wrong)


def _resized(data: bytearray) -> tuple[str, ...]:
    """Write the size that the batch has."""
    size = _SIZE.unpack_from(data, 8)[0]
    if size == len(data) - LOG_OVERHEAD:
        return ()
    _SIZE.pack_into(data, 8, len(data) - LOG_OVERHEAD)
    return (f"the size, {size}",)


def _turned(
    data: bytearray, start: int, crc: tuple[int, int], polynomial: int
) -> tuple[str, ...] | None:
    """Turn the one bit that is wrong, if one is and no more; `crc` is what and where it is."""
    computed, at = crc
    difference = computed ^ _CRC.unpack_from(data, at)[0]
    if not difference:
        return ()
    if is_of_the_checksum(difference):
        _CRC.pack_into(data, at, computed)
        return ("a bit of the checksum",)
    bit = wrong_bit(difference, len(data) - start, polynomial=polynomial)
    if bit is None:
        return None
    data[start + bit.at] ^= bit.mask
    return (f"a bit of byte {start + bit.at}",)


def _damage(window: Window, position: int, end: int, *, why: CorruptMessageError) -> Damage:
    """Say what is wrong, and what can be read all the same."""
    header = _header_at(window, position)
    data = window.view(position, min(end - position, INT32_MAX))
    is_empty = not any(data[:PREFIX_SIZE]) and not data.tobytes().strip(b"\0")
    words = ZEROS if is_empty else str(why)
    left = None if header is None else rebuilt(data, header)
    return Damage(position, end, words, header, left)
