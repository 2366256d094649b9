"""Scan of a damaged log file: its whole batches, its repaired batches, and its damaged ranges.

A batch is whole if its checksum is valid; with a checker of records, only if these can be read too
(`readable_batches`). Where no whole batch begins, the scan searches for the
next one: first at the end that the damaged batch claims, then at every byte. The range before it is
one damaged batch, which is repaired if its checksum allows:

    size, magic   are not covered by the v2 checksum, so it confirms the corrected values
    one bit       the checksum identifies it (`bit_errors`); the records are parsed to confirm it

An unrepairable range is a `DamagedRange`. For an uncompressed v2 batch it contains the records that
can still be parsed. A record may contain bytes that look like a batch. So a batch behind damage is
accepted only if its offsets are not below those of the last two batches to which sizes lead. These
are before any damage whose header the next batch does not continue. A range whose end was found by
a search is marked: the sizes of the file do not lead to its end.

A search computes checksums of at most `SEARCH_FACTOR` times the bytes that it has passed, and of
`SEARCH_BYTES` more. A candidate that would exceed that is skipped, and the reason names it.
"""

import re
from collections.abc import Iterator
from itertools import islice
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import INT32_MAX, INT64_MAX, Buffer, crc32, crc32c
from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch
from cordwood.records.batch_checks import BatchChecker
from cordwood.records.batch_header import LARGEST_HEADER, BatchHeader, ensure_crc, read_header
from cordwood.records.batch_location import BatchLocation
from cordwood.records.batch_stream import PREFIX_SIZE, batch_at
from cordwood.records.control_records import EndTransaction
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import CRC_START, HEADER_SIZE, MAGIC
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.workbench.file_window import WINDOW_BYTES, FileWindow
from cordwood.workbench.salvage.bit_errors import CASTAGNOLI, IEEE, find_wrong_bit, is_checksum_bit
from cordwood.workbench.salvage.damaged_markers import (
    DamagedMarker,
    find_markers,
    has_marker_record,
)
from cordwood.workbench.salvage.readable_batches import (
    ReadableBatches,
    fault_of,
    rebuild_readable,
    with_right_count,
)
from cordwood.workbench.salvage.record_rebuild import RebuiltBatch, rebuild_batch

#: The limit of the bytes whose checksum a search computes: these, and some for each byte passed.
SEARCH_BYTES: Final = 64 << 20
SEARCH_FACTOR: Final = 8

#: The longest range in which a wrong bit is looked for although its size field is wrong.
LONGEST_UNSIZED: Final = 4 << 20

#: The number of whole batches behind damage that are tried as the successor of the damaged one.
MAX_ENDS: Final = 8

ZEROS: Final = "zeros"
#: The begins of repairs of fields next to the base offset, of more than one bit.
HEADER_REPAIRS: Final = ("size", "magic")

_SIZE: Final = Struct(">i")
_CRC: Final = Struct(">I")
_LEGACY_CRC_START: Final = 16
_LEGACY_SMALLEST: Final = 26
# Base offset and size are not negative, the size is not tiny, the magic is 0, 1 or 2.
_BEGIN: Final = re.compile(
    rb"(?=[\x00-\x7f].{7}(?!\x00\x00\x00[\x00-\x0d])[\x00-\x7f].{7}[\x00-\x02])", re.DOTALL
)
_THOUGH_RIGHT: Final = ", although the checksum is right"
_V2_REST: Final = Struct(">hiqqqhii")
_V0_REST: Final = Struct(">bi")
_V1_REST: Final = Struct(">bqi")


class WholeBatch(NamedTuple):
    """A batch with a valid checksum; `mended` are its bytes if they differ from the file's.

    `repairs` name the corrected fields. `marker` is the end of a transaction, if the batch is one.
    """

    header: BatchHeader
    mended: bytes | None = None
    repairs: tuple[str, ...] = ()
    marker: EndTransaction | None = None


class DamagedRange(NamedTuple):
    """A range without a whole batch, the reason, and the records that were rebuilt from it.

    `header` is parsed from its first bytes, if that is possible; its fields may be wrong. The end
    of a range that `was_searched` is where a search found a batch, and not where a size leads.
    `markers` in it are not whole.
    """

    position: int
    end: int
    why: str
    header: BatchHeader | None = None
    rebuilt: RebuiltBatch | None = None
    was_searched: bool = False
    markers: tuple[DamagedMarker, ...] = ()

    @property
    def hides_more(self) -> bool:
        """Return whether it contained more than was rebuilt; zeros are unused space."""
        if self.rebuilt is None or self.header is None:
            return self.why != ZEROS
        return self.header.end < self.end


Piece: TypeAlias = WholeBatch | DamagedRange


