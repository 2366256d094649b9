"""Roles of the replicas on this broker, as the controller assigns them.

Kafka: `ReplicaManager.becomeLeaderOrFollower`, `ReplicaManager.stopReplicas`.

    assign    LeaderAndIsr: missing logs are created; then each replica leads, follows its leader,
              or is offline while there is no leader
    stop      StopReplica: the replicas are not served any more, and their logs are deleted if set

Requests are handled one after the other. Errors are those of single partitions:

    KAFKA_STORAGE_ERROR          the log is in a directory that is offline, or may be in one
    INVALID_TOPIC_EXCEPTION      no log can have this name
    INVALID_PARTITIONS           no log can have this number
    INCONSISTENT_TOPIC_ID        the replica belongs to another topic of this name, or to none
    UNKNOWN_TOPIC_OR_PARTITION   this broker is not among the replicas
    STALE_CONTROLLER_EPOCH       the leader epoch is not later than the known one
    FENCED_LEADER_EPOCH          the same, of a replica to stop
"""

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from typing import Final, NamedTuple, Protocol, TypeVar

from cordwood.broker.hosting.partition_additions import create_logs
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.membership.controller_fence import ControllerFence
from cordwood.broker.metadata.metadata_image import NO_LEADER, PartitionImage
from cordwood.broker.metadata.replica_changes import ReplicaChange, ReplicaChangeKind
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.pending_results import next_turn, wait_until_done
from cordwood.core.errors import (
    FencedLeaderEpochError,
    InconsistentTopicIdError,
    KafkaError,
    KafkaStorageError,
    StaleControllerEpochError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import NO_LEADER_EPOCH, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid, format_uuid
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
)
from cordwood.storage.manager import log_creation
from cordwood.storage.manager.bulk_log_creation import BulkLogCreation
from cordwood.storage.manager.log_renames import LogDeletion

T = TypeVar("T")

#: Replicas that are changed in one loop turn, and those that are looked at.
_PER_TURN: Final = 20
_CHECKED_PER_TURN: Final = 200


class Followers(Protocol):
    """The replicas that follow other brokers (Kafka: `ReplicaFetcherManager`)."""

    def follow(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        *,
        leader: int,
        leader_epoch: int,
        is_in_sync: bool,
    ) -> None:
        """Copy a partition from its leader, in this leader epoch."""

    def stop_following(self, partitions: Iterable[TopicPartition]) -> None:
        """Copy these partitions no longer."""


class AssignedRole(NamedTuple):
    """A replica of a request, and the state of its partition."""

    name: TopicPartition
    topic_id: Uuid
    state: LeaderAndIsrPartitionState


