"""Effects of flows, performed in the store, in the queues of brokers, and for a caller.

Each write has the guard of this controller. An effect that reads a part of the metadata also
follows it, so that later changes arrive as events. Requests of administrators with invalid contents
are reported and ignored, and so are topics and leaderships (Kafka: the `decode` of its nodes).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias, TypeVar

from cordwood.cluster.active_controller.controller_channel_manager import (
    ControllerChannelManager,
)
from cordwood.cluster.active_controller.controller_host import (
    ChangesFailed,
    ControllerHost,
    ProcessingFailed,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.live_broker import LiveBroker
from cordwood.cluster.controller.effects import (
    AssignTopicIds,
    ClaimProducerIds,
    ConnectBrokers,
    CreateLeaderships,
    DeleteTopic,
    DisconnectBrokers,
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
    ReportFailures,
    SendRequests,
    StoredAssignment,
    WriteAssignment,
    WriteLeaderships,
    WriteRequestedReassignments,
)
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard
from cordwood.cluster.zookeeper.store.retried_requests import turns
from cordwood.cluster.zookeeper.store.watched_subjects import Subject
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import Random
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid, make_uuid

K = TypeVar("K")
V = TypeVar("V")

_UNCLEAN_ELECTIONS: Final = "unclean.leader.election.enable"

Perform: TypeAlias = Callable[..., Awaitable[object]]


class Followed(Protocol):
    """The stream of changes, as far as effects use it."""

    async def follow(self, subject: Subject) -> None:
        """Follow a subject; return once its first reading has left watches."""


class EffectPerformer:
    """Performs the effects of one role, that of the guard."""

    def __init__(
        self,
        store: ZooKeeperStore,
        guard: ControllerGuard,
        brokers: ControllerChannelManager,
        *,
        followed: Followed,
        random: Random,
        host: ControllerHost,
    ) -> None:
        self._store = store
        self._guard = guard
        self._brokers = brokers
        self._followed = followed
        self._random = random
        self._host = host
        self._performers = self._table()

    async def perform(self, effect: Effect[object]) -> object:
        """Perform an effect of any type but Respond, and return its result."""
        return await self._performers[type(effect)](effect)

    def types(self) -> set[type]:
        """Return the types of effects that are performed."""
        return {*self._performers}

    def _table(self) -> Mapping[type, Perform]:
        return {
            ReadLeaderships: self._read_leaderships,
            CreateLeaderships: self._create_leaderships,
            WriteLeaderships: self._write_leaderships,
            ReadBrokers: self._read_brokers,
            ConnectBrokers: self._connect_brokers,
            DisconnectBrokers: self._disconnect_brokers,
            SendRequests: self._send_requests,
            ReadTopicNames: self._read_topic_names,
            ReadTopics: self._read_topics,
            AssignTopicIds: self._assign_topic_ids,
            WriteAssignment: self._write_assignment,
            ReadUncleanElections: self._read_unclean_elections,
            ReadDeletions: self._read_deletions,
            DropDeletions: self._drop_deletions,
            DeleteTopic: self._delete_topic,
            ReadRequestedReassignments: self._read_requested_reassignments,
            WriteRequestedReassignments: self._write_requested_reassignments,
            ReadRequestedElections: self._read_requested_elections,
            DropRequestedElections: self._drop_requested_elections,
            DropNotifications: self._drop_notifications,
            ClaimProducerIds: self._claim_producer_ids,
            ReportFailures: self._report_failures,
        }

    # Leaderships

    async def _read_leaderships(
        self, effect: ReadLeaderships
    ) -> Mapping[TopicPartition, Leadership]:
        return await self._undamaged(self._store.leaderships.read, effect.partitions)

    async def _create_leaderships(self, effect: CreateLeaderships) -> LeadershipWrites:
        return await self._store.leaderships.create(effect.leaderships, self._guard)

    async def _write_leaderships(self, effect: WriteLeaderships) -> LeadershipWrites:
        return await self._store.leaderships.write(effect.leaderships, self._guard)

    # Brokers

    async def _read_brokers(self, _: ReadBrokers) -> Sequence[LiveBroker]:
        await self._followed.follow(Subject.BROKERS)
        return await self._store.brokers.live()

    async def _connect_brokers(self, effect: ConnectBrokers) -> None:
        self._brokers.connect(effect.brokers)

    async def _disconnect_brokers(self, effect: DisconnectBrokers) -> None:
        await self._brokers.disconnect(effect.broker_ids)

    async def _send_requests(self, effect: SendRequests) -> None:
        self._brokers.send(effect.requests)

    # Topics

    async def _read_topic_names(self, _: ReadTopicNames) -> Sequence[str]:
        await self._followed.follow(Subject.TOPICS)
        return await self._store.topics.names()

    async def _read_topics(self, effect: ReadTopics) -> Mapping[str, StoredAssignment]:
        return await self._undamaged(self._store.topics.read, effect.topics)

    async def _assign_topic_ids(self, effect: AssignTopicIds) -> Mapping[str, Uuid]:
        return await self._store.topics.assign_ids(
            effect.topics, draw=lambda: make_uuid(self._random), guard=self._guard
        )

    async def _write_assignment(self, effect: WriteAssignment) -> bool:
        return await self._store.topics.write_assignment(
            effect.topic, effect.partitions, guard=self._guard
        )

    async def _read_unclean_elections(self, effect: ReadUncleanElections) -> Mapping[str, bool]:
        return await self._undamaged(self._unclean_elections, effect.topics)

    async def _unclean_elections(self, topics: Sequence[str]) -> dict[str, bool]:
        default = str(self._host.is_unclean_election_enabled())
        found = dict[str, bool]()
        for turn in turns(topics):
            configs = await self._store.configs.read_all(
                [(ConfigEntity("topics", each),) for each in turn]
            )
            for topic, config in zip(turn, configs, strict=True):
                found[topic] = config.get(_UNCLEAN_ELECTIONS, default).lower() == "true"
        return found

    # Deletions of topics

    async def _read_deletions(self, _: ReadDeletions) -> Sequence[str]:
        await self._followed.follow(Subject.DELETIONS)
        return await self._store.administration.deletions()

    async def _drop_deletions(self, effect: DropDeletions) -> None:
        await self._store.administration.drop_deletions(effect.topics, self._guard)

    async def _delete_topic(self, effect: DeleteTopic) -> None:
        await self._store.topics.delete(effect.topic, self._guard)

    # Requests that administrators leave in the store

    async def _read_requested_reassignments(
        self, _: ReadRequestedReassignments
    ) -> Mapping[TopicPartition, tuple[int, ...]]:
        await self._followed.follow(Subject.REASSIGNMENTS)
        try:
            return await self._store.administration.reassignments()
        except DamagedFileError as error:
            self._report_damage("a reassignment", error)
            return {}

    async def _write_requested_reassignments(self, effect: WriteRequestedReassignments) -> None:
        await self._store.administration.write_reassignments(effect.reassignments, self._guard)

    async def _read_requested_elections(
        self, _: ReadRequestedElections
    ) -> Sequence[TopicPartition]:
        await self._followed.follow(Subject.ELECTIONS)
        try:
            return await self._store.administration.elections()
        except DamagedFileError as error:
            self._report_damage("an election", error)
            return ()

    async def _drop_requested_elections(self, _: DropRequestedElections) -> None:
        await self._store.administration.drop_elections(self._guard)

    async def _drop_notifications(self, _: DropNotifications) -> None:
        await self._store.notifications.drop_all(self._guard)
        # Followed after the removal: a notification of before concerns what is read later.
        await self._followed.follow(Subject.ISR_CHANGES)
        await self._followed.follow(Subject.LOG_DIR_FAILURES)

    # The rest

    async def _claim_producer_ids(self, effect: ClaimProducerIds) -> range:
        return await self._store.facts.claim_producer_ids(effect.broker_id)

    async def _report_failures(self, effect: ReportFailures) -> None:
        self._host.on_report(ChangesFailed(effect.failures))

    async def _undamaged(
        self, read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]], keys: Sequence[K]
    ) -> Mapping[K, V]:
        """Read nodes, without those whose content is invalid: they are found by halving."""
        try:
            return await read(keys)
        except DamagedFileError as error:
            if len(keys) == 1:
                self._report_damage("a reading", error)
                return {}
        half = len(keys) // 2
        first = await self._undamaged(read, keys[:half])
        return {**first, **await self._undamaged(read, keys[half:])}

    def _report_damage(self, event: str, error: DamagedFileError) -> None:
        self._host.on_report(ProcessingFailed(event, error))
