"""A record, independent of the format of its bytes (Kafka: `Record`).

Every path without kernels makes one object per record, so the class is slotted and not frozen.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

Header: TypeAlias = tuple[str, bytes | None]

NO_HEADERS: Final[tuple[Header, ...]] = ()


class TimestampType(IntEnum):
    """The origin of a timestamp; v0 has none."""

    NO_TIMESTAMP = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


@dataclass(slots=True)
class Record:
    """One record at its absolute offset; `sequence` is -1 without a producer id."""

    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = NO_HEADERS
    sequence: int = -1
