"""Compression of record data: five codecs, one function to compress and three to decompress.

- `compress` writes the framing that Kafka's own classes read; the modules of each codec draw it.
- `decompress_into` fills a buffer of the caller: the hot path, one pass, no copies.
- `decompress` allocates the buffer itself, as small as possible and never beyond `limit`.
- `uncompressed_bound` returns a sufficient buffer size.

For any input the only error is `CorruptMessageError`. Sizes are compared with the framing before an
allocation. A buffer starts at a small multiple of the input and grows fourfold, so that a forged
size or a bomb ends in an error before it costs memory.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Final, NamedTuple, Self

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import (
    CorruptMessageError,
    SettingError,
    UnsupportedCompressionTypeError,
)
from cordwood.records import gzip_members, lz4_frame, snappy_framing, zstd_frames

# 256 times Kafka's default for the largest message, and still harmless for the process: a batch
# that a broker accepts by default reaches it only with a compression ratio of 256.
DEFAULT_LIMIT: Final = 256 * 1024 * 1024

_FIRST_ROOM: Final = 64 * 1024
_FIRST_FACTOR: Final = 32
_GROWTH: Final = 4


class Codec(IntEnum):
    """The codec ids in the low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def kafka_name(self) -> str:
        """Return the name in Kafka's settings."""
        return self.name.lower()

    @classmethod
    def from_name(cls, name: str) -> Self:
        """Return the codec with this name in Kafka's settings."""
        for codec in cls:
            if codec.kafka_name == name:
                return codec
        names = ", ".join(codec.kafka_name for codec in cls)
        raise SettingError(
            f"unknown compression type {name!r}",
            key="compression.type",
            remedy=f"choose one of {names}",
        )


class Levels(NamedTuple):
    """The levels that Kafka's settings allow for a codec."""

    lowest: int
    highest: int
    default: int


LEVELS: Final = {
    Codec.GZIP: Levels(1, 9, -1),
    Codec.LZ4: Levels(1, 17, lz4_frame.DEFAULT_LEVEL),
    Codec.ZSTD: Levels(-131072, 22, 3),
}


def compress(codec: Codec, data: Buffer, *, level: int | None = None, magic: int = 2) -> bytes:
    """Return `data` in the framing of `codec`; `level` None is Kafka's default."""
    view = bytes_view(data)
    level = _checked_level(codec, level)
    match codec:
        case Codec.NONE:
            return bytes(view)
        case Codec.GZIP:
            return gzip_members.compress(view, level)
        case Codec.SNAPPY:
            return snappy_framing.compress(view)
        case Codec.LZ4:
            return lz4_frame.compress(view, level, magic=magic)
        case _:
            _check_zstd(magic)
            return zstd_frames.compress(view, level)


def decompress_into(
    codec: Codec, data: Buffer, out: bytearray | memoryview, at: int, *, magic: int = 2
) -> int | None:
    """Fill `out` from `at` on and return the bytes written, or None when they do not fit.

    After None `out` may hold part of the data from `at` on. None is never returned if `out` has
    room for `uncompressed_bound`, so a caller that grows towards that bound terminates.
    """
    view = bytes_view(data)
    room = bytes_view(out)[at:]
    if codec is Codec.LZ4:
        return lz4_frame.decompress_into(view, room, magic=magic)
    if codec is Codec.ZSTD:
        _check_zstd(magic)
    return _INTO[codec](view, room)


def decompress(
    codec: Codec, data: Buffer, *, magic: int = 2, limit: int = DEFAULT_LIMIT
) -> bytes | memoryview:
    """Return the uncompressed data, of at most `limit` bytes."""
    view = bytes_view(data)
    least, most = _bounds(codec, view, magic)
    _check_limit(least, limit)
    if codec is Codec.NONE:
        return view
    room = min(most, limit, max(_FIRST_ROOM, _FIRST_FACTOR * len(view)))
    while True:
        out = bytearray(room)
        size = decompress_into(codec, view, out, 0, magic=magic)
        if size is not None:
            return memoryview(out)[:size]
        needed = _next_room(codec, view, room, magic=magic, limit=limit)
        assert needed > room, "a buffer that was too small grows"
        room = needed


def uncompressed_bound(codec: Codec, data: Buffer, *, magic: int = 2) -> int:
    """Return an upper bound of the uncompressed size, from the framing alone.

    It is exact for none and snappy, and for zstd with a content size. For lz4 and other zstd it is
    the sum of the block limits; for gzip it is deflate's maximum expansion.
    """
    return _bounds(codec, bytes_view(data), magic)[1]


def _bounds(codec: Codec, view: memoryview, magic: int) -> tuple[int, int]:
    """Return the least and the largest uncompressed size, without decompressing."""
    match codec:
        case Codec.NONE:
            return len(view), len(view)
        case Codec.GZIP:
            return gzip_members.bounds(view)
        case Codec.SNAPPY:
            size = snappy_framing.measure(view)
            return size, size
        case Codec.LZ4:
            return lz4_frame.bounds(view, magic=magic)
        case _:
            _check_zstd(magic)
            return zstd_frames.bounds(view)


def _next_room(codec: Codec, view: memoryview, room: int, *, magic: int, limit: int) -> int:
    """Return the next buffer size after `room` was too small, measured where that is possible."""
    match codec:
        case Codec.GZIP:
            needed = gzip_members.measure(view, limit)
        case Codec.LZ4:
            needed = lz4_frame.measure(view, limit, magic=magic)
        case _:
            needed = room + 1
            room = min(limit, room * _GROWTH)
            _check_limit(needed, limit)
            return min(room, zstd_frames.bounds(view)[1])
    _check_limit(needed, limit)
    return needed


def _copy_into(view: memoryview, room: memoryview) -> int | None:
    """Copy uncompressed data."""
    if len(view) > len(room):
        return None
    room[: len(view)] = view
    return len(view)


_INTO: Final[dict[Codec, Callable[[memoryview, memoryview], int | None]]] = {
    Codec.NONE: _copy_into,
    Codec.GZIP: gzip_members.decompress_into,
    Codec.SNAPPY: snappy_framing.decompress_into,
    Codec.ZSTD: zstd_frames.decompress_into,
}


def _check_limit(size: int, limit: int) -> None:
    """Raise an error for data beyond the limit, before the allocation."""
    if size > limit:
        raise CorruptMessageError(
            "the uncompressed records are larger than the limit",
            expected=f"at most {limit} bytes",
            found=f"at least {size}",
        )


def _check_zstd(magic: int) -> None:
    """Raise an error for zstd in the old formats, where Kafka never allowed it."""
    if magic < 2:
        raise UnsupportedCompressionTypeError(f"zstd needs magic 2, these records have {magic}")


def _checked_level(codec: Codec, level: int | None) -> int:
    """Return the level to use, or raise an error that lists the valid ones."""
    levels = LEVELS.get(codec)
    if levels is None:
        if level is None:
            return 0
        raise SettingError(
            f"{codec.kafka_name} has no compression levels, got {level}",
            key="compression.type",
            remedy="leave the level out, or choose gzip, lz4 or zstd",
        )
    if level is None or level == levels.default:
        return levels.default
    if levels.lowest <= level <= levels.highest:
        return level
    raise SettingError(
        f"{codec.kafka_name} has no compression level {level}",
        key=f"compression.{codec.kafka_name}.level",
        remedy=f"choose {levels.lowest} to {levels.highest}, or {levels.default} for the default",
    )
