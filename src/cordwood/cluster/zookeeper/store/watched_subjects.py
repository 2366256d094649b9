"""Subjects of the stream of changes: each reads its nodes again after a call of a watch.

A subject does not compare what it reads with its last reading. The receiver reads for itself, and
may have read a state that came and went between two readings here: it needs the event for the
second change although nothing differs here. A lost connection calls all watches, so it causes
events without a change.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final, Protocol, TypeAlias, TypeVar

from cordwood.cluster.zookeeper.client.zookeeper_client import NodeStat, StoredNode
from cordwood.cluster.zookeeper.store.metadata_event import (
    BrokerModified,
    BrokersChanged,
    ConfigChanged,
    ControllerChanged,
    DeletionsRequested,
    ElectionsRequested,
    IsrChangesNotified,
    LogDirFailuresNotified,
    MetadataDamaged,
    MetadataEvent,
    PartitionsChanged,
    ReassignmentsRequested,
    TopicsChanged,
)
from cordwood.cluster.zookeeper.store.watched_reads import WatchedReads
from cordwood.cluster.zookeeper.znodes.broker_znode import decode_broker
from cordwood.cluster.zookeeper.znodes.cluster_paths import (
    BROKER_IDS,
    CONFIG_CHANGES,
    CONTROLLER,
    DELETE_TOPICS,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    broker_path,
    sequence_number,
)
from cordwood.cluster.zookeeper.znodes.controller_znode import decode_controller
from cordwood.cluster.zookeeper.znodes.event_znodes import (
    decode_config_change,
    decode_log_dir_failure,
)
from cordwood.cluster.zookeeper.znodes.partition_list_znodes import decode_partitions
from cordwood.core.errors import DamagedFileError
from cordwood.core.metadata_paths import TOPICS, topic_path
from cordwood.core.types import TopicPartition

T = TypeVar("T")


class Subject(Enum):
    """A part of the metadata that can be followed."""

    CONTROLLER = "controller"
    CONFIGS = "configs"
    BROKERS = "brokers"
    TOPICS = "topics"
    DELETIONS = "deletions"
    REASSIGNMENTS = "reassignments"
    ELECTIONS = "elections"
    ISR_CHANGES = "isr changes"
    LOG_DIR_FAILURES = "log directory failures"


class WatchedSubject(Protocol):
    """The readings of one subject."""

    async def read(self) -> list[MetadataEvent]:
        """Read, leave watches, and return the changes since the last reading."""


class _ControllerSubject:
    def __init__(self, reads: WatchedReads) -> None:
        self._reads = reads

    async def read(self) -> list[MetadataEvent]:
        (stat,) = await self._reads.stats([CONTROLLER])
        node = None if stat is None else await self._reads.requests.get(CONTROLLER)
        # A node that is gone by now has a watch, which is called.
        return [ControllerChanged(None if node is None else decode_controller(node.data))]


class _BrokersSubject:
    def __init__(self, reads: WatchedReads) -> None:
        self._reads = reads
        self._last = dict[int, NodeStat]()

    async def read(self) -> list[MetadataEvent]:
        names, is_changed = await self._reads.children(BROKER_IDS)
        ids = [int(name) for name in names]
        stats = await self._reads.stats([broker_path(each) for each in ids])
        found = {each: stat for each, stat in zip(ids, stats, strict=True) if stat is not None}
        last, events = self._last, list[MetadataEvent]()
        if is_changed or _created(found) != _created(last):
            events.append(BrokersChanged())
        for broker_id in _modified(found, last):
            events += await self._modified(broker_id)
        self._last = found
        return events

    async def _modified(self, broker_id: int) -> list[MetadataEvent]:
        node = await self._reads.requests.get(broker_path(broker_id))
        if node is None:
            return []
        try:
            return [BrokerModified(decode_broker(broker_id, node.data).live(node.stat.czxid))]
        except DamagedFileError as error:
            return [MetadataDamaged(error)]


class _TopicsSubject:
    def __init__(self, reads: WatchedReads) -> None:
        self._reads = reads
        self._last = dict[str, NodeStat]()

    async def read(self) -> list[MetadataEvent]:
        names, is_changed = await self._reads.children(TOPICS)
        paths = [topic_path(each) for each in names]
        stats = await self._reads.stats(paths)
        self._reads.forget_others(paths)
        found = {name: stat for name, stat in zip(names, stats, strict=True) if stat is not None}
        last, self._last = self._last, found
        events: list[MetadataEvent] = [PartitionsChanged(each) for each in _modified(found, last)]
        if is_changed or _created(found) != _created(last):
            events.insert(0, TopicsChanged())
        return events


class _DeletionsSubject:
    def __init__(self, reads: WatchedReads) -> None:
        self._reads = reads

    async def read(self) -> list[MetadataEvent]:
        topics, _ = await self._reads.children(DELETE_TOPICS)
        return [DeletionsRequested()] if topics else []


class _RequestSubject:
    """One node that an administrator creates or changes."""

    def __init__(self, reads: WatchedReads, path: str, event: MetadataEvent) -> None:
        self._reads = reads
        self._path = path
        self._event = event

    async def read(self) -> list[MetadataEvent]:
        (stat,) = await self._reads.stats([self._path])
        return [] if stat is None else [self._event]


Notes: TypeAlias = Iterable[tuple[int, str, bytes]]
"""Numbers, paths and contents of notifications."""


class _NotificationsSubject:
    """A folder of sequential nodes."""

    def __init__(
        self, reads: WatchedReads, folder: str, events: Callable[[Notes], list[MetadataEvent]]
    ) -> None:
        self._reads = reads
        self._folder = folder
        self._events = events
        self._last = -1

    async def read(self) -> list[MetadataEvent]:
        children, _ = await self._reads.children(self._folder)
        names = {sequence_number(each): each for each in children}
        new = sorted(number for number in names if number > self._last)
        if not new:
            return []
        paths = [f"{self._folder}/{names[number]}" for number in new]
        nodes = await self._reads.requests.get_all(paths)
        self._last = new[-1]
        return self._events(_existing(zip(new, paths, nodes, strict=True)))


def _existing(nodes: Iterable[tuple[int, str, StoredNode | None]]) -> Notes:
    for number, path, node in nodes:
        if node is not None:
            yield number, path, node.data


def _isr_changes(notes: Notes) -> list[MetadataEvent]:
    events, partitions, numbers = list[MetadataEvent](), dict[TopicPartition, None](), list[int]()
    for number, path, data in notes:
        numbers.append(number)
        try:
            partitions |= dict.fromkeys(decode_partitions(data, path=path))
        except DamagedFileError as error:
            events.append(MetadataDamaged(error))
    if numbers:
        events.append(IsrChangesNotified((*partitions,), (*numbers,)))
    return events


def _log_dir_failures(notes: Notes) -> list[MetadataEvent]:
    events, broker_ids, numbers = list[MetadataEvent](), dict[int, None](), list[int]()
    for number, path, data in notes:
        numbers.append(number)
        try:
            broker_ids[decode_log_dir_failure(data, path=path)] = None
        except DamagedFileError as error:
            events.append(MetadataDamaged(error))
    if numbers:
        events.append(LogDirFailuresNotified((*broker_ids,), (*numbers,)))
    return events


def _config_changes(notes: Notes) -> list[MetadataEvent]:
    events = list[MetadataEvent]()
    for _, path, data in notes:
        try:
            events.append(ConfigChanged(decode_config_change(data, path=path)))
        except DamagedFileError as error:
            events.append(MetadataDamaged(error))
    return events


def _created(stats: dict[T, NodeStat]) -> dict[T, int]:
    """Return the creating transactions: a node that was removed and created again is another."""
    return {key: stat.czxid for key, stat in stats.items()}


def _modified(found: dict[T, NodeStat], last: dict[T, NodeStat]) -> list[T]:
    """Return the keys of nodes that exist as before, with other data; versions only grow."""
    return [
        key
        for key, stat in found.items()
        if (before := last.get(key, stat)).czxid == stat.czxid and before.version != stat.version
    ]


SUBJECTS: Final[dict[Subject, Callable[[WatchedReads], WatchedSubject]]] = {
    Subject.CONTROLLER: _ControllerSubject,
    Subject.BROKERS: _BrokersSubject,
    Subject.TOPICS: _TopicsSubject,
    Subject.DELETIONS: _DeletionsSubject,
    Subject.CONFIGS: lambda reads: _NotificationsSubject(reads, CONFIG_CHANGES, _config_changes),
    Subject.ISR_CHANGES: lambda reads: _NotificationsSubject(reads, ISR_CHANGES, _isr_changes),
    Subject.LOG_DIR_FAILURES: lambda reads: _NotificationsSubject(
        reads, LOG_DIR_EVENTS, _log_dir_failures
    ),
    Subject.REASSIGNMENTS: lambda reads: _RequestSubject(
        reads, REASSIGN_PARTITIONS, ReassignmentsRequested()
    ),
    Subject.ELECTIONS: lambda reads: _RequestSubject(
        reads, PREFERRED_REPLICA_ELECTION, ElectionsRequested()
    ),
}
