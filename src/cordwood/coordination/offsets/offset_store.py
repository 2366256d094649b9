"""State of committed offsets, changed by replay alone (Kafka: `OffsetMetadataManager`).

    record                    committed at once
    record of a transaction   pending, by producer id
    COMMIT marker             pending ──► committed, unless a later record has committed meanwhile
    ABORT marker              pending dropped
    tombstone                 committed and pending of the partition dropped

Several transactions can be pending on one partition.
"""

from collections.abc import Iterable, Iterator, Mapping

from cordwood.coordination.coordinator_record import StoredMarker, StoredRecord
from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.offsets.group_partition_map import GroupPartition, GroupPartitionMap
from cordwood.core.types import NO_PRODUCER_ID
from cordwood.protocol.messages.internal import OffsetCommitKey, OffsetCommitValue


class OffsetStore:
    """The offsets of all groups of a shard."""

    def __init__(self) -> None:
        self._committed = GroupPartitionMap[CommittedOffset]()
        self._pending = dict[int, GroupPartitionMap[CommittedOffset]]()
        #: The producers whose open transactions have an offset of the partition.
        self._open = GroupPartitionMap[set[int]]()

    def replay(self, stored: StoredRecord) -> None:
        """Apply a record of an offset."""
        key, value = stored.record.key, stored.record.value
        assert isinstance(key, OffsetCommitKey), f"a record of offsets, not {key!r}"
        at = GroupPartition(key.group, key.topic, key.partition)
        if value is None:
            self._remove(at)
            return
        assert isinstance(value, OffsetCommitValue), f"a committed offset, not {value!r}"
        offset = CommittedOffset.of(value, stored.offset)
        if stored.producer_id == NO_PRODUCER_ID:
            self._committed.put(at, offset)
        else:
            self._add_pending(stored.producer_id, at, offset=offset)

    def replay_run(self, run: CommittedRun) -> None:
        """Apply commits of one group in one topic, which are in no transaction."""
        self._committed.put_all(run.group_id, run.topic, values=run.offsets)

    def replay_marker(self, marker: StoredMarker) -> None:
        """Apply the end of a producer's transaction; it may have no offsets here."""
        for at, offset in self._pending.pop(marker.producer_id, ()):
            self._close(at, marker.producer_id)
            if marker.is_commit:
                self._materialize(at, offset)

    def get(self, at: GroupPartition) -> CommittedOffset | None:
        """Return the committed offset of a partition."""
        return self._committed.get(at)

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """Return the committed offsets of a group by topic and partition."""
        return self._committed.of_group(group_id)

    def is_pending(self, at: GroupPartition) -> bool:
        """Return whether an open transaction has an offset of the partition."""
        return self._open.get(at) is not None

    def has_pending(self, group_id: str) -> bool:
        """Return whether an open transaction has an offset of the group."""
        return bool(self._open.of_group(group_id))

    def partitions_of(self, group_id: str) -> Iterator[GroupPartition]:
        """Yield each partition of a group once: committed first, then those pending alone."""
        committed = self._committed.of_group(group_id)
        for topic, partitions in committed.items():
            yield from (GroupPartition(group_id, topic, each) for each in partitions)
        for topic, opened in self._open.of_group(group_id).items():
            known = committed.get(topic, {})
            pending = (each for each in opened if each not in known)
            yield from (GroupPartition(group_id, topic, each) for each in pending)

    def topics(self) -> Iterable[str]:
        """Return the names of all topics that have an offset, also a pending one."""
        return dict.fromkeys(
            topic
            for offsets in self.maps()
            for group_id in offsets.group_ids()
            for topic in offsets.of_group(group_id)
        )

    def maps(self) -> Iterator[GroupPartitionMap[CommittedOffset]]:
        """Yield the committed offsets, then the pending ones of each producer."""
        yield self._committed
        yield from self._pending.values()

    def _add_pending(
        self, producer_id: int, at: GroupPartition, *, offset: CommittedOffset
    ) -> None:
        pending = self._pending.get(producer_id)
        if pending is None:
            pending = self._pending[producer_id] = GroupPartitionMap()
        pending.put(at, offset)
        opened = self._open.get(at)
        if opened is None:
            self._open.put(at, {producer_id})
        else:
            opened.add(producer_id)

    def _remove(self, at: GroupPartition) -> None:
        self._committed.remove(at)
        for producer_id in self._open.remove(at) or ():
            self._pending[producer_id].remove(at)
            if not self._pending[producer_id]:
                del self._pending[producer_id]

    def _close(self, at: GroupPartition, producer_id: int) -> None:
        opened = self._open.get(at)
        assert opened is not None, f"{at} is pending"
        opened.discard(producer_id)
        if not opened:
            self._open.remove(at)

    def _materialize(self, at: GroupPartition, offset: CommittedOffset) -> None:
        present = self._committed.get(at)
        if present is None or offset.record_offset > present.record_offset:
            self._committed.put(at, offset)
