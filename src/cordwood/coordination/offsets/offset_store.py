"""State of committed offsets, changed by replay alone (Kafka: `OffsetMetadataManager`).

    record                    committed at once
    record of a transaction   pending, by producer id
    COMMIT marker             pending ──► committed, unless a later record has committed meanwhile
    ABORT marker              pending dropped
    tombstone                 committed and pending of the partition dropped

Several transactions can be pending on one partition.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

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
        #: The producers whose open transactions have an offset of the partition. Most often it is
        #: one, and all its partitions share the set.
        self._open = GroupPartitionMap[frozenset[int]]()
        self._alone = dict[int, frozenset[int]]()

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
        pending = self._pending.pop(marker.producer_id, None)
        if pending is None:
            return
        alone = self._alone.pop(marker.producer_id)
        for group_id in pending.group_ids():
            for topic, offsets in pending.of_group(group_id).items():
                self._close(group_id, topic, partitions=offsets, alone=alone)
                if marker.is_commit:
                    self._materialize(group_id, topic, offsets=offsets)

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

    def topics(self) -> Collection[str]:
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
            self._alone[producer_id] = frozenset({producer_id})
        pending.put(at, offset)
        alone, opened = self._alone[producer_id], self._open.get(at)
        if opened is None:
            self._open.put(at, alone)
        elif producer_id not in opened:
            self._open.put(at, opened | alone)

    def _remove(self, at: GroupPartition) -> None:
        self._committed.remove(at)
        for producer_id in self._open.remove(at) or ():
            self._pending[producer_id].remove(at)
            if not self._pending[producer_id]:
                del self._pending[producer_id], self._alone[producer_id]

    def _close(
        self, group_id: str, topic: str, *, partitions: Iterable[int], alone: frozenset[int]
    ) -> None:
        """Take a producer, `alone`, out of the open partitions of a topic."""
        opened = self._open.of_topic(group_id, topic)
        left = {each: others for each in partitions if (others := opened[each] - alone)}
        if left:
            self._open.put_all(group_id, topic, values=left)
        ended = (each for each in partitions if each not in left)
        self._open.remove_all(group_id, topic, partitions=ended)

    def _materialize(
        self, group_id: str, topic: str, *, offsets: Mapping[int, CommittedOffset]
    ) -> None:
        present = self._committed.of_topic(group_id, topic)
        later = {
            each: offset
            for each, offset in offsets.items()
            if each not in present or offset.record_offset > present[each].record_offset
        }
        if later:
            self._committed.put_all(group_id, topic, values=later)