class _EndOfDamage(NamedTuple):
    """The position of the next batch behind damage, and how it was found."""

    position: int
    was_searched: bool = False
    has_skipped: bool = False


def scan_file(window: FileWindow, checker: BatchChecker | None = None) -> Iterator[Piece]:
    """Yield the whole batches and the damaged ranges of a file, in order.

    With a checker, the records of every batch are read, and those of a whole batch are readable.
    """
    position = 0
    floors = (0, 0)
    is_led, after = True, None
    readable = None if checker is None else ReadableBatches(window, checker)
    while position < window.end:
        piece = _piece_at(window, position, floors[0], readable)
        yield piece
        if isinstance(piece, WholeBatch):
            position += piece.header.size
            # A batch behind damage may be a value, with any offsets.
            is_led = is_led and after in {None, piece.header.base_offset}
            floors = _floors(floors, piece.header) if is_led else floors
            after = None
        else:
            position = piece.end
            is_led = is_led and not piece.was_searched
            after = -1 if piece.header is None else piece.header.next_offset


def _floors(floors: tuple[int, int], header: BatchHeader) -> tuple[int, int]:
    """Return the floor of a search behind a batch, and what it is if another batch follows.

    One of the last two batches may have a wrong offset, above or below the right one.
    """
    return min(floors[1], header.base_offset), header.next_offset


def _piece_at(
    window: FileWindow, position: int, floor: int, readable: ReadableBatches | None
) -> Piece:
    """Return the batch at a position, or the damaged range that begins there."""
    if readable is not None and readable.has(position):
        header = read_header(window.view(position, LARGEST_HEADER), position=position)
        assert header is not None, "a whole batch has a whole header"
        return _marked(window, header)
    try:
        header = _whole_at(window, position)
    except CorruptMessageError as error:
        end = _end_of_damage(window, position, floor)
        return _repair(window, position, end.position) or _damage(window, position, end, why=error)
    piece = _marked(window, header)
    is_final = readable is None or isinstance(piece, DamagedRange)
    return piece if is_final else _readable(window, header, piece)


def _marked(window: FileWindow, header: BatchHeader) -> Piece:
    """Return a batch with a right checksum; a control batch that no broker can load is damage."""
    try:
        return _with_marker(window, header)
    except BadRecordsError as error:
        why = f"{error}{_THOUGH_RIGHT}"
        return DamagedRange(header.position, header.end, why, header)


def _readable(window: FileWindow, header: BatchHeader, piece: Piece) -> Piece:
    """Return a batch with a right checksum, with a right record count, or as damage."""
    data = bytes(window.view(header.position, header.size))
    is_possible = 0 <= header.base_offset <= header.last_offset <= INT64_MAX
    # No checksum covers the base offset, so its records may be right although it is impossible.
    batch = batch_at(data if is_possible or header.magic != MAGIC else bytes(8) + data[8:], 0)
    assert batch is not None, "a whole batch is whole"
    fault = fault_of(batch)
    if fault is None:
        return piece
    mended = with_right_count(data)
    if mended is not None:
        repair = f"record count (was {header.record_count})"
        repaired = _check_repair(mended, header.position, (repair,))
        if repaired is not None:
            return repaired
    why = f"{fault}{_THOUGH_RIGHT}"
    return DamagedRange(header.position, header.end, why, header, rebuild_readable(data, header))


def whole_batch(window: FileWindow, position: int) -> WholeBatch:
    """Return the batch at a position; BadRecordsError unless checksum and marker are right."""
    return _with_marker(window, _whole_at(window, position))


def first_epoch(window: FileWindow) -> LeaderEpoch | None:
    """Return the epoch of the first whole batch that has one, and that the sizes lead to."""
    position = 0
    while position < window.end:
        try:
            header = read_header(window.view(position, LARGEST_HEADER), position=position)
        except BadRecordsError:
            return None
        if header is None:
            return None
        if header.partition_leader_epoch != NO_LEADER_EPOCH and _is_whole(window, position):
            return LeaderEpoch(header.partition_leader_epoch)
        position = header.end
    return None


def _with_marker(window: FileWindow, header: BatchHeader) -> WholeBatch:
    position = header.position
    if not header.is_control:
        return WholeBatch(header)
    marker = ProducedBatch.of(header, window.view(position, header.size)).marker
    return WholeBatch(header, marker=marker)


def _whole_at(window: FileWindow, position: int) -> BatchHeader:
    """Return the header of the batch at a position; CorruptMessageError unless it is whole."""
    header = read_header(window.view(position, LARGEST_HEADER), position=position)
    if header is None or header.end > window.end:
        raise BatchLocation(position, None if header is None else header.base_offset).corrupt(
            "a truncated batch",
            expected=f"{LARGEST_HEADER if header is None else header.size} bytes",
            found=window.end - position,
        )
    ensure_crc(header, window.view(position, header.size))
    return header


