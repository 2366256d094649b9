"""Nonsensical requests between brokers, from a client that is not a broker.

An unsecured listener accepts such requests, as Kafka's does. These have the epochs of the present
controller, so that a broker has to reject their content:

    names        of topics that would leave the log directory, that are empty or too long
    partitions   negative, and the largest number, of which a log could exist
    brokers      that do not exist, that are not in sync, and too many of them
    epochs       earlier ones, of brokers and of leaders
    topic ids    of other topics
    offsets      beyond the end of a log, and negative ones

`of_stale_controller` has valid requests of a controller that was replaced.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final, NamedTuple

from benchmarks.bombs.requests import Bomb, frame
from cordwood.client.network.in_flight_requests import api_of_kind
from cordwood.core.binary import INT32_MAX
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from cordwood.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionState,
    AlterPartitionTopic,
    BrokerState,
)
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from cordwood.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from cordwood.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ReplicaState,
)
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from cordwood.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from cordwood.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from cordwood.protocol.schema import Request

#: A broker that no test has.
_NOBODY: Final = 77
_FAR: Final = 1 << 60
_MANY: Final = range(10_000)
#: Names that would be files outside the log directory, or none.
_NAMES: Final = ("../outside", "..", "a/b", "/etc/outside", "", "nul\0", "n" * 300)
_INDEXES: Final = (-1, -(INT32_MAX + 1), INT32_MAX)


class ForgedCluster(NamedTuple):
    """Facts about a cluster that a client can find or guess; the topic has a few partitions."""

    topic: str
    topic_id: Uuid
    #: The broker that gets the requests, and its epoch.
    node_id: int
    broker_epoch: int
    controller_epoch: int
    #: The in-sync replicas of each partition.
    replicas: tuple[int, ...]


def nonsense(cluster: ForgedCluster) -> Iterator[Bomb]:
    """Yield the requests, of all APIs between brokers."""
    for part in (_roles, _stops, _images, _in_sync_sets, _of_brokers, _fetches, _markers, _moves):
        for place, request, version in part(cluster):
            api = api_of_kind(type(request))
            yield Bomb(api.name, version, "nonsensical", place, frame(request, version))


def of_stale_controller(cluster: ForgedCluster) -> Iterator[Bomb]:
    """Yield requests with a valid content, of a controller that was replaced."""
    stale = cluster._replace(controller_epoch=cluster.controller_epoch - 1)
    role = _role(cluster, 0, leader=cluster.node_id, leader_epoch=INT32_MAX)
    stopped = StopReplicaPartitionState(partition_index=0, leader_epoch=-2, delete_partition=True)
    requests: tuple[tuple[Request, int], ...] = (
        (_assignment(stale, [(cluster.topic, cluster.topic_id, [role])]), 7),
        (_stop(stale, [(cluster.topic, [stopped])]), 4),
        (_update(stale, [(cluster.topic, cluster.topic_id, [_image(0, leader=-2)])]), 8),
    )
    for request, version in requests:
        api = api_of_kind(type(request))
        yield Bomb(api.name, version, "stale", "controller", frame(request, version))


_Named = Iterator[tuple[str, Request, int]]


# Roles of replicas.


def _role(
    cluster: ForgedCluster,
    index: int,
    *,
    leader: int,
    leader_epoch: int = 0,
    isr: Iterable[int] = (),
    replicas: Iterable[int] | None = None,
) -> LeaderAndIsrPartitionState:
    return LeaderAndIsrPartitionState(
        partition_index=index,
        controller_epoch=cluster.controller_epoch,
        leader=leader,
        leader_epoch=leader_epoch,
        isr=[*isr],
        partition_epoch=-1,
        replicas=[*(cluster.replicas if replicas is None else replicas)],
        is_new=True,
    )


def _assignment(
    cluster: ForgedCluster,
    topics: Iterable[tuple[str, Uuid, list[LeaderAndIsrPartitionState]]],
    *,
    broker_epoch: int = -1,
) -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(
        controller_id=_NOBODY,
        controller_epoch=cluster.controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=[
            LeaderAndIsrTopicState(topic_name=name, topic_id=topic_id, partition_states=states)
            for name, topic_id, states in topics
        ],
        live_leaders=[],
    )


def _roles(cluster: ForgedCluster) -> _Named:
    me, known, topic_id = cluster.node_id, cluster.topic, cluster.topic_id
    role = partial(_role, cluster, leader=me)
    for name in _NAMES:
        topics = [(name, Uuid(bytes(15) + b"\1"), [role(0)])]
        yield f"name {name[:20]!r}", _assignment(cluster, topics), 7
    for index in _INDEXES[:2]:
        for name, of in ((known, topic_id), ("other", Uuid(bytes(15) + b"\2"))):
            topics = [(name, of, [role(index)])]
            yield f"partition {index} of {name}", _assignment(cluster, topics), 7
    of_other = [(known, Uuid(bytes(15) + b"\3"), [role(0, leader_epoch=INT32_MAX)])]
    yield "id of another topic", _assignment(cluster, of_other), 7
    without_id = [(known, NO_UUID, [role(0, leader_epoch=INT32_MAX)])]
    yield "no topic id", _assignment(cluster, without_id), 7
    yield "no topic id", _assignment(cluster, [("ghost", NO_UUID, [role(0)])]), 7
    elsewhere = [role(0, leader_epoch=INT32_MAX, replicas=[_NOBODY])]
    yield "replicas elsewhere", _assignment(cluster, [(known, topic_id, elsewhere)]), 7
    earlier = [role(0, leader_epoch=-5), *(role(0) for _ in _MANY)]
    yield "earlier leader epochs", _assignment(cluster, [(known, topic_id, earlier)]), 7
    earlier_life = _assignment(
        cluster,
        [(known, topic_id, [role(0, leader_epoch=INT32_MAX)])],
        broker_epoch=cluster.broker_epoch - 1,
    )
    yield "earlier broker epoch", earlier_life, 7
    for leader in (-9, _NOBODY):
        states = [_role(cluster, 0, leader=leader, leader_epoch=INT32_MAX, replicas=[])]
        yield f"leader {leader}", _assignment(cluster, [(known, topic_id, states)]), 7


# Stopped replicas.


def _stop(
    cluster: ForgedCluster, topics: Iterable[tuple[str, list[StopReplicaPartitionState]]]
) -> StopReplicaRequest:
    return StopReplicaRequest(
        controller_id=_NOBODY,
        controller_epoch=cluster.controller_epoch,
        topic_states=[
            StopReplicaTopicState(topic_name=name, partition_states=states)
            for name, states in topics
        ],
    )


def _stops(cluster: ForgedCluster) -> _Named:
    def stopped(index: int) -> StopReplicaPartitionState:
        return StopReplicaPartitionState(
            partition_index=index, leader_epoch=-2, delete_partition=True
        )

    for name in _NAMES:
        yield f"name {name[:20]!r}", _stop(cluster, [(name, [stopped(0)])]), 4
    indexes = [*_INDEXES, *(INT32_MAX - each for each in _MANY)]
    yield "partitions", _stop(cluster, [(cluster.topic, [*map(stopped, indexes)])]), 4


# Images.


def _image(index: int, *, leader: int) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        partition_index=index,
        controller_epoch=0,
        leader=leader,
        leader_epoch=INT32_MAX,
        isr=[leader],
        zk_version=-1,
        replicas=[leader],
    )


def _update(
    cluster: ForgedCluster,
    topics: Iterable[tuple[str, Uuid, list[UpdateMetadataPartitionState]]],
    brokers: Iterable[UpdateMetadataBroker] = (),
) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        controller_id=_NOBODY,
        controller_epoch=cluster.controller_epoch,
        topic_states=[
            UpdateMetadataTopicState(topic_name=name, topic_id=topic_id, partition_states=states)
            for name, topic_id, states in topics
        ],
        live_brokers=[*brokers],
    )


def _images(cluster: ForgedCluster) -> _Named:
    for name in _NAMES:
        topics = [(name, Uuid(bytes(15) + b"\1"), [_image(0, leader=1)])]
        yield f"name {name[:20]!r}", _update(cluster, topics), 8
    for index in _INDEXES:
        for name in (cluster.topic, "other"):
            states = [_image(index, leader=1)]
            yield f"partition {index}", _update(cluster, [(name, cluster.topic_id, states)]), 8
    for port in (-1, 70_000, INT32_MAX):
        endpoint = UpdateMetadataEndpoint(
            port=port, host="nowhere", listener="PLAINTEXT", security_protocol=9
        )
        broker = UpdateMetadataBroker(id=_NOBODY, endpoints=[endpoint])
        yield f"port {port}", _update(cluster, [], [broker]), 8
    yield "no brokers", _update(cluster, []), 8
    yield "broker -5", _update(cluster, [], [UpdateMetadataBroker(id=-5, endpoints=[])]), 8


# In-sync sets.


def _in_sync_sets(cluster: ForgedCluster) -> _Named:
    def altered(
        isr: Iterable[int], *, index: int = 0, epochs: int = 0, broker: int = cluster.node_id
    ) -> AlterPartitionRequest:
        state = AlterPartitionState(
            partition_index=index,
            leader_epoch=epochs,
            new_isr_with_epochs=[BrokerState(broker_id=each) for each in isr],
            partition_epoch=epochs,
        )
        topic = AlterPartitionTopic(topic_id=cluster.topic_id, partitions=[state] * 3)
        return AlterPartitionRequest(
            broker_id=broker, broker_epoch=cluster.broker_epoch, topics=[topic]
        )

    yield "unknown broker", altered(cluster.replicas, broker=_NOBODY), 3
    yield "negative broker", altered(cluster.replicas, broker=-1), 3
    yield "nobody in sync", altered([]), 3
    yield "too many in sync", altered(_MANY), 3
    yield "unknown in sync", altered([*cluster.replicas, _NOBODY]), 3
    for index in _INDEXES:
        yield f"partition {index}", altered(cluster.replicas, index=index), 3
    for epoch in (-1, INT32_MAX):
        yield f"epochs {epoch}", altered([cluster.node_id], epochs=epoch), 3


# Brokers.


def _of_brokers(cluster: ForgedCluster) -> _Named:
    for broker in (-1, _NOBODY, INT32_MAX):
        for epoch in (-1, cluster.broker_epoch):
            place = f"broker {broker} in epoch {epoch}"
            yield place, ControlledShutdownRequest(broker_id=broker, broker_epoch=epoch), 3
            yield place, AllocateProducerIdsRequest(broker_id=broker, broker_epoch=epoch), 0
    earlier = cluster.broker_epoch - 1
    yield (
        "earlier broker epoch",
        ControlledShutdownRequest(broker_id=cluster.node_id, broker_epoch=earlier),
        3,
    )
    for epoch in (-1, earlier, _FAR):
        request = AllocateProducerIdsRequest(broker_id=cluster.node_id, broker_epoch=epoch)
        yield f"broker epoch {epoch}", request, 0


# Followers.


def _fetches(cluster: ForgedCluster) -> _Named:
    def fetched(replica: int, offset: int, *, epoch: int = -1, index: int = 0) -> FetchRequest:
        wanted = FetchPartition(
            partition=index,
            fetch_offset=offset,
            current_leader_epoch=epoch,
            last_fetched_epoch=epoch,
            log_start_offset=offset,
            partition_max_bytes=INT32_MAX,
        )
        return FetchRequest(
            replica_state=ReplicaState(replica_id=replica, replica_epoch=_FAR),
            max_wait_ms=0,
            min_bytes=0,
            topics=[FetchTopic(topic_id=cluster.topic_id, partitions=[wanted] * 3)],
        )

    for replica in (*cluster.replicas, _NOBODY, INT32_MAX):
        for offset in (-1, -_FAR, _FAR):
            yield f"replica {replica} at {offset}", fetched(replica, offset), 15
    follower = next(each for each in cluster.replicas if each != cluster.node_id)
    for epoch in (-7, INT32_MAX):
        yield f"leader epoch {epoch}", fetched(follower, 0, epoch=epoch), 15
    for index in _INDEXES:
        yield f"partition {index}", fetched(follower, 0, index=index), 15
    for replica in (-5, -1, *cluster.replicas, _NOBODY):
        for epoch in (-7, INT32_MAX):
            wanted = OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
            topic = OffsetForLeaderTopic(topic=cluster.topic, partitions=[wanted] * 3)
            request = OffsetForLeaderEpochRequest(replica_id=replica, topics=[topic])
            yield f"replica {replica} with epoch {epoch}", request, 4


# Markers.


def _markers(cluster: ForgedCluster) -> _Named:
    def marker(producer: int, epoch: int, topic: str, indexes: Iterable[int]) -> Request:
        return WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=producer,
                    producer_epoch=epoch,
                    transaction_result=True,
                    topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[*indexes])],
                    coordinator_epoch=-INT32_MAX,
                )
            ]
        )

    for producer, epoch in ((-1, 0), (-_FAR, 0), (1, -1), (1, -32_768)):
        yield f"producer {producer} in {epoch}", marker(producer, epoch, cluster.topic, [0]), 2
    yield "partitions", marker(1, 0, cluster.topic, _INDEXES), 2
    for name in _NAMES:
        yield f"name {name[:20]!r}", marker(1, 0, name, [0]), 2


# Elections and reassignments.


def _moves(cluster: ForgedCluster) -> _Named:
    for kind in (-1, 2, 127):
        wanted = [TopicPartitions(topic=cluster.topic, partitions=[0])]
        request = ElectLeadersRequest(election_type=kind, topic_partitions=wanted)
        yield f"type {kind}", request, 2
    elected = [TopicPartitions(topic=each, partitions=[*_INDEXES]) for each in _NAMES]
    yield "names", ElectLeadersRequest(topic_partitions=elected), 2
    targets: tuple[tuple[int, Iterable[int]], ...] = (
        (0, []),
        (0, [-1, 1, 2]),
        (0, [1, 1, 1]),
        (0, [_NOBODY]),
        (0, _MANY),
        *((each, [1]) for each in _INDEXES),
    )
    for index, target in targets:
        moved = ReassignablePartition(partition_index=index, replicas=[*target])
        topics = [ReassignableTopic(name=cluster.topic, partitions=[moved])]
        words = f"partition {index} on {len(moved.replicas or [])} replicas"
        yield words, AlterPartitionReassignmentsRequest(topics=topics), 1
