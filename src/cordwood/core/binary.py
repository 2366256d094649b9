"""Varints and checksums, as pure functions over buffers (Kafka: `ByteUtils`, `Crc32C`).

    varint      zigzag, then groups of 7 bits, lowest first; bit 7 set on every byte but the last
    zigzag      0, -1, 1, -2, ... become 0, 1, 2, 3, ...: small absolute values stay short
    example     300 -> zigzag 600 = 0b100_1011000 -> 0xd8 0x04

A varint has at most 5 bytes, a varlong at most 10. Bits of the last byte above the 32nd (64th) are
dropped, as in Kafka, so that both implementations read the same number from the same bytes.

Readers take a buffer, the position to read at and the end of the range, with `0 <= position` and
`end <= len(data)`. They return the value and the position after it.
"""

import zlib
from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Final, TypeAlias

from cordwood.core.errors import BytesError

Buffer: TypeAlias = bytes | bytearray | memoryview


def _crc32c_of_extension() -> Callable[[Buffer, int], int]:
    """Load the fast wheel's extension directly: the import of its package takes 20 ms."""
    package = find_spec("crc32c")
    spec = package and PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ImportError(name="crc32c")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[[Buffer, int], int] = module.crc32c
    return function


try:
    _crc32c = _crc32c_of_extension()
except ImportError:
    import google_crc32c

    def _crc32c(data: Buffer, value: int) -> int:
        """Adapt the slower wheel, which takes its arguments in reverse order and only bytes."""
        return int(google_crc32c.extend(value, bytes(data)))


INT32_MIN: Final = -(1 << 31)
INT32_MAX: Final = (1 << 31) - 1
UINT32_MAX: Final = (1 << 32) - 1
INT64_MIN: Final = -(1 << 63)
INT64_MAX: Final = (1 << 63) - 1
UINT64_MAX: Final = (1 << 64) - 1

VARINT_MAX_SIZE: Final = 5
VARLONG_MAX_SIZE: Final = 10

_CACHED_BELOW: Final = 1 << 13  # two bytes


def bytes_view(data: Buffer) -> memoryview:
    """Return `data` as unsigned bytes; views of Arrow buffers, for example, are signed."""
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def crc32c(data: Buffer, value: int = 0) -> int:
    """Return the CRC-32C (Castagnoli) of `data`, continued from `value`; used by v2 batches."""
    return _crc32c(data, value)


def crc32(data: Buffer, value: int = 0) -> int:
    """Return the CRC-32 (IEEE) of `data`, continued from `value`; used by v0 and v1 messages."""
    return zlib.crc32(data, value)


def read_varint(data: Buffer, position: int, end: int) -> tuple[int, int]:
    """Read a signed 32-bit number."""
    if position < end and (first := data[position]) < 0x80:
        return (first >> 1) ^ -(first & 1), position + 1
    raw, after = _read_groups(data, position, end, longest=VARINT_MAX_SIZE)
    raw &= UINT32_MAX
    return (raw >> 1) ^ -(raw & 1), after


def read_varlong(data: Buffer, position: int, end: int) -> tuple[int, int]:
    """Read a signed 64-bit number."""
    if position < end and (first := data[position]) < 0x80:
        return (first >> 1) ^ -(first & 1), position + 1
    raw, after = _read_groups(data, position, end, longest=VARLONG_MAX_SIZE)
    raw &= UINT64_MAX
    return (raw >> 1) ^ -(raw & 1), after


def read_unsigned_varint(data: Buffer, position: int, end: int) -> tuple[int, int]:
    """Read an unsigned 32-bit number, which is not zigzagged."""
    raw, after = _read_groups(data, position, end, longest=VARINT_MAX_SIZE)
    return raw & UINT32_MAX, after


def append_varint(out: bytearray, value: int) -> None:
    """Append a signed 32-bit number."""
    if not INT32_MIN <= value <= INT32_MAX:
        raise _does_not_fit(value, len(out), "a signed number of 32 bits")
    _append_groups(out, (value << 1) ^ (value >> 31))


def append_varlong(out: bytearray, value: int) -> None:
    """Append a signed 64-bit number."""
    if not INT64_MIN <= value <= INT64_MAX:
        raise _does_not_fit(value, len(out), "a signed number of 64 bits")
    _append_groups(out, (value << 1) ^ (value >> 63))


def append_unsigned_varint(out: bytearray, value: int) -> None:
    """Append an unsigned 32-bit number."""
    if not 0 <= value <= UINT32_MAX:
        raise _does_not_fit(value, len(out), "an unsigned number of 32 bits")
    _append_groups(out, value)


class CachedVarints(dict[int, bytes]):
    """Cache of encoded signed numbers; numbers up to two bytes are encoded once."""

    def __init__(self, append: Callable[[bytearray, int], None]) -> None:
        super().__init__()
        self._append = append

    def __missing__(self, number: int) -> bytes:
        out = bytearray()
        self._append(out, number)
        made = bytes(out)
        if -1 <= number < _CACHED_BELOW:
            self[number] = made
        return made


def _read_groups(data: Buffer, position: int, end: int, *, longest: int) -> tuple[int, int]:
    """Join groups of 7 bits until a byte below 0x80."""
    raw = shift = 0
    for at in range(position, min(end, position + longest)):
        byte = data[at]
        if byte < 0x80:
            return raw | byte << shift, at + 1
        raw |= (byte & 0x7F) << shift
        shift += 7
    raise BytesError(
        "a varint without an end",
        position=position,
        expected=f"a byte below 0x80 among at most {longest}",
        found=f"{shift // 7} bytes, none of them below",
    )


def _append_groups(out: bytearray, raw: int) -> None:
    """Append `raw`, lowest 7 bits first."""
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)


def _does_not_fit(value: int, position: int, expected: str) -> BytesError:
    return BytesError(
        "a number that does not fit", position=position, expected=expected, found=value
    )
