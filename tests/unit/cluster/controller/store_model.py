"""The store of a cluster in memory: performs the effects of the controller except for requests.

A leadership's version is its partition epoch. Each write is guarded by the controller epoch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from cordwood.cluster.controller.context.leadership import NO_LEADER, Leadership
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint, LiveBroker
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import (
    AssignTopicIds,
    ClaimProducerIds,
    CreateLeaderships,
    DeleteTopic,
    DropDeletions,
    DropNotifications,
    DropRequestedElections,
    Effect,
    LeadershipWrites,
    ReadBrokers,
    ReadDeletions,
    ReadLeaderships,
    ReadRequestedElections,
    ReadRequestedReassignments,
    ReadTopicNames,
    ReadTopics,
    ReadUncleanElections,
    StoredAssignment,
    WriteAssignment,
    WriteLeaderships,
    WriteRequestedReassignments,
)
from cordwood.core.errors import StaleControllerEpochError, UnknownTopicOrPartitionError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid

_READS: Final = (
    ReadBrokers,
    ReadDeletions,
    ReadLeaderships,
    ReadRequestedElections,
    ReadRequestedReassignments,
    ReadTopicNames,
    ReadTopics,
    ReadUncleanElections,
)


def partition(name: str) -> TopicPartition:
    """Return the partition of a name such as `orders-0`."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(TopicName(topic), PartitionId(int(number)))


