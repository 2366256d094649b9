"""Records of committed offsets, written without the general codec (Kafka: `OffsetCommitValue`).

The layout is that of `offset_commit_reader`. A commit of many partitions spends most of its time
on the encoding of its records, and so does the deletion of a group with many offsets. A record of
another form is None here, and left to the codec.
"""

from functools import lru_cache
from struct import Struct, error
from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.internal import OffsetCommitKey, OffsetCommitValue

_TYPE: Final = 1
_VERSION: Final = 4
_INT16: Final = Struct(">h")
_TYPE_AND_SIZE: Final = Struct(">hh")
_PARTITION: Final = Struct(">i")
#: Version, offset, leader epoch, the length of no metadata, commit time.
_VALUE: Final = Struct(">hqiBq")
_NO_METADATA: Final = 1
#: The names whose bytes are cached: a group commits to the same topics all its life.
_CACHED_NAMES: Final = 1_024
#: The longest group or topic whose bytes are cached.
_SHORT: Final = 128
_NO_TAGS: Final = b"\0"
_TOPIC_ID_TAG: Final = b"\1\0\x10"


def write_offset_commit(record: CoordinatorRecord) -> tuple[bytes, bytes | None] | None:
    """Return key and value of a commit without metadata, or of a tombstone; None for any other."""
    key, value = record.key, record.value
    if record.type != _TYPE or not isinstance(key, OffsetCommitKey):
        return None
    try:
        if value is None:
            return _key_bytes(key), None
        if not isinstance(value, OffsetCommitValue) or record.version != _VERSION:
            return None
        if value.metadata:
            return None
        return _key_bytes(key), _value_bytes(value)
    except (error, UnicodeEncodeError):
        return None


def _key_bytes(key: OffsetCommitKey) -> bytes:
    is_short = len(key.group) <= _SHORT and len(key.topic) <= _SHORT
    names = (_cached_name_bytes if is_short else _name_bytes)(key.group, key.topic)
    return names + _PARTITION.pack(key.partition)


def _name_bytes(group_id: str, topic_name: str) -> bytes:
    """Return a key up to its partition."""
    group, topic = group_id.encode(), topic_name.encode()
    return b"".join((_TYPE_AND_SIZE.pack(_TYPE, len(group)), group, _INT16.pack(len(topic)), topic))


_cached_name_bytes: Final = lru_cache(maxsize=_CACHED_NAMES)(_name_bytes)


def _value_bytes(value: OffsetCommitValue) -> bytes:
    topic_id = value.topic_id
    tags = _NO_TAGS if topic_id == NO_UUID else _TOPIC_ID_TAG + topic_id
    fields = value.offset, value.leader_epoch, _NO_METADATA, value.commit_timestamp
    return _VALUE.pack(_VERSION, *fields) + tags
