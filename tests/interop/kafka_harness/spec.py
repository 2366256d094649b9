"""Expected content of a batch, and a reader's result, as values that neither side owns."""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Final, TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]

NO_TIMESTAMP: Final = -1
CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
LEGACY_CODECS: Final = CODECS[:4]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecRecord:
    """One record."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    sequence: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One batch that either side can be asked to write."""

    records: tuple[SpecRecord, ...]
    magic: int = 2
    codec: str = "none"
    level: int | None = None
    timestamp_type: int = CREATE_TIME
    base_offset: int = 0
    log_append_time: int = -1
    partition_leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    delete_horizon_ms: int = -1

    def to_json(self) -> dict[str, Json]:
        question: dict[str, Json] = {
            name: value for name, value in asdict(self).items() if name != "records"
        }
        question["records"] = [record_to_json(record) for record in self.records]
        return question


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBatch:
    """One batch as a reader saw it; fields that its format lacks keep their defaults."""

    magic: int
    crc: int
    size: int
    codec: int
    timestamp_type: int
    last_offset: int
    next_offset: int
    max_timestamp: int
    base_offset: int
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon_ms: int | None = None
    partition_leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    last_sequence: int = -1
    count: int | None = None
    records: tuple[SpecRecord, ...] = ()


def text(data: bytes | bytearray | memoryview | None) -> str | None:
    """Bytes as they travel in JSON."""
    return None if data is None else b64encode(data).decode()


def data(text: str | None) -> bytes | None:
    """The bytes back."""
    return None if text is None else b64decode(text)


def record_to_json(record: SpecRecord) -> dict[str, Json]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": text(record.key),
        "value": text(record.value),
        "headers": [[key, text(value)] for key, value in record.headers],
    }


def renumbered(records: Iterable[SpecRecord], first_offset: int) -> tuple[SpecRecord, ...]:
    """The same records at offsets that follow each other."""
    return tuple(
        replace(record, offset=offset) for offset, record in enumerate(records, first_offset)
    )


def without_sequences(records: Iterable[SpecRecord]) -> tuple[SpecRecord, ...]:
    """Records as a consumer sees them."""
    return tuple(replace(record, sequence=-1) for record in records)