@dataclass
class StoreModel:
    """The stored values, and what was ever stored."""

    controller_epoch: int = 0
    brokers: dict[int, LiveBroker] = field(default_factory=dict)
    topics: dict[str, StoredAssignment] = field(default_factory=dict)
    leaderships: dict[TopicPartition, Leadership] = field(default_factory=dict)
    deletions: set[str] = field(default_factory=set)
    reassignments: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    elections: list[TopicPartition] = field(default_factory=list)
    unclean: set[str] = field(default_factory=set)
    #: Topics for which an administrator has requested unclean leaders.
    unclean_once: set[str] = field(default_factory=set)
    deleted_ids: set[Uuid] = field(default_factory=set)
    #: All leaderships, in the order of their writes, by topic id and number.
    history: dict[tuple[Uuid, int], list[Leadership]] = field(default_factory=dict)
    _registrations: int = 100
    _topic_ids: int = 0
    _producer_ids: int = 0

    # External changes

    def register(self, broker_id: int) -> int:
        """Register a broker, again if it is registered; return its epoch."""
        self._registrations += 1
        endpoint = BrokerEndpoint("PLAINTEXT", f"host{broker_id}", 9092)
        self.brokers[broker_id] = LiveBroker(broker_id, self._registrations, (endpoint,))
        return self._registrations

    def create(self, topic: str, *replicas: tuple[int, ...], has_id: bool = True) -> None:
        """Create a topic, given the replicas of its partitions."""
        assignments = {number: ReplicaAssignment(each) for number, each in enumerate(replicas)}
        self.topics[topic] = StoredAssignment(self._next_id() if has_id else None, assignments)

    def grow(self, topic: str, replicas: tuple[int, ...]) -> None:
        """Add a partition to a topic."""
        found = self.topics[topic]
        partitions = {**found.partitions, len(found.partitions): ReplicaAssignment(replicas)}
        self.topics[topic] = found._replace(partitions=partitions)

    def write_as_leader(self, name: TopicPartition, isr: tuple[int, ...]) -> None:
        """Store an in-sync set as a leader with an earlier protocol does."""
        found = self.leaderships[name]
        self._store(name, found._replace(isr=isr, partition_epoch=found.partition_epoch + 1))

    # Effects

    def perform(self, effect: Effect[object], epoch: int) -> object:
        """Return the result of an effect of the controller with this epoch."""
        if self.rejects(effect, epoch):
            raise StaleControllerEpochError(f"{epoch}, not {self.controller_epoch}")
        return self._handlers()[type(effect)](effect)

    def handled_types(self) -> frozenset[type]:
        """Return the types of effects that the store performs."""
        return frozenset(self._handlers())

    def rejects(self, effect: Effect[object], epoch: int) -> bool:
        """Return whether an effect is a write of a controller that has been replaced."""
        return not isinstance(effect, _READS) and epoch != self.controller_epoch

    def _handlers(self) -> Mapping[type, Callable[..., object]]:
        return {
            ReadBrokers: lambda _: [*self.brokers.values()],
            ReadTopicNames: lambda _: [*self.topics],
            ReadTopics: self._read_topics,
            AssignTopicIds: self._assign_topic_ids,
            WriteAssignment: self._write_assignment,
            ReadUncleanElections: lambda each: {at: at in self.unclean for at in each.topics},
            ReadLeaderships: self._read_leaderships,
            CreateLeaderships: self._create_leaderships,
            WriteLeaderships: self._write_leaderships,
            ReadDeletions: lambda _: [*self.deletions],
            DropDeletions: lambda each: self.deletions.difference_update(each.topics),
            DeleteTopic: self._delete_topic,
            ReadRequestedReassignments: lambda _: dict(self.reassignments),
            WriteRequestedReassignments: self._write_reassignments,
            ReadRequestedElections: lambda _: [*self.elections],
            DropRequestedElections: lambda _: self.elections.clear(),
            DropNotifications: lambda _: None,
            ClaimProducerIds: self._claim_producer_ids,
        }

    def _read_topics(self, effect: ReadTopics) -> Mapping[str, StoredAssignment]:
        return {each: self.topics[each] for each in effect.topics if each in self.topics}

    def _assign_topic_ids(self, effect: AssignTopicIds) -> Mapping[str, Uuid]:
        for each in effect.topics:
            self.topics[each] = self.topics[each]._replace(topic_id=self._next_id())
        return {each: self._id(each) for each in effect.topics}

    def _write_assignment(self, effect: WriteAssignment) -> bool:
        if effect.topic not in self.topics:
            return False
        found = self.topics[effect.topic]
        for number, assignment in effect.partitions.items():
            self._check_assignment(effect.topic, number, assignment)
        self.topics[effect.topic] = found._replace(partitions=dict(effect.partitions))
        return True

    def _check_assignment(self, topic: str, number: int, assignment: ReplicaAssignment) -> None:
        """Check that a reassignment completes with its target in sync."""
        before = self.topics[topic].partitions[number]
        if before.is_being_reassigned and assignment == before.completed():
            stored = self.leaderships[partition(f"{topic}-{number}")]
            is_in_sync = set(assignment.replicas) <= set(stored.isr)
            assert is_in_sync, f"{topic}-{number}: {stored} {assignment}"

    def _read_leaderships(self, effect: ReadLeaderships) -> Mapping[TopicPartition, Leadership]:
        found = self.leaderships
        return {each: found[each] for each in effect.partitions if each in found}

    def _create_leaderships(self, effect: CreateLeaderships) -> LeadershipWrites:
        written, conflicts = {}, []
        for each, leadership in effect.leaderships.items():
            if each in self.leaderships:
                conflicts.append(each)
            else:
                written[each] = self._store(each, leadership._replace(partition_epoch=0))
        return LeadershipWrites(written, conflicts)

    def _write_leaderships(self, effect: WriteLeaderships) -> LeadershipWrites:
        writes = LeadershipWrites({}, [], {})
        for each, leadership in effect.leaderships.items():
            present = self.leaderships.get(each)
            if present is None:
                gone = UnknownTopicOrPartitionError(f"{each} is gone")
                writes = replace(writes, failed={**writes.failed, each: gone})
            elif present.partition_epoch != leadership.partition_epoch:
                writes = replace(writes, conflicts=[*writes.conflicts, each])
            else:
                following = leadership._replace(partition_epoch=present.partition_epoch + 1)
                written = {**writes.written, each: self._store(each, following)}
                writes = replace(writes, written=written)
        return writes

    def _delete_topic(self, effect: DeleteTopic) -> None:
        found = self.topics.pop(effect.topic, None)
        self.deletions.discard(effect.topic)
        for number in found.partitions if found is not None else ():
            self.leaderships.pop(partition(f"{effect.topic}-{number}"), None)
        if found is not None and found.topic_id is not None:
            self.deleted_ids.add(found.topic_id)

    def _write_reassignments(self, effect: WriteRequestedReassignments) -> None:
        self.reassignments = dict(effect.reassignments)

    def _claim_producer_ids(self, effect: ClaimProducerIds) -> range:
        assert effect.broker_id in self.brokers
        self._producer_ids += 1000
        return range(self._producer_ids - 1000, self._producer_ids)

    def _store(self, name: TopicPartition, leadership: Leadership) -> Leadership:
        """Store a leadership, and check the rules that every stored one keeps."""
        earlier = self.history.setdefault((self._id(name.topic), name.partition), [])
        assert leadership.isr, f"{name}: no replica is in sync: {leadership}"
        assert leadership.leader in {NO_LEADER, *leadership.isr}, f"{name}: {leadership}"
        if earlier:
            self._check_successor(name, earlier[-1], leadership)
        for each in earlier:
            is_same_epoch = each.leader_epoch == leadership.leader_epoch
            assert not is_same_epoch or each.leader == leadership.leader, f"{name}: {each}"
        earlier.append(leadership)
        self.leaderships[name] = leadership
        return leadership

    def _check_successor(self, name: TopicPartition, before: Leadership, after: Leadership) -> None:
        assert after.leader_epoch >= before.leader_epoch, f"{name}: {before} {after}"
        is_clean = after.leader in {NO_LEADER, *before.isr}
        assert is_clean or name.topic in self.unclean | self.unclean_once, (
            f"{name}: {before} {after}"
        )

    def _id(self, topic: str) -> Uuid:
        topic_id = self.topics[topic].topic_id
        assert topic_id is not None
        return topic_id

    def _next_id(self) -> Uuid:
        self._topic_ids += 1
        return Uuid(self._topic_ids.to_bytes(16, "big"))
