"""lz4 frames as Kafka writes them: independent blocks, decoded one by one.

    04 22 4d 18 | FLG | BD | content size u64 if flagged | header checksum | blocks | 00 00 00 00
    FLG  7-6 version 01, 5 blocks independent, 4 block checksums, 3 content size,
         2 content checksum, 1-0 zero          BD  6-4 largest block: 4 = 64 KiB .. 7 = 4 MiB
    block: size u32, top bit set = stored as it is | bytes | xxHash32 u32 if flagged

Integers are little-endian. The writer uses FLG 60, BD 40 and no options. The reader follows
Kafka's: dependent blocks are rejected, block checksums are verified, the content size and the
content checksum are ignored (the batch has its own CRC). The header checksum is the second byte of
xxHash32 over the descriptor. With magic 0 it also covers the four bytes of the frame's magic
(KIP-57), and readers of magic 0 do not check it. Stricter than Kafka: bytes after the frame are an
error, because Kafka would drop them in silence.

The vendor's frame reader is as fast on such frames. It cannot skip a header checksum, and it
accepts dependent blocks. The walk also distinguishes a small buffer from a damaged block.
"""

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.errors import CorruptMessageError
from cordwood.records.codecs import (
    lz4_block_into,
    lz4_compress_into,
    lz4_compressed_max,
    lz4_frame,
    lz4_frame_into,
)

MAGIC: Final = b"\x04\x22\x4d\x18"
BLOCK_SIZE: Final = 64 * 1024
DEFAULT_LEVEL: Final = 9

_DESCRIPTOR: Final = b"\x60\x40"
_END_MARK: Final = b"\x00\x00\x00\x00"
_STORED: Final = 0x80000000
_EXPANSION: Final = 255
_U32: Final = Struct("<I")

_FLAG_INDEPENDENT: Final = 0x20
_FLAG_BLOCK_CHECKSUMS: Final = 0x10
_FLAG_CONTENT_SIZE: Final = 0x08
_FLAG_CONTENT_CHECKSUM: Final = 0x04


class Frame(NamedTuple):
    """The decoded descriptor: start of the blocks, and their common properties."""

    blocks_at: int
    block_max: int
    has_block_checksums: bool
    has_content_checksum: bool


class Block(NamedTuple):
    """One block: its bytes, its encoding, and its checksum, if any."""

    payload: memoryview
    is_stored: bool
    checksum: memoryview

    def size_max(self, block_max: int) -> int:
        """Return the largest uncompressed size: an lz4 sequence expands at most 255 to 1."""
        if self.is_stored:
            return len(self.payload)
        return min(block_max, _EXPANSION * len(self.payload))


def compress(data: memoryview, level: int, *, magic: int = 2) -> bytes:
    """Return one frame; the default level means the fast compressor, as in Kafka."""
    covered = MAGIC + _DESCRIPTOR if magic == 0 else _DESCRIPTOR
    header = MAGIC + _DESCRIPTOR + bytes((header_checksum(covered),))
    if level == DEFAULT_LEVEL:
        return _compress_fast(data, header)
    return _without_checksums(memoryview(lz4_frame(data, level)), header)


def decompress_into(data: memoryview, out: memoryview, *, magic: int = 2) -> int | None:
    """Decompress every block into `out`; None when `out` is too small."""
    frame = read_descriptor(data, magic=magic)
    written = 0
    for block in blocks(data, frame):
        size = _block_into(block, out[written : written + frame.block_max], frame.block_max)
        if size is None:
            return None
        written += size
    return written


def bounds(data: memoryview, *, magic: int = 2) -> tuple[int, int]:
    """Return the least and the largest uncompressed size, from the block headers alone."""
    frame = read_descriptor(data, magic=magic)
    least = most = 0
    for block in blocks(data, frame):
        least += len(block.payload) if block.is_stored else 0
        most += block.size_max(frame.block_max)
    return least, most


def measure(data: memoryview, limit: int, *, magic: int = 2) -> int:
    """Count the uncompressed bytes in the room of one block; stops early once past `limit`."""
    frame = read_descriptor(data, magic=magic)
    scratch = memoryview(bytearray(frame.block_max))
    total = 0
    for block in blocks(data, frame):
        if total > limit:
            break
        total += _block_into(block, scratch, frame.block_max) or 0
    return total


def read_descriptor(data: memoryview, *, magic: int = 2) -> Frame:
    """Check the frame's header and return its fields."""
    if len(data) < 7 or bytes(data[:4]) != MAGIC:
        raise CorruptMessageError(
            "not an lz4 frame", expected=MAGIC.hex(), found=bytes(data[:4]).hex()
        )
    flags, sizes = data[4], data[5]
    _check_flags(flags, sizes)
    end = 14 if flags & _FLAG_CONTENT_SIZE else 6
    if len(data) <= end:
        raise CorruptMessageError("the lz4 header is cut short", expected=end + 1, found=len(data))
    expected = header_checksum(bytes(data[4:end]))
    if magic != 0 and data[end] != expected:
        raise CorruptMessageError(
            "the lz4 header checksum is wrong", expected=expected, found=data[end]
        )
    return Frame(
        blocks_at=end + 1,
        block_max=1 << (2 * (sizes >> 4) + 8),
        has_block_checksums=bool(flags & _FLAG_BLOCK_CHECKSUMS),
        has_content_checksum=bool(flags & _FLAG_CONTENT_CHECKSUM),
    )


