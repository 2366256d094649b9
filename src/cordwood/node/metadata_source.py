"""Port of a node to its metadata: in its log directories, or in a cluster.

identify   before the log directories are opened: the ids that these must have
open       with the log manager, whose logs are not loaded yet: the first image, and the services
that change topics and configurations
join       the broker serves: its endpoints become known
leave      before the broker stops to serve
"""

from contextlib import AsyncExitStack
from typing import Final, NamedTuple, Protocol

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.reconfiguration_checks import CHECKS
from cordwood.broker.config.replication_throttles import ReplicationThrottles
from cordwood.broker.membership.replica_requests import ReplicaRequests
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import BrokerImage
from cordwood.broker.metadata.producer_id_manager import ProducerIdManager
from cordwood.broker.network.tls import check_tls
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.partitions.partition_leader import PartitionResources
from cordwood.broker.peers.peer_channels import OpenPeers, no_peers
from cordwood.broker.replication.replica_alter_log_dirs_manager import (
    StoreDirectory,
    store_nothing,
)
from cordwood.broker.services import ControllerRequests
from cordwood.broker.topics.config_administration import ConfigAdministration
from cordwood.broker.topics.topic_administration import TopicAdministration
from cordwood.node.runtime import NodeRuntime
from cordwood.observability.metrics import Metrics

#: The checks of an altered configuration of a broker, before it is stored.
CONFIG_CHECKS: Final = (*CHECKS, check_tls)


class NodeIdentity(NamedTuple):
    """The ids that the log directories must have; None if they decide."""

    cluster_id: str | None
    node_id: int | None


class NodeFoundation(NamedTuple):
    """The parts of a node that its metadata need; `opened` closes what is added to it."""

    configs: BrokerConfigs
    resources: PartitionResources
    runtime: NodeRuntime
    metrics: Metrics
    cluster_id: str
    opened: AsyncExitStack
    throttles: ReplicationThrottles


class MetadataServices(NamedTuple):
    """The image, the partitions on this broker, and the services that change them."""

    metadata: MetadataCache
    partitions: HostedPartitions
    topics: TopicAdministration
    config_changes: ConfigAdministration
    producer_ids: ProducerIdManager
    #: None for a broker without a cluster, which is its own controller.
    controller: ControllerRequests | None = None
    replicas: ReplicaRequests | None = None
    peers: OpenPeers = no_peers
    #: Stores the log directory of a replica that has moved.
    store_directory: StoreDirectory = store_nothing


class MetadataSource(Protocol):
    """The metadata of one node."""

    async def identify(self) -> NodeIdentity:
        """Return the ids that the log directories must have."""

    async def open(self, foundation: NodeFoundation) -> MetadataServices:
        """Load the configurations and the logs, and return the services."""

    async def join(self, me: BrokerImage) -> None:
        """Publish the endpoints of this broker."""

    async def leave(self) -> None:
        """Give up the leaderships of this broker, which still serves."""