class ReplicaRoles:
    """The replicas of one broker in a cluster.

    `load_configs` reads the configurations of topics: brokers are not notified of a new topic's.
    """

    def __init__(
        self,
        fence: ControllerFence,
        hosting: TopicHosting,
        followers: Followers,
        *,
        load_configs: Callable[[Collection[str]], Awaitable[object]],
    ) -> None:
        self._fence = fence
        self._hosting = hosting
        self._followers = followers
        self._load_configs = load_configs
        self._turn = asyncio.Lock()

    # -- LeaderAndIsr

    async def assign(
        self, request: LeaderAndIsrRequest, *, connection_id: int
    ) -> LeaderAndIsrResponse:
        """Take the roles; raise StaleControllerEpochError or StaleBrokerEpochError for all."""
        async with self._turn:
            self._fence.admit(
                controller_epoch=request.controller_epoch,
                broker_epoch=request.broker_epoch,
                connection_id=connection_id,
            )
            # As in Kafka, the last state of a partition counts.
            assigned = {each.name: each async for each in _in_turns(_assigned_roles(request))}
            codes = {
                name: _code(self._check(role)) async for name, role in _in_turns(assigned.items())
            }
            accepted = [assigned[name] async for name, code in _in_turns(codes.items()) if not code]
            new = {each.name.topic for each in accepted if self._hosted(each.name) is None}
            if new:
                await self._load_configs(new)
            codes |= await self._create_missing_logs(accepted)
            codes |= await self._take_all([each for each in accepted if not codes[each.name]])
            return await _assignment_response(request, assigned.values(), codes)

    def _check(self, role: AssignedRole) -> KafkaError | None:
        """Return the error of a replica whose role is not taken."""
        name, state, node_id = role.name, role.state, self._hosting.partitions.node_id
        try:
            log_creation.ensure_name(name)
            self._ensure_topic(role)
            known = self._hosted(name)
            epoch = NO_LEADER_EPOCH if known is None else known.leader_epoch
            if state.leader_epoch <= epoch:
                raise StaleControllerEpochError(
                    f"{name} has leader epoch {epoch}, and the request {state.leader_epoch}"
                )
            if node_id not in state.replicas:
                raise UnknownTopicOrPartitionError(f"{name} has no replica on broker {node_id}")
        except KafkaError as error:
            return error.with_traceback(None)
        return None

    def _ensure_topic(self, role: AssignedRole) -> None:
        """Raise if the replica here is offline, or belongs to another topic."""
        name, manager = role.name, self._hosting.manager
        if role.topic_id == NO_UUID:
            raise InconsistentTopicIdError(f"{name} has no topic id in the request")
        hosted = self._hosted(name)
        if manager.get(name) is None:
            if hosted is None and not (role.state.is_new or manager.is_whole):
                raise KafkaStorageError(f"the log of {name} may be in a directory that is offline")
            found = None if hosted is None else hosted.topic_id
        else:
            found = manager.topic_id(name)
        if found is not None and found != role.topic_id:
            raise InconsistentTopicIdError(
                f"{name} here belongs to the topic with the id {format_uuid(found)}, and not to "
                f"{format_uuid(role.topic_id)}"
            )

    async def _create_missing_logs(
        self, roles: Iterable[AssignedRole]
    ) -> Mapping[TopicPartition, int]:
        manager = self._hosting.manager
        creation = BulkLogCreation(manager)
        missing = [each for each in roles if manager.logs.get(each.name) is None]
        for _ in creation.place((each.name, each.topic_id) for each in missing):
            await next_turn()
        await create_logs(creation)
        return {name: error.code for name, error in creation.errors.items()}

    async def _take_all(self, roles: Iterable[AssignedRole]) -> Mapping[TopicPartition, int]:
        return {
            each.name: _code(self._take(each)) async for each in _in_turns(roles, count=_PER_TURN)
        }

    def _take(self, role: AssignedRole) -> KafkaError | None:
        """Take a role whose log exists; return the error if the log cannot be used."""
        name, topic_id, state = role
        self._followers.stop_following([name])
        try:
            if self._hosting.manager.topic_id(name) is None:
                # A log of an earlier version gets the file with the id of its topic.
                log_creation.create(self._hosting.manager, name, topic_id=topic_id)
            change = ReplicaChange(
                ReplicaChangeKind.NEW_ROLE, name.topic, topic_id, name.partition, _image(state)
            )
            self._hosting.partitions.apply(change)
        except KafkaError as error:
            return error.with_traceback(None)
        node_id = self._hosting.partitions.node_id
        if state.leader not in (NO_LEADER, node_id):
            self._followers.follow(
                name,
                topic_id,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                is_in_sync=node_id in state.isr,
            )
        return None

    # -- StopReplica

    async def stop(self, request: StopReplicaRequest, *, connection_id: int) -> StopReplicaResponse:
        """Stop replicas; raise StaleControllerEpochError or StaleBrokerEpochError for all."""
        async with self._turn:
            self._fence.admit(
                controller_epoch=request.controller_epoch,
                broker_epoch=request.broker_epoch,
                connection_id=connection_id,
            )
            stopped = {name: state async for name, state in _in_turns(_stopped_replicas(request))}
            codes = {
                name: _code(self._drop(name, state))
                async for name, state in _in_turns(stopped.items(), count=_PER_TURN)
            }
            doomed = [
                name
                async for name, code in _in_turns(codes.items())
                if not code and stopped[name].delete_partition
            ]
            codes |= await self._delete_logs(doomed)
            return StopReplicaResponse(
                error_code=0,
                partition_errors=[
                    StopReplicaPartitionError(
                        topic_name=name.topic, partition_index=name.partition, error_code=code
                    )
                    async for name, code in _in_turns(codes.items())
                ],
            )

    def _drop(self, name: TopicPartition, state: StopReplicaPartitionState) -> KafkaError | None:
        """Serve a replica no longer; one that is not here is stopped already."""
        hosted = self._hosted(name)
        if hosted is None:
            return None
        if NO_LEADER_EPOCH < state.leader_epoch < hosted.leader_epoch:
            return FencedLeaderEpochError(
                f"{name} has leader epoch {hosted.leader_epoch}, and the request "
                f"{state.leader_epoch}"
            )
        self._followers.stop_following([name])
        former = PartitionImage((), (), NO_LEADER, hosted.leader_epoch)
        drop = ReplicaChange(
            ReplicaChangeKind.DROP, name.topic, hosted.topic_id, name.partition, former
        )
        self._hosting.partitions.apply(drop)
        return None

    async def _delete_logs(self, names: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Rename the logs, and sync that; their files are removed later."""
        manager, codes = self._hosting.manager, dict[TopicPartition, int]()
        deletion = LogDeletion(manager)
        async for name in _in_turns(names):
            try:
                if name in manager.futures:
                    deletion.add_future(name)
                if manager.get(name) is not None:
                    deletion.add(name)
            except KafkaStorageError as error:
                codes[name] = error.code
        for job in deletion.jobs:
            await wait_until_done(job)
        for rejected in deletion.rename():
            if rejected is not None:
                self._hosting.report_remains(rejected)
            await next_turn()
        for sync in deletion.begin_sync():
            await wait_until_done(sync)
        for _ in deletion.finish():
            await next_turn()
        return codes

    def _hosted(self, name: TopicPartition) -> Partition | None:
        try:
            return self._hosting.partitions.get(name.topic, name.partition)
        except UnknownTopicOrPartitionError:
            return None


def _assigned_roles(request: LeaderAndIsrRequest) -> Iterator[AssignedRole]:
    for topic in request.topic_states:
        for state in topic.partition_states:
            name = TopicPartition(TopicName(topic.topic_name), PartitionId(state.partition_index))
            yield AssignedRole(name, topic.topic_id, state)


def _image(state: LeaderAndIsrPartitionState) -> PartitionImage:
    return PartitionImage(
        replicas=tuple(state.replicas),
        isr=tuple(state.isr),
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
    )


async def _assignment_response(
    request: LeaderAndIsrRequest,
    assigned: Iterable[AssignedRole],
    codes: Mapping[TopicPartition, int],
) -> LeaderAndIsrResponse:
    topics = {each.topic_id: list[LeaderAndIsrPartitionError]() for each in request.topic_states}
    async for name, topic_id, _ in _in_turns(assigned):
        topics[topic_id].append(
            LeaderAndIsrPartitionError(partition_index=name.partition, error_code=codes[name])
        )
    return LeaderAndIsrResponse(
        error_code=0,
        topics=[
            LeaderAndIsrTopicError(topic_id=topic_id, partition_errors=results)
            for topic_id, results in topics.items()
        ],
    )


def _stopped_replicas(
    request: StopReplicaRequest,
) -> Iterator[tuple[TopicPartition, StopReplicaPartitionState]]:
    for topic in request.topic_states:
        for state in topic.partition_states:
            name = TopicPartition(TopicName(topic.topic_name), PartitionId(state.partition_index))
            yield name, state


async def _in_turns(items: Iterable[T], *, count: int = _CHECKED_PER_TURN) -> AsyncIterator[T]:
    """Yield items, and leave the loop to other tasks after some of them."""
    for number, each in enumerate(items, start=1):
        yield each
        if number % count == 0:
            await next_turn()


def _code(error: KafkaError | None) -> int:
    return 0 if error is None else error.code