def blocks(data: memoryview, frame: Frame) -> Iterator[Block]:
    """Yield the blocks up to the end mark, each within the available bytes."""
    position, end = frame.blocks_at, len(data)
    checksum = 4 if frame.has_block_checksums else 0
    while True:
        if end - position < 4:
            raise CorruptMessageError("the lz4 frame has no end mark", position=position)
        (header,) = _U32.unpack_from(data, position)
        position += 4
        if header == 0:
            break
        size = header & ~_STORED
        if size > frame.block_max or size + checksum > end - position:
            raise CorruptMessageError(
                "an lz4 block has an impossible size",
                position=position - 4,
                expected=f"at most {min(frame.block_max, end - position - checksum)}",
                found=size,
            )
        stop = position + size
        yield Block(data[position:stop], header >= _STORED, data[stop : stop + checksum])
        position = stop + checksum
    position += 4 if frame.has_content_checksum else 0
    if position != end:
        raise CorruptMessageError(
            "the lz4 frame does not end with its bytes", expected=position, found=end
        )


@lru_cache(maxsize=64)
def header_checksum(covered: bytes) -> int:
    """Return the second byte of xxHash32 over `covered`, which is shorter than 16 bytes."""
    mask = 0xFFFFFFFF
    value = 374761393 + len(covered)
    whole = len(covered) & ~3
    for (word,) in _U32.iter_unpack(covered[:whole]):
        value = (value + word * 3266489917) & mask
        value = ((value << 17 | value >> 15) * 668265263) & mask
    for byte in covered[whole:]:
        value = (value + byte * 374761393) & mask
        value = ((value << 11 | value >> 21) * 2654435761) & mask
    value = ((value ^ value >> 15) * 2246822519) & mask
    value = ((value ^ value >> 13) * 3266489917) & mask
    return (value ^ value >> 16) >> 8 & 0xFF


def _check_flags(flags: int, sizes: int) -> None:
    """Raise an error for the flags that Kafka's reader rejects."""
    if flags >> 6 != 1 or flags & 0x03:
        raise CorruptMessageError("an unknown version of lz4 frame", found=f"FLG {flags:02x}")
    if not flags & _FLAG_INDEPENDENT:
        raise CorruptMessageError(
            "an lz4 frame whose blocks lean on each other, which Kafka does not read",
            expected="independent blocks",
            found=f"FLG {flags:02x}",
        )
    if sizes & 0x8F or sizes < 0x40:
        raise CorruptMessageError("an unknown lz4 block size", found=f"BD {sizes:02x}")


def _block_into(block: Block, out: memoryview, block_max: int) -> int | None:
    """Decompress one block into `out`; None when `out` is too small."""
    size = _try_block(block, out, block_max)
    if size is not None:
        return size
    if len(out) < block.size_max(block_max):
        scratch = memoryview(bytearray(block.size_max(block_max)))
        size = _try_block(block, scratch, block_max)
        if size is not None and size <= len(out):
            out[:size] = scratch[:size]  # the vendor rejects an empty buffer, even for no bytes
            return size
        if size is not None:
            return None
    raise CorruptMessageError("an lz4 block is damaged")


def _try_block(block: Block, out: memoryview, block_max: int) -> int | None:
    """Decompress one block of any encoding; None when it is damaged or `out` too small."""
    payload = block.payload
    if block.checksum:
        return lz4_frame_into(_frame_of(block, block_max), out)
    if not block.is_stored:
        return lz4_block_into(payload, out)
    if len(payload) > len(out):
        return None
    out[: len(payload)] = payload
    return len(payload)


def _frame_of(block: Block, block_max: int) -> bytes:
    """Wrap one checksummed block as a frame of its own, for the vendor to verify."""
    descriptor = bytes((0x70, (block_max.bit_length() - 9) // 2 << 4))
    header = len(block.payload) | (_STORED if block.is_stored else 0)
    return b"".join(
        (
            MAGIC,
            descriptor,
            bytes((header_checksum(descriptor),)),
            _U32.pack(header),
            block.payload,
            block.checksum,
            _END_MARK,
        )
    )


def _compress_fast(data: memoryview, header: bytes) -> bytes:
    """Write the blocks with the fast compressor; incompressible blocks are stored."""
    count = -(-len(data) // BLOCK_SIZE)
    out = memoryview(bytearray(len(header) + count * (4 + lz4_compressed_max(BLOCK_SIZE)) + 4))
    out[: len(header)] = header
    position = len(header)
    for start in range(0, len(data), BLOCK_SIZE):
        block = data[start : start + BLOCK_SIZE]
        size = lz4_compress_into(block, out[position + 4 :])
        word = size
        if size >= len(block):
            size = len(block)
            word = size | _STORED
            out[position + 4 : position + 4 + size] = block
        _U32.pack_into(out, position, word)
        position += 4 + size
    out[position : position + 4] = _END_MARK
    return bytes(out[: position + 4])


def _without_checksums(written: memoryview, header: bytes) -> bytes:
    """Remove the block checksums from a frame of the vendor's, and give it our header."""
    parts: list[bytes | memoryview] = [header]
    for block in blocks(written, read_descriptor(written)):
        word = len(block.payload) | (_STORED if block.is_stored else 0)
        parts += (_U32.pack(word), block.payload)
    parts.append(_END_MARK)
    return b"".join(parts)
