"""snappy framing of Kafka: the Java library's framing around raw blocks, or one raw block alone.

    82 'S' 'N' 'A' 'P' 'P' 'Y' 00 | version i32 | oldest compatible version i32
    then chunks: size i32 | one raw snappy block of that size, 32 KiB of data each

Integers are big-endian. A stream without the eight magic bytes is one raw block. The header may
repeat between chunks (concatenated streams). Each raw block begins with its uncompressed size, and
no element of the format expands 3 bytes to more than 64. So the total size is known and verified
before any decompression.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from cordwood.core.errors import CorruptMessageError
from cordwood.records.codecs import snappy_compress_into, snappy_compressed_max, snappy_into

MAGIC: Final = b"\x82SNAPPY\x00"
HEADER: Final = MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
CHUNK_SIZE: Final = 32 * 1024

_I32: Final = Struct(">i")
_MAGIC_HEAD: Final = _I32.unpack_from(MAGIC)[0]


def compress(data: memoryview) -> bytes:
    """Return `data` in the Java framing; empty data is the header alone."""
    chunks = -(-len(data) // CHUNK_SIZE)
    out = memoryview(bytearray(len(HEADER) + chunks * (4 + snappy_compressed_max(CHUNK_SIZE))))
    out[: len(HEADER)] = HEADER
    position = len(HEADER)
    for start in range(0, len(data), CHUNK_SIZE):
        size = snappy_compress_into(data[start : start + CHUNK_SIZE], out[position + 4 :])
        _I32.pack_into(out, position, size)
        position += 4 + size
    return bytes(out[:position])


def decompress_into(data: memoryview, out: memoryview) -> int | None:
    """Decompress every block into `out`; None when `out` is too small."""
    if bytes(data[:16]) == HEADER and int.from_bytes(data[16:20], "big") == len(data) - 20 > 0:
        return _block_into(data[20:], out)  # one chunk, the usual case: no generator
    written = 0
    for block in blocks(data):
        size = _block_into(block, out[written:])
        if size is None:
            return None
        written += size
    return written


def measure(data: memoryview) -> int:
    """Return the uncompressed size from the block preambles, each checked against its own bytes."""
    return sum(block_size(block) for block in blocks(data))


def blocks(data: memoryview) -> Iterator[memoryview]:
    """Yield the raw blocks of either framing, each within the available bytes."""
    if bytes(data[:8]) != MAGIC:
        yield data
        return
    position, end = 0, len(data)
    while position < end:
        if end - position < 4:
            raise CorruptMessageError("a snappy chunk is cut short", position=position)
        (size,) = _I32.unpack_from(data, position)
        if size == _MAGIC_HEAD:
            position = _after_header(data, position)
            continue
        position += 4
        if not 0 < size <= end - position:
            raise CorruptMessageError(
                "a snappy chunk has an impossible size",
                position=position - 4,
                expected=f"1 to {end - position}",
                found=size,
            )
        yield data[position : position + size]
        position += size


def block_size(block: memoryview) -> int:
    """Return the uncompressed size in a raw block's preamble."""
    size = 0
    for index, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            break
    else:
        raise CorruptMessageError("a snappy block has no size", found=bytes(block[:5]).hex())
    if size * 3 > len(block) * 64:
        raise CorruptMessageError(
            "a snappy block names a size that its bytes cannot expand to",
            expected=f"at most {len(block) * 64 // 3}",
            found=size,
        )
    return size


def _block_into(block: memoryview, out: memoryview) -> int | None:
    """Decompress one block into `out`; None when `out` is too small."""
    size = snappy_into(block, out)
    if size is None and block_size(block) <= len(out):
        raise CorruptMessageError("a snappy block is damaged")
    return size


def _after_header(data: memoryview, position: int) -> int:
    """Check the header at `position` and return the position after it."""
    header = data[position : position + len(HEADER)]
    if len(header) < len(HEADER) or bytes(header[:8]) != MAGIC:
        raise CorruptMessageError("a snappy header is cut short", position=position)
    (version,) = _I32.unpack_from(header, 8)
    if version < 1:
        raise CorruptMessageError(
            "the snappy framing is too old", position=position, expected="at least 1", found=version
        )
    return position + len(HEADER)
