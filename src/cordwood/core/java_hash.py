"""Hashes of strings as in Java, on which Kafka's assignments depend (Java: `String.hashCode`)."""

from operator import mul
from struct import unpack
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_BITS: Final = 32
_MASK: Final = (1 << _BITS) - 1
_SIGN: Final = 1 << (_BITS - 1)
#: The characters that are multiplied together: a loop over them would take five times as long.
_AT_ONCE: Final = 64
_POWERS: Final = tuple(pow(31, each, 1 << _BITS) for each in range(_AT_ONCE + 1))


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: over UTF-16 code units, as a signed 32-bit number."""
    if text.isascii():
        units: Sequence[int] = text.encode()
    else:
        encoded = text.encode("utf-16-be", "surrogatepass")
        units = unpack(f">{len(encoded) // 2}H", encoded)
    value = 0
    for start in range(0, len(units), _AT_ONCE):
        part = units[start : start + _AT_ONCE]
        value = value * _POWERS[len(part)] + sum(map(mul, part[::-1], _POWERS))
    return signed_int32(value)


def signed_int32(value: int) -> int:
    """Return the lower 32 bits as Java's `int`, with its sign."""
    value &= _MASK
    return value - (1 << _BITS) if value & _SIGN else value


def absolute(value: int) -> int:
    """Return the absolute value of a signed 32-bit number (Kafka: `Utils.abs`).

    That of the lowest number is 0.
    """
    return 0 if value == -_SIGN else abs(value)
