"""Metadata of the cluster in ZooKeeper, as brokers and the controller use them.

    brokers          registrations, epochs           election         controller and its epoch
    topics           ids and replicas                leaderships      leaders, in-sync sets
    configs          configurations                  facts            cluster id, producer ids
    administration   requests for the controller     notifications    notes between brokers
    events           the stream of changes

A session begins with `start`, and after its end with the next `start`: with a new registration, a
new election, and all subjects followed again.
"""

from cordwood.cluster.zookeeper.client.zookeeper_client import ZooKeeperClient
from cordwood.cluster.zookeeper.store.administration_requests import AdministrationRequests
from cordwood.cluster.zookeeper.store.broker_registry import BrokerRegistry
from cordwood.cluster.zookeeper.store.change_notifications import ChangeNotifications
from cordwood.cluster.zookeeper.store.cluster_facts import ClusterFacts
from cordwood.cluster.zookeeper.store.config_store import ConfigStore
from cordwood.cluster.zookeeper.store.controller_election import ControllerElection
from cordwood.cluster.zookeeper.store.leadership_store import LeadershipStore
from cordwood.cluster.zookeeper.store.metadata_events import MetadataEvents
from cordwood.cluster.zookeeper.store.topic_store import TopicStore
from cordwood.core.ports import Clock


class ZooKeeperStore:
    """The parts of the store over one client."""

    def __init__(self, client: ZooKeeperClient, clock: Clock) -> None:
        self._client = client
        self.events = MetadataEvents(client)
        self.brokers = BrokerRegistry(client)
        self.election = ControllerElection(client, clock)
        self.topics = TopicStore(client)
        self.leaderships = LeadershipStore(client)
        self.configs = ConfigStore(client)
        self.facts = ClusterFacts(client)
        self.administration = AdministrationRequests(client)
        self.notifications = ChangeNotifications(client)

    async def start(self) -> None:
        """Begin a session, and create the nodes that every broker expects."""
        self._client.start()
        await self.facts.create_persistent_nodes()

    async def close(self) -> None:
        """End the session, with the registration and the role of the controller."""
        await self._client.close()
