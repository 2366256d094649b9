"""Services of one broker, as the request handlers receive them (Kafka: `KafkaApis` fields)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from cordwood.broker.cluster_admin.topic_purgatory import TopicPurgatory
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.replication_throttles import ReplicationThrottles
from cordwood.broker.coordinators.coordinators import Coordinators
from cordwood.broker.loop_turns import TurnQueue
from cordwood.broker.membership.replica_requests import ReplicaRequests
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.producer_id_manager import ProducerIdManager
from cordwood.broker.partitions.fetch_sessions import FetchSessionCache
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.replication.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
from cordwood.broker.topics.config_administration import ConfigAdministration
from cordwood.broker.topics.topic_administration import TopicAdministration
from cordwood.core.ports import Clock, Scheduler
from cordwood.protocol.schema import Response
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.timestamp_lookups import TimestampLookups

if TYPE_CHECKING:  # messages are imported with the first request
    from cordwood.protocol.messages.alter_partition import AlterPartitionRequest
    from cordwood.protocol.messages.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
    )
    from cordwood.protocol.messages.controlled_shutdown import ControlledShutdownRequest
    from cordwood.protocol.messages.elect_leaders import ElectLeadersRequest
    from cordwood.protocol.messages.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
    )

    ControllerRequest: TypeAlias = (
        ElectLeadersRequest
        | AlterPartitionReassignmentsRequest
        | ListPartitionReassignmentsRequest
        | AlterPartitionRequest
        | ControlledShutdownRequest
    )

R = TypeVar("R", bound=Response)


class FeatureVersionRange(NamedTuple):
    """The lowest and the highest version of a feature."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class BrokerFeatures:
    """Supported features, and those finalized for the cluster (Kafka: `BrokerFeatures`).

    Clients use the finalized features only if `epoch` is 0 or more; some change what they send.
    """

    supported: Mapping[str, FeatureVersionRange] = field(default_factory=dict)
    finalized: Mapping[str, FeatureVersionRange] = field(default_factory=dict)
    epoch: int = 0


#: The features of this broker, finalized as by a new cluster of Kafka 4.3. Level 2 of
#: transaction.version lets clients end a transaction with a new epoch; group.version lets them use
#: the consumer protocol of groups.
FEATURES: Final = BrokerFeatures(
    supported={
        "group.version": FeatureVersionRange(0, 1),
        "transaction.version": FeatureVersionRange(0, 2),
    },
    finalized={
        "group.version": FeatureVersionRange(1, 1),
        "transaction.version": FeatureVersionRange(2, 2),
    },
)


#: The features of a broker in a cluster with ZooKeeper, which finalizes none, as Kafka 3.9. A
#: client would otherwise end transactions with a new epoch at a coordinator that does not know it.
UNFINALIZED: Final = BrokerFeatures(epoch=-1)


class ControllerRequests(Protocol):
    """The controller of a cluster on this broker, for requests of clients and brokers.

    Raises NotControllerError if another broker is the controller.
    """

    async def submit(self, request: "ControllerRequest", kind: type[R], *, version: int) -> R:
        """Return the response to a request in its version."""

    async def allocate_producer_ids(self, broker_id: int, *, broker_epoch: int) -> range:
        """Return the next block of producer ids, for a broker with its epoch; KafkaError."""


@dataclass(slots=True, kw_only=True)
class BrokerServices:
    """The services of one broker.

    `clock` and `scheduler` are the network's, in real time: long polls, request times and idle
    connections use them. The logs have a clock of their own, which a test may set.
    """

    clock: Clock
    scheduler: Scheduler
    turns: TurnQueue
    features: BrokerFeatures
    configs: BrokerConfigs
    throttles: ReplicationThrottles
    config_changes: ConfigAdministration
    metadata: MetadataCache
    topic_purgatory: TopicPurgatory
    topics: TopicAdministration
    logs: LogManager
    timestamp_lookups: TimestampLookups
    partitions: HostedPartitions
    log_dir_moves: ReplicaAlterLogDirsManager
    sessions: FetchSessionCache
    producer_ids: ProducerIdManager
    coordinators: Coordinators
    #: None for an embedded broker, which is its own controller.
    controller: ControllerRequests | None = None
    #: None for an embedded broker, which has no controller.
    replicas: ReplicaRequests | None = None
