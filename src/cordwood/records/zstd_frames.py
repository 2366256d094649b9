"""zstd framing (RFC 8878): one or more frames, whose headers bound their content.

    28 b5 2f fd | descriptor | window | dictionary id | content size | blocks | checksum u32
    descriptor  7-6 width of the content size, 5 single segment (no window), 2 checksum,
                1-0 width of the dictionary id
    block: u24 little-endian: 0 last, 2-1 kind (raw, one repeated byte, compressed), 23-3 size
    5? 2a 4d 18 | size u32 | that many bytes to skip

Streaming writers omit the content size. Then a raw or repeated block holds exactly its size and a
compressed one at most 128 KiB, and at most the window.
"""

from typing import Final, NamedTuple

from cordwood.core.errors import CorruptMessageError
from cordwood.records.codecs import zstd_frame, zstd_into

MAGIC: Final = b"\x28\xb5\x2f\xfd"
BLOCK_MAX: Final = 128 * 1024

_CHECKSUM: Final = 0x04
_SINGLE_SEGMENT: Final = 0x20
_DICTIONARY_ID_SIZES: Final = (0, 1, 2, 4)
_CONTENT_SIZE_SIZES: Final = (0, 2, 4, 8)
_RAW, _REPEATED, _RESERVED = 0, 1, 3


class FrameHeader(NamedTuple):
    """The fields of a frame header; the content size may be unknown."""

    blocks_at: int
    block_max: int
    content_size: int | None
    has_checksum: bool


def compress(data: memoryview, level: int) -> bytes:
    """Return one frame, with its content size."""
    return zstd_frame(data, level)


def decompress_into(data: memoryview, out: memoryview) -> int | None:
    """Decompress all frames into `out`; None when `out` is too small.

    The vendor may ignore a wrong content size when the last block is empty, so the output size is
    compared with the framing.
    """
    least, most = bounds(data)
    if least > len(out):
        return None
    size = zstd_into(data, out)
    if size is None:
        if most > len(out) and _fills(data, out):
            return None
        raise CorruptMessageError("the zstd stream is damaged")
    if not least <= size <= most:
        raise CorruptMessageError(
            "the zstd stream holds another size than it names", expected=least, found=size
        )
    return size


def _fills(data: memoryview, out: memoryview) -> bool:
    """Return whether the failed attempt reached the end of `out`: it overwrites a changed byte."""
    if not out:
        return True
    left = out[-1]
    out[-1] = left ^ 0xFF
    zstd_into(data, out)
    return out[-1] == left


def bounds(data: memoryview) -> tuple[int, int]:
    """Return the least and the largest uncompressed size, from the frame headers alone."""
    least = most = position = 0
    while position < len(data) or not position:
        if _is_skippable(data, position):
            position += 8 + int.from_bytes(data[position + 4 : position + 8], "little")
            _check_end(data, position)
            continue
        header = _read_header(data, position)
        position, frame_least, frame_most = _walk_blocks(data, header)
        if header.content_size is not None:
            if not frame_least <= header.content_size <= frame_most:
                raise CorruptMessageError(
                    "a zstd frame names a size that its blocks cannot hold",
                    expected=f"{frame_least} to {frame_most}",
                    found=header.content_size,
                )
            frame_least = frame_most = header.content_size
        least += frame_least
        most += frame_most
    return least, most


def _is_skippable(data: memoryview, position: int) -> bool:
    """Return whether a skippable frame begins here."""
    return (
        len(data) - position >= 8
        and data[position] & 0xF0 == 0x50
        and bytes(data[position + 1 : position + 4]) == b"\x2a\x4d\x18"
    )


def _read_header(data: memoryview, position: int) -> FrameHeader:
    """Read the frame header at `position`."""
    if bytes(data[position : position + 4]) != MAGIC or len(data) - position < 6:
        raise CorruptMessageError(
            "not a zstd frame",
            position=position,
            expected=MAGIC.hex(),
            found=bytes(data[position : position + 4]).hex(),
        )
    descriptor = data[position + 4]
    position += 5
    block_max = BLOCK_MAX
    is_single = bool(descriptor & _SINGLE_SEGMENT)
    if not is_single:
        window = data[position]
        base = 1 << (10 + (window >> 3))
        block_max = min(BLOCK_MAX, base + (base >> 3) * (window & 7))
        position += 1
    position += _DICTIONARY_ID_SIZES[descriptor & 3]
    width = _CONTENT_SIZE_SIZES[descriptor >> 6] or int(is_single)
    size = int.from_bytes(data[position : position + width], "little") + 256 * (width == 2)
    position += width
    _check_end(data, position)
    return FrameHeader(position, block_max, size if width else None, bool(descriptor & _CHECKSUM))


def _walk_blocks(data: memoryview, header: FrameHeader) -> tuple[int, int, int]:
    """Return the end of the frame, and the least and the largest size of its blocks."""
    position, least, most = header.blocks_at, 0, 0
    is_last = False
    while not is_last:
        _check_end(data, position + 3)
        word = int.from_bytes(data[position : position + 3], "little")
        is_last, kind, size = bool(word & 1), word >> 1 & 3, word >> 3
        if kind == _RESERVED or size > BLOCK_MAX:
            raise CorruptMessageError(
                "a zstd block has an impossible header", position=position, found=f"{word:06x}"
            )
        is_exact = kind in (_RAW, _REPEATED)
        least += size if is_exact else 0
        most += size if is_exact else header.block_max
        position += 3 + (1 if kind == _REPEATED else size)
    position += 4 if header.has_checksum else 0
    _check_end(data, position)
    return position, least, most


def _check_end(data: memoryview, position: int) -> None:
    """Raise an error for a frame beyond the available bytes."""
    if position > len(data):
        raise CorruptMessageError("a zstd frame is cut short", expected=position, found=len(data))
