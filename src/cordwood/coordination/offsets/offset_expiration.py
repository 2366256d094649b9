"""Expiration of offsets and of empty groups (Kafka: `cleanupGroupMetadata`).

    offset with a retention of its own    expired from its expire time on
    other offsets                         expired once the retention is over since the group's base
    kept                                  subscribed topics, and offsets of open transactions

A group decides the base: the time since which it is empty, or the time of the commit, or none. An
empty group whose last offset expires, or which has none, is deleted with it.

A round visits all groups. It is cut into parts, because the tombstones of a part are one batch.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.group import Group
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.offsets.committed_offset import CommittedOffset, offset_tombstone
from cordwood.coordination.offsets.group_partition_map import GroupPartition
from cordwood.coordination.offsets.offset_store import OffsetStore
from cordwood.coordination.offsets.tombstone_part import PART_BYTES, part_of
from cordwood.core.types import NO_TIMESTAMP


class ExpirationRound:
    """The groups that a round has still to visit; the next round visits all of them again."""

    def __init__(self, groups: GroupRegistry, store: OffsetStore, *, retention_ms: int) -> None:
        self._groups = groups
        self._store = store
        self._retention_ms = retention_ms
        self._remaining = deque[str]()

    @property
    def is_over(self) -> bool:
        """Whether no part of the round is left."""
        return not self._remaining

    def begin(self) -> None:
        """Plan a visit of all groups."""
        self._remaining = deque(each.group_id for each in self._groups)

    def next_part(self, now_ms: int) -> list[CoordinatorRecord]:
        """Return the tombstones of the next part; a group that exceeds it remains."""
        records, room = list[CoordinatorRecord](), PART_BYTES
        retention = Retention(now_ms, self._retention_ms)
        while self._remaining and room > 0:
            group = self._groups.by_id.get(self._remaining[0])
            if group is not None:
                expired = expired_offsets(group, self._store, retention=retention)
                part = part_of(expired, room=room)
                records += map(offset_tombstone, part.keys)
                room = part.room
                if not part.is_whole:
                    break
                if self._ends(group, len(part.keys)):
                    records += group.tombstones()
            self._remaining.popleft()
        return records

    def _ends(self, group: Group, expired: int) -> bool:
        """Return whether a group ends with its expired offsets."""
        group_id = group.group_id
        count = sum(map(len, self._store.of_group(group_id).values()))
        return group.is_empty and expired == count and not self._store.has_pending(group_id)


class Retention(NamedTuple):
    """The time, and how long offsets are kept."""

    now_ms: int
    retention_ms: int

    def has_ended(self, offset: CommittedOffset, base_ms: int) -> bool:
        """Return whether an offset has expired."""
        if offset.expire_timestamp_ms != NO_TIMESTAMP:
            return self.now_ms >= offset.expire_timestamp_ms
        return self.now_ms - base_ms >= self.retention_ms


def expired_offsets(
    group: Group, store: OffsetStore, *, retention: Retention
) -> Iterable[GroupPartition]:
    """Yield the expired offsets of a group."""
    for topic, partitions in store.of_group(group.group_id).items():
        if group.is_subscribed(topic):
            continue
        for partition, offset in partitions.items():
            base_ms = group.expiry_base_ms(offset.commit_timestamp_ms)
            if base_ms is None:
                return
            at = GroupPartition(group.group_id, topic, partition)
            if retention.has_ended(offset, base_ms) and not store.is_pending(at):
                yield at
