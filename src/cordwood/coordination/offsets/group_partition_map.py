"""Values by group, topic and partition (Kafka: `OffsetMetadataManager.Offsets`).

Three levels of dictionaries, so that the values of a group are found without the others. A level
is removed with its last value.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class GroupPartition(NamedTuple):
    """One partition, as one group commits it."""

    group_id: str
    topic: str
    partition: int


class GroupPartitionMap(Generic[T]):
    """A mutable map; the order of each level is that of the first insertion."""

    def __init__(self) -> None:
        self._groups = dict[str, dict[str, dict[int, T]]]()

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __iter__(self) -> Iterator[tuple[GroupPartition, T]]:
        for group_id, topics in self._groups.items():
            for topic, partitions in topics.items():
                for partition, value in partitions.items():
                    yield GroupPartition(group_id, topic, partition), value

    def group_ids(self) -> Iterable[str]:
        """Return the groups that have values."""
        return self._groups.keys()

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, T]]:
        """Return the values of a group by topic and partition."""
        return self._groups.get(group_id, {})

    def of_topic(self, group_id: str, topic: str) -> Mapping[int, T]:
        """Return the values of a group's topic by partition."""
        return self._groups.get(group_id, {}).get(topic, {})

    def get(self, key: GroupPartition) -> T | None:
        """Return a value, None if there is none."""
        group_id, topic, partition = key
        partitions = self._groups.get(group_id, {}).get(topic)
        return None if partitions is None else partitions.get(partition)

    def put(self, key: GroupPartition, value: T) -> None:
        """Set a value."""
        group_id, topic, partition = key
        self._partitions(group_id, topic)[partition] = value

    def put_all(self, group_id: str, topic: str, *, values: Mapping[int, T]) -> None:
        """Set values of one topic, at least one."""
        self._partitions(group_id, topic).update(values)

    def _partitions(self, group_id: str, topic: str) -> dict[int, T]:
        topics = self._groups.get(group_id)
        if topics is None:
            topics = self._groups[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
        return partitions

    def remove_all(self, group_id: str, topic: str, *, partitions: Iterable[int]) -> None:
        """Remove values of one topic, as far as there are any."""
        topics = self._groups.get(group_id, {})
        values = topics.get(topic, {})
        for each in partitions:
            values.pop(each, None)
        if not values:
            topics.pop(topic, None)
        if not topics:
            self._groups.pop(group_id, None)

    def remove(self, key: GroupPartition) -> T | None:
        """Remove a value and return it, None if there was none."""
        group_id, topic, partition = key
        topics = self._groups.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None:
            return None
        removed = partitions.pop(partition, None)
        if not partitions:
            del topics[topic]
        if not topics:
            del self._groups[group_id]
        return removed
