"""CRC-32 (IEEE) of v0 and v1 messages: eight bytes a step, through eight tables."""

import numpy as np

from cordwood.records.kernels.intrinsics import byte_at
from cordwood.records.kernels.kernel_definition import Bytes, inlined

_POLYNOMIAL = 0xEDB88320
_ALL_ONES = 0xFFFFFFFF


def _tables() -> list[list[int]]:
    """Return the tables; table k is the effect of a byte with k more bytes after it."""
    first = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        first.append(crc)
    tables = [first]
    for _ in range(7):
        tables.append([crc >> 8 ^ first[crc & 0xFF] for crc in tables[-1]])
    return tables


_TABLES = np.array(_tables(), np.int64)


@inlined
def crc32(source: Bytes, position: int, end: int) -> int:
    """Return the CRC-32 of a range of the source."""
    crc = _ALL_ONES
    while position + 8 <= end:
        crc = (
            _TABLES[7, byte_at(source, position) ^ (crc & 0xFF)]
            ^ _TABLES[6, byte_at(source, position + 1) ^ (crc >> 8 & 0xFF)]
            ^ _TABLES[5, byte_at(source, position + 2) ^ (crc >> 16 & 0xFF)]
            ^ _TABLES[4, byte_at(source, position + 3) ^ (crc >> 24)]
            ^ _TABLES[3, byte_at(source, position + 4)]
            ^ _TABLES[2, byte_at(source, position + 5)]
            ^ _TABLES[1, byte_at(source, position + 6)]
            ^ _TABLES[0, byte_at(source, position + 7)]
        )
        position += 8
    while position < end:
        crc = crc >> 8 ^ _TABLES[0, (crc ^ byte_at(source, position)) & 0xFF]
        position += 1
    return crc ^ _ALL_ONES