def _is_whole(window: FileWindow, position: int) -> bool:
    try:
        _whole_at(window, position)
    except CorruptMessageError:
        return False
    return True


# -- the next batch


def _end_of_damage(window: FileWindow, position: int, floor: int) -> _EndOfDamage:
    """Return the position of the next batch, or the end of the file."""
    claimed = _claimed_end(window, position)
    if claimed is not None and _leads_on(window, position, claimed):
        return _EndOfDamage(claimed)
    search = _BatchSearch(window, floor)
    ends = [*islice(search.find(position + 1), MAX_ENDS), window.end]
    valid = (each for each in ends if _is_valid_until(window, position, each))
    end = next(valid, ends[0])
    return _EndOfDamage(end, was_searched=True, has_skipped=search.has_skipped)


def _is_valid_until(window: FileWindow, position: int, end: int) -> bool:
    """Return whether the checksum is valid for a batch that ends here; its size is ignored."""
    data = window.view(position, min(end - position, INT32_MAX))
    if len(data) < _LEGACY_SMALLEST:
        return False
    if data[16] < MAGIC:
        return bool(crc32(data[_LEGACY_CRC_START:]) == _CRC.unpack_from(data, 12)[0])
    return len(data) >= HEADER_SIZE and crc32c(data[CRC_START:]) == _CRC.unpack_from(data, 17)[0]


def _claimed_end(window: FileWindow, position: int) -> int | None:
    """Return the end of the damaged batch by its own size, None if that is impossible."""
    view = window.view(position, PREFIX_SIZE)
    if len(view) < PREFIX_SIZE:
        return None
    end: int = position + LOG_OVERHEAD + _SIZE.unpack_from(view, 8)[0]
    return end if position + PREFIX_SIZE < end <= window.end else None


def _leads_on(window: FileWindow, position: int, end: int) -> bool:
    """Return whether a batch that may be damaged ends at a batch or at the end of the file."""
    if end == window.end or _is_whole(window, end):
        return True
    first, second = _header_at(window, position), _header_at(window, end)
    return first is not None and second is not None and second.base_offset == first.next_offset


def _header_at(window: FileWindow, position: int) -> BatchHeader | None:
    try:
        return read_header(window.view(position, LARGEST_HEADER), position=position)
    except CorruptMessageError:
        return None


class _BatchSearch:
    """A search for batches at every byte; `has_skipped` is set when its limit was reached."""

    def __init__(self, window: FileWindow, floor: int) -> None:
        self._window = window
        self._floor = floor
        self._budget = SEARCH_BYTES
        self.has_skipped = False

    def find(self, position: int) -> Iterator[int]:
        """Yield the positions where a batch begins, whole or with a valid header."""
        window = self._window
        while position < window.end:
            view = window.view(position, WINDOW_BYTES)
            for found in _BEGIN.finditer(view):
                at = position + found.start()
                if self._is_batch(at):
                    yield at
            passed = max(1, len(view) - PREFIX_SIZE + 1)
            position += passed
            self._budget += SEARCH_FACTOR * passed

    def _is_batch(self, at: int) -> bool:
        window = self._window
        if not _is_plausible(window, at, self._floor):
            return False
        claimed = _claimed_end(window, at)
        cost = window.end - at if claimed is None else claimed - at
        if cost > self._budget:
            self.has_skipped = True
            return False
        self._budget -= cost
        return _is_whole(window, at) or (claimed is not None and _leads_on(window, at, claimed))


def _is_plausible(window: FileWindow, at: int, floor: int) -> bool:
    """Return whether every field of a header is in its valid range.

    This is much cheaper than the checksum, which is computed only for plausible headers.
    """
    view, room = window.view(at, LARGEST_HEADER), window.end - at
    magic = view[16]
    smallest = HEADER_SIZE if magic == MAGIC else _LEGACY_SMALLEST
    size = LOG_OVERHEAD + _SIZE.unpack_from(view, 8)[0]
    if len(view) < smallest or size > room:
        return False
    if magic != MAGIC:
        return _is_plausible_message(window, at, size)
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


def _is_plausible_message(window: FileWindow, at: int, size: int) -> bool:
    """Return whether key and value fill a v0 or v1 message exactly."""
    view = window.view(at, LARGEST_HEADER)
    rest = _V1_REST if view[16] else _V0_REST
    if len(view) < 17 + rest.size:
        return False
    attributes, *times, key = rest.unpack_from(view, 17)
    if not (0 <= attributes <= 0x0F and key >= -1 and all(each >= -1 for each in times)):
        return False
    value_at = 17 + rest.size + max(key, 0)
    if value_at + _SIZE.size > size:
        return False
    value: int = _SIZE.unpack(window.peek(at + value_at, _SIZE.size))[0]
    return value >= -1 and value_at + _SIZE.size + max(value, 0) == size


