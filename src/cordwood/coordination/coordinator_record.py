"""Records of the internal topics, encoded and decoded (Kafka: `CoordinatorRecordSerde`).

    key    i16 record type | fields of the key message, version 0
    value  i16 version     | fields of the value message; null is a tombstone

A record of an unknown type is skipped: share groups and streams groups write into the same topic.
"""

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.schema import Data

RecordTypes: TypeAlias = Mapping[int, tuple[type[Data], type[Data]]]
"""Key and value messages by record type."""

_PREFIX: Final = Struct(">h")


class CoordinatorRecord(NamedTuple):
    """A record of an internal topic; a value of None is a tombstone."""

    type: int
    key: Data
    value: Data | None
    #: The version that the value is written in, or was read in.
    version: int = 0


class StoredRecord(NamedTuple):
    """A record that the log has, as it is replayed.

    `producer_id` is that of a transactional record, whose end is not known yet; -1 for others.
    """

    record: CoordinatorRecord
    offset: int
    producer_id: int = -1
    producer_epoch: int = -1


class StoredMarker(NamedTuple):
    """The end of a producer's transaction in an internal partition."""

    producer_id: int
    producer_epoch: int
    offset: int
    is_commit: bool


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Return the key and the value of a record."""
    key = _PREFIX.pack(record.type) + joined(encode(record.key, 0))
    if record.value is None:
        return key, None
    return key, _PREFIX.pack(record.version) + joined(encode(record.value, record.version))


def decode_record(
    types: RecordTypes, key: bytes | None, *, value: bytes | None
) -> CoordinatorRecord | None:
    """Return the record of a key and a value, None if its type is unknown."""
    if key is None:
        return None
    (kind,) = _PREFIX.unpack_from(key)
    if kind not in types:
        return None
    key_message, value_message = types[kind]
    read = decode(key_message, memoryview(key)[_PREFIX.size :], 0)
    if value is None:
        return CoordinatorRecord(kind, read, None)
    (version,) = _PREFIX.unpack_from(value)
    body = memoryview(value)[_PREFIX.size :]
    return CoordinatorRecord(kind, read, decode(value_message, body, version), version)


def tombstones(records: Iterable[CoordinatorRecord]) -> list[CoordinatorRecord]:
    """Return the deletions of records."""
    return [CoordinatorRecord(each.type, each.key, None) for each in records]
