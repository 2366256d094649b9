"""Builder of v0 and v1: one message per record, or with a codec one wrapper over all of them.

The layout is drawn in `legacy_message`, the rule for offsets inside a wrapper in `legacy_batch`.
"""

from typing import Final, Literal, TypeAlias

from cordwood.core.binary import INT32_MAX, INT64_MAX, Buffer, bytes_view
from cordwood.core.errors import InvalidRecordError, UnsupportedCompressionTypeError
from cordwood.records.compression import Codec, compress
from cordwood.records.legacy_message import LOG_APPEND_TIME_BIT, LegacyMessage, append_message

LegacyMagic: TypeAlias = Literal[0, 1]

_NO_CRC: Final = 0


class LegacyBuilder:
    """A builder that takes records in offset order; v0 and v1 have no other fields."""

    __slots__ = (
        "_inner",
        "base_offset",
        "codec",
        "count",
        "last_offset",
        "level",
        "log_append_time_ms",
        "magic",
        "max_timestamp",
    )

    def __init__(
        self,
        magic: LegacyMagic,
        *,
        base_offset: int = 0,
        codec: Codec = Codec.NONE,
        level: int | None = None,
        log_append_time_ms: int | None = None,
    ) -> None:
        if codec is Codec.ZSTD:
            raise UnsupportedCompressionTypeError(f"zstd needs magic 2, not {magic}")
        self.magic = magic
        self.base_offset = base_offset
        self.codec = codec
        self.level = level
        self.log_append_time_ms = log_append_time_ms
        self.count = 0
        self.last_offset = base_offset - 1
        self.max_timestamp = -1
        self._inner = bytearray()

    def append(
        self,
        key: Buffer | None,
        value: Buffer | None,
        *,
        timestamp: int = -1,
        offset: int | None = None,
    ) -> int:
        """Add a record and return its offset: the next one, unless a later `offset` is given."""
        if offset is None:
            offset = self.last_offset + 1
        if self.log_append_time_ms is not None:
            timestamp = self.log_append_time_ms
        self._ensure_follows(offset, timestamp)
        is_relative = self.magic == 1 and self.codec is not Codec.NONE
        self._append_message(
            self._inner,
            offset - self.base_offset if is_relative else offset,
            timestamp=timestamp,
            key=key,
            value=value,
        )
        self.count += 1
        self.last_offset = offset
        self.max_timestamp = max(self.max_timestamp, timestamp)
        return offset

    def build(self) -> bytearray:
        """Return the messages, or the wrapper over them; empty bytes without records."""
        if self.codec is Codec.NONE or self.count == 0:
            return self._inner[:]
        out = bytearray()
        self._append_message(
            out,
            self.last_offset,
            timestamp=self.max_timestamp,
            key=None,
            value=compress(self.codec, self._inner, level=self.level, magic=self.magic),
            codec=self.codec,
        )
        return out

    def _append_message(
        self,
        out: bytearray,
        offset: int,
        *,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
        codec: Codec = Codec.NONE,
    ) -> None:
        is_stamped = self.magic == 1 and self.log_append_time_ms is not None
        append_message(
            out,
            LegacyMessage(
                offset,
                _NO_CRC,
                self.magic,
                codec | (LOG_APPEND_TIME_BIT if is_stamped else 0),
                timestamp,
                None if key is None else bytes_view(key),
                None if value is None else bytes_view(value),
            ),
        )

    def _ensure_follows(self, offset: int, timestamp: int) -> None:
        """Raise InvalidRecordError for a record that cannot follow the previous ones."""
        highest = min(INT64_MAX, self.base_offset + INT32_MAX)
        if not self.last_offset < offset <= highest or offset < 0:
            raise InvalidRecordError(
                "an offset that does not follow",
                base_offset=self.base_offset,
                expected=f"{self.last_offset + 1} to {highest}",
                found=offset,
            )
        if not -1 <= timestamp <= INT64_MAX:
            raise InvalidRecordError(
                "a timestamp that cannot be right",
                base_offset=self.base_offset,
                expected=f"-1 to {INT64_MAX}",
                found=timestamp,
            )