# -- repairs


def _repair(window: FileWindow, position: int, end: int) -> WholeBatch | None:
    """Return the range as a repaired batch, None if its checksum does not allow that."""
    data = bytearray(window.view(position, min(end - position, INT32_MAX)))
    if len(data) < PREFIX_SIZE or _is_zeros(data):
        return None
    for repair in (_repair_v2, _repair_legacy):
        out = bytearray(data)
        repairs = repair(out)
        if repairs:
            return _check_repair(bytes(out), position, repairs)
    return None


def _check_repair(data: bytes, position: int, repairs: tuple[str, ...]) -> WholeBatch | None:
    """Return a repaired batch if all of its records can be parsed."""
    try:
        header = read_header(data, position=position)
        batch = batch_at(data, 0)
        assert header is not None, "a repaired batch is whole"
        assert batch is not None, "a repaired batch is whole"
        ensure_crc(header, memoryview(data))
        for _ in batch.records():
            pass
        marker = ProducedBatch.of(header, data).marker
    except BadRecordsError:
        return None
    return WholeBatch(header, data, repairs, marker)


def _repair_v2(data: bytearray) -> tuple[str, ...]:
    """Repair the bytes in place; return the repairs, none if the batch cannot be repaired."""
    if len(data) < HEADER_SIZE:
        return ()
    repairs = []
    if data[16] != MAGIC:
        repairs.append(_repair_of("magic", data[16], MAGIC))
        data[16] = MAGIC
    resized = _correct_size(data)
    repairs += resized
    crc = crc32c(data[CRC_START:]), 17
    wrong = _flip_wrong_bit(data, CRC_START, crc=crc, polynomial=CASTAGNOLI, is_sized=not resized)
    return () if wrong is None else (*repairs, *wrong)


def _repair_legacy(data: bytearray) -> tuple[str, ...]:
    repairs = _correct_size(data)
    crc = crc32(data[_LEGACY_CRC_START:]), 12
    wrong = _flip_wrong_bit(data, _LEGACY_CRC_START, crc=crc, polynomial=IEEE, is_sized=not repairs)
    return () if wrong is None or data[16] >= MAGIC else (*repairs, *wrong)


def _correct_size(data: bytearray) -> tuple[str, ...]:
    """Write the real size into the header, if it is wrong."""
    size = _SIZE.unpack_from(data, 8)[0]
    if size == len(data) - LOG_OVERHEAD:
        return ()
    _SIZE.pack_into(data, 8, len(data) - LOG_OVERHEAD)
    return (_repair_of("size", size, len(data) - LOG_OVERHEAD),)


def _repair_of(field: str, was: int, right: int) -> str:
    """Return the words for a repaired field; more than one wrong bit is more than a bit error."""
    is_bit = (was ^ right).bit_count() == 1
    return f"one bit of the {field} (was {was})" if is_bit else f"{field} (was {was})"


def _flip_wrong_bit(
    data: bytearray, start: int, *, crc: tuple[int, int], polynomial: int, is_sized: bool
) -> tuple[str, ...] | None:
    """Flip the single wrong bit, if there is one; None if more bits are wrong.

    `crc` is the computed checksum, and the position of the stored one. A long range is searched
    only if its size field `is_sized` right, so that the search is not longer than a batch.
    """
    computed, at = crc
    difference = computed ^ _CRC.unpack_from(data, at)[0]
    if not difference:
        return ()
    if is_checksum_bit(difference):
        _CRC.pack_into(data, at, computed)
        return ("one bit of the checksum",)
    if len(data) > LONGEST_UNSIZED and not is_sized:
        return None
    bit = find_wrong_bit(difference, len(data) - start, polynomial=polynomial)
    if bit is None:
        return None
    data[start + bit.at] ^= bit.mask
    return (f"one bit of byte {start + bit.at}",)


def _damage(
    window: FileWindow, position: int, end: _EndOfDamage, *, why: CorruptMessageError
) -> DamagedRange:
    """Return the damaged range, with the records that can be rebuilt from it."""
    header = _header_at(window, position)
    data = window.view(position, min(end.position - position, INT32_MAX))
    cause = ZEROS if _is_zeros(data) else str(why)
    if end.has_skipped:
        cause += "; the search for batches behind it was cut short"
    is_data = header is not None and not has_marker_record(data[: header.size])
    left = rebuild_batch(data, header) if header is not None and is_data else None
    markers = tuple(find_markers(data))
    return DamagedRange(position, end.position, cause, header, left, end.was_searched, markers)


def _is_zeros(data: Buffer) -> bool:
    """Return whether a range has only zeros: unused space, or an unreadable page."""
    return not any(data[:PREFIX_SIZE]) and not bytes(data).strip(b"\0")
