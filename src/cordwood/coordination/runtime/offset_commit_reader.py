"""Records of committed offsets, read without the general codec (Kafka: `OffsetCommitValue`).

    key    0001 | group: i16 length, UTF-8 | topic: same | i32 partition
    value  0004 | i64 offset | i32 leader epoch | metadata: length + 1, UTF-8 | i64 commit time |
           00, or one tag: 01 00 10 and the topic id

Most records of a load have this form, and the general codec takes twice the time for them. Any
other record is None here: the caller decodes it with the codec, which names what is wrong.
"""

from struct import Struct, error
from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.internal import OffsetCommitKey, OffsetCommitValue

_TYPE: Final = 1
_VERSION: Final = 4
_KEY_PREFIX: Final = b"\0\1"
_VALUE_PREFIX: Final = b"\0\4"
_TOPIC_ID_TAG: Final = b"\1\0\x10"
_NO_TAGS: Final = b"\0"
_HEAD: Final = Struct(">hqi")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_UUID_BYTES: Final = 16
#: Metadata of 127 bytes or more have a longer length.
_MORE: Final = 0x80


def read_offset_commit(key: bytes, value: bytes | None) -> CoordinatorRecord | None:
    """Return the record of a commit, None if it does not have the common form."""
    if value is None or key[:2] != _KEY_PREFIX or value[:2] != _VALUE_PREFIX:
        return None
    try:
        return CoordinatorRecord(_TYPE, _read_key(key), read_commit_value(value), _VERSION)
    except (IndexError, UnicodeDecodeError, ValueError, error):
        return None


def _read_key(key: bytes) -> OffsetCommitKey:
    topic_at = 4 + (key[2] << 8 | key[3])
    partition_at = topic_at + 2 + (key[topic_at] << 8 | key[topic_at + 1])
    (partition,) = _INT32.unpack_from(key, partition_at)
    return OffsetCommitKey(
        group=key[4:topic_at].decode(),
        topic=key[topic_at + 2 : partition_at].decode(),
        partition=partition,
    )


def read_commit_value(value: bytes) -> OffsetCommitValue:
    """Return a value of version 4; raise ValueError or `struct.error` for another form."""
    _, offset, leader_epoch = _HEAD.unpack_from(value)
    size = value[_HEAD.size]
    if not 0 < size < _MORE:
        raise ValueError(size)
    time_at = _HEAD.size + size
    (timestamp,) = _INT64.unpack_from(value, time_at)
    return OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=value[_HEAD.size + 1 : time_at].decode(),
        commit_timestamp=timestamp,
        topic_id=_topic_id(value, time_at + _INT64.size),
    )


def _topic_id(value: bytes, at: int) -> Uuid:
    if value[at:] == _NO_TAGS:
        return NO_UUID
    tag_end = at + len(_TOPIC_ID_TAG)
    if value[at:tag_end] != _TOPIC_ID_TAG or len(value) != tag_end + _UUID_BYTES:
        raise ValueError(at)
    return Uuid(value[tag_end:])
