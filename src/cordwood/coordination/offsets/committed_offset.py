"""Committed offset of a partition, and its records (Kafka: `OffsetAndMetadata`).

key    group, topic, partition
value  v4  offset, leader epoch, metadata, commit time, topic id if it is known
       v1  offset, metadata, commit time, expire time: for commits with their own retention
"""

from typing import Final, NamedTuple, Self

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.offsets.group_partition_map import GroupPartition
from cordwood.core.types import NO_TIMESTAMP
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.internal import OffsetCommitKey, OffsetCommitValue

#: The record types that replay accepts; early Kafka wrote 0.
OFFSET_COMMIT_TYPES: Final = frozenset((0, 1))

_WRITTEN_TYPE: Final = 1
_VALUE_VERSION: Final = 4
_VALUE_VERSION_WITH_EXPIRY: Final = 1


class CommittedOffset(NamedTuple):
    """An offset that a group has committed."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    #: -1 unless the commit came with its own retention.
    expire_timestamp_ms: int
    #: Zero if the commit did not name it.
    topic_id: Uuid
    #: The offset of the record in the internal topic: a later record wins over an earlier one.
    record_offset: int

    @classmethod
    def of(cls, value: OffsetCommitValue, record_offset: int) -> Self:
        """Return the offset of a record."""
        return cls(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            record_offset,
        )

    def is_of_another_topic(self, topic_id: Uuid) -> bool:
        """Return whether both topic ids are known, and differ."""
        return any(topic_id) and any(self.topic_id) and self.topic_id != topic_id


def commit_record(key: GroupPartition, value: OffsetCommitValue) -> CoordinatorRecord:
    """Return the record of a commit."""
    has_expiry = value.expire_timestamp != NO_TIMESTAMP
    version = _VALUE_VERSION_WITH_EXPIRY if has_expiry else _VALUE_VERSION
    return CoordinatorRecord(_WRITTEN_TYPE, _key_message(key), value, version)


def offset_tombstone(key: GroupPartition) -> CoordinatorRecord:
    """Return the record that deletes a committed offset, and those of open transactions."""
    return CoordinatorRecord(_WRITTEN_TYPE, _key_message(key), None)


def _key_message(key: GroupPartition) -> OffsetCommitKey:
    return OffsetCommitKey(group=key.group_id, topic=key.topic, partition=key.partition)
