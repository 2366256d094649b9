"""Damage for readers: half of the cases are random bytes, half are valid bytes changed afterwards.

A changed batch gets its length and CRC repaired, so that it passes the first check and reaches the
code behind it. Where whole batches still lie in a row each keeps its length and gets its own CRC.
Now and then a CRC is left wrong. Case `i` of a seed is always the same bytes: a failing case is
named by both.
"""

import random
import struct
from collections.abc import Callable, Sequence

from cordwood.core.binary import crc32, crc32c
from cordwood.records.compression import Codec, compress

ENDS_OF_64_BITS = (-(2**63), 2**63 - 1000, 2**63 - 2, 2**63 - 1)
INTERESTING = (
    *(-(2**31), -2, -1, 0, 1, 12, 13, 14, 49, 61, 127, 128, 255, 2**31 - 1),
    *ENDS_OF_64_BITS,
)
#: Base offset, base timestamp, max timestamp and producer id of v2; the others have two of them.
WIDE_FIELDS = (0, 27, 35, 43)
WIDE_LEGACY_FIELDS = (0, 18)
LEFT_WRONG = 0.05
MOST_RANDOM_BYTES = 200
V2_HEADER = 61


def damaged(chance: random.Random, samples: Sequence[bytes]) -> bytearray:
    """Return random bytes, or a batch among `samples` changed and repaired, with the same odds."""
    if chance.random() < 0.5:
        return _random_bytes(chance)
    data = _changed(chance, samples)
    repair(chance, data)
    return data


def left_damaged(chance: random.Random, samples: Sequence[bytes]) -> bytearray:
    """Return the damaged samples of `damaged`, for samples without checksums to repair."""
    return _random_bytes(chance) if chance.random() < 0.5 else _changed(chance, samples)


def _random_bytes(chance: random.Random) -> bytearray:
    return bytearray(chance.randbytes(chance.randrange(MOST_RANDOM_BYTES)))


def _changed(chance: random.Random, samples: Sequence[bytes]) -> bytearray:
    data = bytearray(chance.choice(samples))
    for _ in range(chance.randint(1, 3)):
        chance.choice(CHANGES)(chance, data)
    return data


def _flip(chance: random.Random, data: bytearray) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _set_number(chance: random.Random, data: bytearray) -> None:
    """Overwrite one, two, four or eight bytes with a number that sits on a boundary."""
    width, code = chance.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
    if len(data) >= width:
        number = chance.choice(INTERESTING) & ((1 << (8 * width)) - 1)
        struct.pack_into(f">{code}", data, chance.randrange(len(data) - width + 1), number)


def _set_early_byte(chance: random.Random, data: bytearray) -> None:
    """Hit the first bytes of the record section, where lengths and counts live."""
    if len(data) > V2_HEADER:
        data[chance.randrange(V2_HEADER, min(len(data), V2_HEADER + 12))] = chance.randrange(256)


def _set_wide_field(chance: random.Random, data: bytearray) -> None:
    """Bring a number of a header to where sums with it have no room in 64 bits."""
    if len(data) >= V2_HEADER:
        places = WIDE_FIELDS if data[16] == 2 else WIDE_LEGACY_FIELDS
        struct.pack_into(">q", data, chance.choice(places), chance.choice(ENDS_OF_64_BITS))


def _cut(chance: random.Random, data: bytearray) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _insert(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.randbytes(chance.randint(1, 8))


def _remove(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data) + 1)
    del data[at : at + chance.randint(1, 8)]


def _repeat(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = data[at : at + chance.randint(1, 40)]


CHANGES: tuple[Callable[[random.Random, bytearray], None], ...] = (
    *(_flip, _set_number, _set_early_byte, _set_wide_field, _cut, _insert, _remove, _repeat),
)


def repair(chance: random.Random, data: bytearray) -> None:
    """Make length and CRC of the first batch fit again; now and then compress its records first."""
    if len(data) < 18 or chance.random() < LEFT_WRONG:
        return
    bounds = _bounds(data)
    if len(bounds) > 1 and chance.random() < 0.8:
        _repair_each(chance, data, bounds)
    elif data[16] == 2 and len(data) >= V2_HEADER:
        _repair_v2(chance, data)
    elif data[16] < 2:
        _repair_legacy(data)
        if data[17] & 7 == 0 and chance.random() < 0.4:
            _wrap(chance, data)


def _bounds(data: bytearray) -> list[tuple[int, int]]:
    """Return start and end of consecutive batches, as far as their sizes are valid."""
    found, start = [], 0
    while len(data) - start > V2_HEADER:
        end = start + 12 + int.from_bytes(data[start + 8 : start + 12], signed=True)
        if end <= start + 17 or end > len(data):
            break
        found.append((start, end))
        start = end
    return found


def _repair_each(chance: random.Random, data: bytearray, bounds: Sequence[tuple[int, int]]) -> None:
    for start, end in bounds:
        if chance.random() < LEFT_WRONG:
            continue
        if data[start + 16] == 2 and end - start >= V2_HEADER:
            struct.pack_into(">I", data, start + 17, crc32c(data[start + 21 : end]))
        elif data[start + 16] < 2:
            struct.pack_into(">I", data, start + 12, crc32(data[start + 16 : end]))


def _repair_v2(chance: random.Random, data: bytearray) -> None:
    uncompressed = data[22] & 7 == 0
    if uncompressed and chance.random() < 0.4:
        codec = chance.choice((Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD))
        data[V2_HEADER:] = compress(codec, bytes(data[V2_HEADER:]))
        data[22] |= codec
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 17, crc32c(data[21:]))


def _repair_legacy(data: bytearray) -> None:
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 12, crc32(data[16:]))


def _wrap(chance: random.Random, data: bytearray) -> None:
    """Put the message, once or twice, into a compressed wrapper of its own format."""
    codec = chance.choice((Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
    magic, inner = data[16], bytes(data) * chance.randint(1, 2)
    offset, timestamp = bytes(data[:8]), bytes(8 * magic)
    value = compress(codec, inner, magic=magic)
    nulls = struct.pack(">ii", -1, len(value))
    data[:] = offset + bytes(8) + bytes((magic, codec)) + timestamp + nulls + value
    _repair_legacy(data)
