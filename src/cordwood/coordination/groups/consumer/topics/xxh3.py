"""XXH3-64 with the seed 0 (Kafka: `Hashing.xxh3_64`), in plain Python.

    length    0    1-3 | 4-8 | 9-16    17-128    129-240    241 and more
    reads          a few words         16-byte pairs        64-byte stripes into 8 accumulators

Groups store this hash of their topics. It is computed once for a topic and its partitions.
"""

from struct import Struct, unpack_from
from typing import Final

_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK: Final = 0xFFFFFFFFFFFFFFFF
_MASK_32: Final = 0xFFFFFFFF
_P32: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_P64: Final = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_MX1: Final = 0x165667919E3779F9
_MX2: Final = 0x9FB21C651E98DF25
_STRIPE: Final = 64
_SECRET_STEP: Final = 8
_STRIPES_A_BLOCK: Final = (len(_SECRET) - _STRIPE) // _SECRET_STEP
_LANES: Final = Struct("<8Q")


def xxh3_64(data: bytes) -> int:
    """Return the hash as an unsigned 64-bit number."""
    size = len(data)
    if size <= 16:
        return _short(data)
    if size <= 128:
        return _medium(data)
    if size <= 240:
        return _longer(data)
    return _long(data)


def _u64(data: bytes, at: int) -> int:
    found: int = unpack_from("<Q", data, at)[0]
    return found


def _u32(data: bytes, at: int) -> int:
    found: int = unpack_from("<I", data, at)[0]
    return found


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product & _MASK) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _MX1 & _MASK
    return value ^ value >> 32


def _xxh64_avalanche(value: int) -> int:
    value ^= value >> 33
    value = value * _P64[1] & _MASK
    value ^= value >> 29
    value = value * _P64[2] & _MASK
    return value ^ value >> 32


def _short(data: bytes) -> int:
    size = len(data)
    if size > 8:
        low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
        high = _u64(data, size - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _fold(low, high) & _MASK)
    if size >= 4:
        joined = _u32(data, size - 4) + (_u32(data, 0) << 32)
        value = joined ^ _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
        value ^= _rotated(value, 49) ^ _rotated(value, 24)
        value = value * _MX2 & _MASK
        value ^= (value >> 35) + size
        value = value * _MX2 & _MASK
        return value ^ value >> 28
    if size:
        joined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _xxh64_avalanche(joined ^ _u32(_SECRET, 0) ^ _u32(_SECRET, 4))
    return _xxh64_avalanche(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _mixed(data: bytes, at: int, secret: int) -> int:
    return _fold(
        _u64(data, at) ^ _u64(_SECRET, secret), _u64(data, at + 8) ^ _u64(_SECRET, secret + 8)
    )


def _medium(data: bytes) -> int:
    size = len(data)
    total = size * _P64[0]
    for pair in range((size - 1) // 32, -1, -1):
        total += _mixed(data, 16 * pair, 32 * pair)
        total += _mixed(data, size - 16 * (pair + 1), 32 * pair + 16)
    return _avalanche(total & _MASK)


def _longer(data: bytes) -> int:
    size = len(data)
    total = size * _P64[0]
    for each in range(8):
        total += _mixed(data, 16 * each, 16 * each)
    total = _avalanche(total & _MASK)
    for each in range(8, size // 16):
        total += _mixed(data, 16 * each, 16 * (each - 8) + 3)
    total += _mixed(data, size - 16, 136 - 17)
    return _avalanche(total & _MASK)


def _long(data: bytes) -> int:
    size = len(data)
    lanes = [_P32[2], _P64[0], _P64[1], _P64[2], _P64[3], _P32[1], _P64[4], _P32[0]]
    stripes = (size - 1) // _STRIPE
    for stripe in range(stripes):
        number = stripe % _STRIPES_A_BLOCK
        _accumulate(lanes, data, _STRIPE * stripe, secret=_SECRET_STEP * number)
        if number == _STRIPES_A_BLOCK - 1:
            _scramble(lanes)
    _accumulate(lanes, data, size - _STRIPE, secret=len(_SECRET) - _STRIPE - 7)
    total = size * _P64[0]
    for pair in range(0, 8, 2):
        total += _fold(
            lanes[pair] ^ _u64(_SECRET, 11 + 8 * pair),
            lanes[pair + 1] ^ _u64(_SECRET, 19 + 8 * pair),
        )
    return _avalanche(total & _MASK)


def _accumulate(lanes: list[int], data: bytes, at: int, *, secret: int) -> None:
    values, keys = _LANES.unpack_from(data, at), _LANES.unpack_from(_SECRET, secret)
    for lane, (value, secret_word) in enumerate(zip(values, keys, strict=True)):
        key = value ^ secret_word
        lanes[lane ^ 1] = lanes[lane ^ 1] + value & _MASK
        lanes[lane] = lanes[lane] + (key & _MASK_32) * (key >> 32) & _MASK


def _scramble(lanes: list[int]) -> None:
    keys = _LANES.unpack_from(_SECRET, len(_SECRET) - _STRIPE)
    for lane, key in enumerate(keys):
        value = lanes[lane]
        lanes[lane] = (value ^ value >> 47 ^ key) * _P32[0] & _MASK
