"""A batch of one record of zeros, whose compressed size is a thousandth of its size."""

import struct
import zlib
from collections.abc import Iterator
from typing import Final

from cordwood.core.binary import crc32c

_MIB: Final = 1 << 20


def compressed_batch(size: int) -> bytes:
    """Return a batch in gzip whose record has a value of `size` bytes."""
    packer = zlib.compressobj(9, wbits=31)
    pieces = (*(packer.compress(piece) for piece in _record(size)), packer.flush())
    after_crc = struct.pack(">hiqqqhii", 1, 0, 0, 0, -1, -1, -1, 1) + b"".join(pieces)
    return struct.pack(">qiibI", 0, len(after_crc) + 9, -1, 2, crc32c(after_crc)) + after_crc


def _record(size: int) -> Iterator[bytes]:
    """Yield the bytes of one record whose value are zeros."""
    value = _varint(size)
    fields = b"\0" + _varint(0) + _varint(0) + _varint(-1) + value
    yield _varint(len(fields) + size + 1) + fields
    for start in range(0, size, _MIB):
        yield bytes(min(_MIB, size - start))
    yield b"\0"


def _varint(number: int) -> bytes:
    rest, out = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*out, rest))
