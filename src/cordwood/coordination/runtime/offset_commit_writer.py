"""Records of committed offsets, written without the general codec (Kafka: `OffsetCommitValue`).

The layout is that of `offset_commit_reader`. A commit of many partitions spends most of its time
on the encoding of its records, and so does the deletion of a group with many offsets. A record of
another form is None here, and left to the codec.
"""

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
_HEAD: Final = Struct(">hqi")
_TIME: Final = Struct(">q")
_NO_METADATA: Final = b"\1"
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
    group, topic = key.group.encode(), key.topic.encode()
    return b"".join(
        (
            _TYPE_AND_SIZE.pack(_TYPE, len(group)),
            group,
            _INT16.pack(len(topic)),
            topic,
            _PARTITION.pack(key.partition),
        )
    )


def _value_bytes(value: OffsetCommitValue) -> bytes:
    topic_id = value.topic_id
    tags = _NO_TAGS if topic_id == NO_UUID else _TOPIC_ID_TAG + topic_id
    head = _HEAD.pack(_VERSION, value.offset, value.leader_epoch)
    return head + _NO_METADATA + _TIME.pack(value.commit_timestamp) + tags
