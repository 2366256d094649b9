"""Coordinators of one broker: groups with their offsets, and transactions.

    start   elect by the present image, and follow every later one
    stop    answer every request that waits; the logs are closed afterwards

Other brokers are reached over `CoordinatorParts.peers`; a node without a cluster has none.

The shards have the clock of the logs, so that a test moves rebalance timeouts; retries and turns
have that of the network.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.coordinators.add_partitions_to_txn_manager import (
    AddPartitionsRequest,
    AddPartitionsToTxnManager,
)
from cordwood.broker.coordinators.cluster_topics import ClusterTopics
from cordwood.broker.coordinators.coordinator_elections import CoordinatorElections
from cordwood.broker.coordinators.coordinator_events import CoordinatorEvents
from cordwood.broker.coordinators.coordinator_log import CoordinatorLog
from cordwood.broker.coordinators.coordinator_settings import (
    DYNAMIC_GROUP_SETTINGS,
    group_settings,
    offsets_codec,
    transaction_settings,
)
from cordwood.broker.coordinators.marker_sender import TransactionMarkerSender
from cordwood.broker.coordinators.topic_coordinator import TopicCoordinator
from cordwood.broker.coordinators.transaction_verifier import TransactionVerifier
from cordwood.broker.coordinators.txn_markers_request import MarkerRequest
from cordwood.broker.loop_turns import TurnQueue
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.broker.metadata.producer_id_manager import ProducerIdManager
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.peers.peer_channels import OpenPeers, no_peers
from cordwood.broker.peers.peer_request_queue import PeerRequestQueue
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.groups.consumer.consumer_group_configs import ConsumerGroupConfigs
from cordwood.coordination.ports import InternalLog
from cordwood.coordination.runtime.completion_waits import CompletionWaits
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.coordination.runtime.group_runtime import GroupRuntime
from cordwood.coordination.runtime.runtime_ports import RuntimePorts, ShardKind
from cordwood.coordination.runtime.transaction_runtime import TransactionRuntime
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.core.errors import NotCoordinatorError
from cordwood.core.ports import Clock, Scheduler
from cordwood.core.types import TopicPartition
from cordwood.observability.metrics import Metrics
from cordwood.protocol.messages.internal import GROUP_RECORDS, TRANSACTION_RECORDS
from cordwood.records.compression import Codec
from cordwood.storage.manager.log_manager import LogManager

S = TypeVar("S", bound=CoordinatorShard)

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorParts:
    """The parts of a broker that its coordinators use; clock and scheduler are the network's.

    `peers` opens channels to the other brokers; the coordinators close them.
    """

    configs: BrokerConfigs
    metadata: MetadataCache
    partitions: HostedPartitions
    logs: LogManager
    producer_ids: ProducerIdManager
    turns: TurnQueue
    clock: Clock
    scheduler: Scheduler
    metrics: Metrics = field(default_factory=Metrics)
    peers: OpenPeers = no_peers


class _PeerRequests:
    """The requests to the other brokers, of each kind over connections of its own."""

    def __init__(self, parts: CoordinatorParts) -> None:
        timeout_ms = partial(parts.configs.integer, "request.timeout.ms")
        self.markers: Final = PeerRequestQueue(
            MarkerRequest(timeout_ms), parts.peers("txn-marker-sender")
        )
        self.additions: Final = PeerRequestQueue(
            AddPartitionsRequest(timeout_ms), parts.peers("add-partitions-to-txn")
        )


class Coordinators:
    """The group coordinator and the transaction coordinator of a broker."""

    def __init__(self, parts: CoordinatorParts) -> None:
        ports = _runtime_ports(parts)
        self.parts: Final = parts
        self._topics_seen: object = None
        self._group_configs = ConsumerGroupConfigs(group_settings(parts.configs))
        self.groups: Final = _groups(parts, ports, self._group_configs)
        self._requests = _PeerRequests(parts)
        self.markers: Final = TransactionMarkerSender(
            parts.partitions,
            parts.metadata,
            parts.turns,
            self.groups.runtime.end_transaction,
            remote=self._requests.markers,
        )
        transactions, verifier = _transactions(parts, ports, self.markers, self._requests)
        self.transactions: Final = transactions
        self.verifier: Final = verifier
        codec = partial(offsets_codec, parts.configs)
        self._group_elections = _elections(parts, self.groups, codec=codec)
        self._transaction_elections = _elections(parts, self.transactions)

    def start(self) -> None:
        """Begin to coordinate what this broker leads, now and after each change."""
        configs = self.parts.configs
        configs.on_change(DYNAMIC_GROUP_SETTINGS, self._reconfigure)
        configs.on_group_change(self._reconfigure_group)
        for group_id in configs.groups():
            self._reconfigure_group(group_id)
        self.parts.metadata.on_publish(self._apply)
        self.parts.partitions.on_role(self._follow_role)
        self._apply(self.parts.metadata.image)

    async def stop(self) -> None:
        """End all coordination; requests get COORDINATOR_NOT_AVAILABLE."""
        await self.transactions.runtime.stop()
        await self.groups.runtime.stop()
        await self._requests.markers.stop()
        await self._requests.additions.stop()

    def group_log(self, partition: int) -> CoordinatorLog:
        """Return the log of a partition of `__consumer_offsets` that is coordinated here.

        Raises NotCoordinatorError for any other partition.
        """
        log = self._group_elections.log(partition)
        if log is None:
            raise NotCoordinatorError(f"{OFFSETS_TOPIC}-{partition} is not coordinated here")
        return log

    def _reconfigure(self) -> None:
        self._group_configs.settings = group_settings(self.parts.configs)

    def _reconfigure_group(self, group_id: str) -> None:
        self._group_configs.update(group_id, self.parts.configs.group_numbers(group_id))

    def _apply(self, image: ClusterImage) -> None:
        """Follow an image: topics first, so that an elected shard sees the present ones."""
        if image.topics is not self._topics_seen:
            self._topics_seen = image.topics
            self.groups.runtime.update_topics(ClusterTopics(image))
        self._group_elections.apply(image)
        self._transaction_elections.apply(image)

    def _follow_role(self, name: TopicPartition) -> None:
        self._group_elections.on_role(name)
        self._transaction_elections.on_role(name)


def _elections(
    parts: CoordinatorParts,
    coordinator: TopicCoordinator[S],
    *,
    codec: Callable[[], Codec] = lambda: Codec.NONE,
) -> CoordinatorElections[S]:
    return CoordinatorElections(
        coordinator.topic,
        coordinator.runtime,
        parts.partitions,
        ports=parts.logs.ports,
        codec=codec,
    )


def _runtime_ports(parts: CoordinatorParts) -> RuntimePorts:
    manager, events = parts.logs, CoordinatorEvents(parts.metrics)
    return RuntimePorts(
        clock=manager.ports.clock,
        scheduler=manager.ports.scheduler,
        worker=manager.ports.worker,
        network_clock=parts.clock,
        network_scheduler=parts.scheduler,
        next_turn=parts.turns.next_turn,
        call_soon=manager.options.call_soon,
        count=events.count,
        loaded=events.loaded,
    )


def _groups(
    parts: CoordinatorParts, ports: RuntimePorts, configs: ConsumerGroupConfigs
) -> TopicCoordinator[GroupShard]:
    kind = ShardKind(
        OFFSETS_TOPIC,
        GROUP_RECORDS,
        partial(_group_shard, parts, configs),
        replay_run=GroupShard.replay_run,
    )
    return TopicCoordinator(
        OFFSETS_TOPIC,
        "offsets.topic.num.partitions",
        GroupRuntime(kind, ports),
        metadata=parts.metadata,
        configs=parts.configs,
    )


def _transactions(
    parts: CoordinatorParts,
    ports: RuntimePorts,
    markers: TransactionMarkerSender,
    requests: _PeerRequests,
) -> tuple[TopicCoordinator[TransactionShard], TransactionVerifier]:
    """Return the coordinator, and the verifier that waits for its completed transactions."""
    kind = ShardKind(TRANSACTIONS_TOPIC, TRANSACTION_RECORDS, partial(_transaction_shard, parts))
    completions = CompletionWaits(ports)
    runtime = TransactionRuntime(
        kind,
        ports,
        markers=markers,
        next_producer_id=parts.producer_ids.next,
        completions=completions,
    )
    coordinator = TopicCoordinator(
        TRANSACTIONS_TOPIC,
        "transaction.state.log.num.partitions",
        runtime,
        metadata=parts.metadata,
        configs=parts.configs,
    )
    manager = AddPartitionsToTxnManager(
        coordinator,
        parts.metadata,
        node_id=parts.partitions.node_id,
        remote=requests.additions,
    )
    return coordinator, TransactionVerifier(manager, parts.configs, ports, completions=completions)


def _group_shard(
    parts: CoordinatorParts, configs: ConsumerGroupConfigs, _: InternalLog
) -> GroupShard:
    return GroupShard(configs.settings, random=parts.logs.ports.random, configs=configs)


def _transaction_shard(parts: CoordinatorParts, log: InternalLog) -> TransactionShard:
    return TransactionShard(transaction_settings(parts.configs), coordinator_epoch=log.leader_epoch)
