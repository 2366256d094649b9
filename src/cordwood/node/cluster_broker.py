"""Parts of a broker in a cluster, and the events between them (Kafka: `KafkaServer`).

session      in ZooKeeper: the registration, the role of the controller, configurations
roles        by requests of the controller: partitions, and the fetchers of those that follow
image        by requests of the controller: coordinators, addresses of leaders, waiting requests
controller   if this broker is elected: the same requests to all brokers
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from cordwood.broker.cluster_admin.cluster_config_changes import ClusterConfigChanges
from cordwood.broker.cluster_admin.cluster_topic_manager import ClusterTopicManager
from cordwood.broker.cluster_admin.config_entities import resource_of
from cordwood.broker.cluster_admin.dynamic_config_manager import DynamicConfigManager
from cordwood.broker.cluster_admin.producer_id_blocks import ProducerIdBlocks
from cordwood.broker.config.listeners import listeners_of
from cordwood.broker.hosting.log_reconciliation import promote_interrupted
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.membership.broker_session import BrokerSession
from cordwood.broker.membership.controlled_shutdown import ShutdownSettings, shut_down_controlled
from cordwood.broker.membership.controller_fence import ControllerFence
from cordwood.broker.membership.followed_replicas import FollowedReplicas
from cordwood.broker.membership.isr_maintenance import IsrMaintenance
from cordwood.broker.membership.replica_requests import ReplicaRequests
from cordwood.broker.membership.replica_roles import ReplicaRoles
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import NO_LEADER, BrokerImage, ClusterImage
from cordwood.broker.metadata.producer_id_manager import ProducerIdManager
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.peers.peer_brokers import PeerBrokers
from cordwood.broker.process.periodic_task import PeriodicTask
from cordwood.broker.replication.hosted_replicas import HostedReplicas
from cordwood.client.network.owned_tasks import OwnedTasks
from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.cluster.active_controller.controller_host import BrokerEvent, ControllerReport
from cordwood.cluster.active_controller.controller_settings import ActiveControllerSettings
from cordwood.cluster.channels.broker_channel import BrokerChannels
from cordwood.cluster.controller.context.cluster_context import ControllerSettings
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint
from cordwood.cluster.fetchers.fetch_counts import FetchCounts
from cordwood.cluster.fetchers.fetcher_settings import FetcherSettings
from cordwood.cluster.fetchers.remote_leader import FetchingBroker
from cordwood.cluster.fetchers.replica_fetcher_manager import ReplicaFetcherManager
from cordwood.cluster.fetchers.replica_fetcher_task import FetcherParts
from cordwood.cluster.zookeeper.client.zookeeper_errors import ZooKeeperError
from cordwood.cluster.zookeeper.store.metadata_event import ConfigChanged, SessionExpired
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.cluster.zookeeper.znodes.broker_znode import BrokerRegistration
from cordwood.core.errors import CordwoodError
from cordwood.node.metadata_source import CONFIG_CHECKS, MetadataServices, NodeFoundation
from cordwood.observability.logs import fields
from cordwood.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from cordwood.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_startup import load_logs

_log = logging.getLogger(__name__)

#: The pause before a session is begun again that could not register.
_SESSION_BACKOFF_MS: Final = 1_000


class ClusterConnections(NamedTuple):
    """The connections of a broker to ZooKeeper and to the other brokers."""

    store: ZooKeeperStore
    session: BrokerSession
    channels: BrokerChannels
    runtime: ClientRuntime


class ClusterBroker:
    """The parts of one broker; it is the host of its controller."""

    def __init__(self, connections: ClusterConnections, foundation: NodeFoundation) -> None:
        manager = foundation.resources.manager
        self._connections = connections
        self._foundation = foundation
        self._configs = foundation.configs
        self._manager = manager
        self._on_event = manager.options.on_event
        self._listeners = listeners_of(foundation.configs)
        self._tasks = OwnedTasks()
        self._next_session = PeriodicTask(self._begin_session)
        self._metadata = MetadataCache(
            ClusterImage(cluster_id=foundation.cluster_id, controller_id=NO_LEADER, brokers={})
        )
        self._dynamic_configs = DynamicConfigManager(
            connections.store.configs,
            foundation.configs,
            manager.ports.worker,
            on_event=self._on_event,
            checks=CONFIG_CHECKS,
        )
        self._controller = self._make_controller()
        self._isr = self._make_isr()
        self._partitions: HostedPartitions
        self._followers: FollowedReplicas

    # -- start and stop

    async def open(self) -> MetadataServices:
        """Load the configurations and the logs, and make the services."""
        configs, manager, opened = self._configs, self._manager, self._foundation.opened
        await self._dynamic_configs.load()
        load_logs(manager)
        promote_interrupted(manager, tuple(manager.futures))
        resources = self._foundation.resources._replace(isr=self._isr)
        self._partitions = HostedPartitions(resources, metrics=self._foundation.metrics)
        fetchers = self._make_fetchers()
        opened.push_async_callback(fetchers.stop)
        self._followers = FollowedReplicas(
            fetchers, self._metadata, listener=self._listeners.inter_broker
        )
        fence = ControllerFence(self._broker_epoch)
        roles = ReplicaRoles(
            fence,
            TopicHosting(manager, self._partitions, self._on_event),
            self._followers,
            load_configs=self._dynamic_configs.load_topics,
        )
        manager.on_lost(self._report_lost)
        topics = ClusterTopicManager(
            self._connections.store.topics,
            configs=configs,
            metadata=self._metadata,
            random=manager.ports.random,
            worker=manager.ports.worker,
            is_controller=lambda: self._controller.is_active,
        )
        opened.push_async_callback(topics.stop)
        return MetadataServices(
            self._metadata,
            self._partitions,
            topics,
            ClusterConfigChanges(
                self._dynamic_configs, configs, self._metadata, manager.ports.worker
            ),
            ProducerIdManager(self._make_producer_ids().allocate),
            self._controller,
            ReplicaRequests(
                fence,
                roles,
                self._metadata,
                registered=self._connections.session.first_registration,
                worker=manager.ports.worker,
            ),
            self._peers,
        )

    async def join(self, me: BrokerImage) -> None:
        """Register, and begin what depends on a registration."""
        opened = self._foundation.opened
        image = self._metadata.image
        self._metadata.publish(replace(image, brokers={me.node_id: me}, epoch=image.epoch + 1))
        protocols = {each.name: each.protocol.value for each in self._listeners.listeners}
        registration = BrokerRegistration(
            broker_id=me.node_id,
            endpoints=tuple(
                BrokerEndpoint(each.name, each.host, each.port, protocols[each.name])
                for each in me.endpoints.values()
            ),
            rack=me.rack,
            timestamp_ms=self._connections.runtime.clock.now_ms(),
        )
        await self._connections.session.register(registration)
        self._isr.start(self._partitions)
        opened.push_async_callback(self._isr.stop)
        # The controller stops first: it may begin tasks until then.
        opened.push_async_callback(self._tasks.close)
        opened.push_async_callback(self._next_session.stop)
        self._controller.start()
        opened.push_async_callback(self._controller.stop)

    async def leave(self) -> None:
        """Move the leaderships of this broker to others, if there are any, and it is enabled."""
        configs = self._configs
        is_alone = not self._metadata.image.brokers.keys() - {configs.node_id}
        if is_alone or not configs.boolean("controlled.shutdown.enable"):
            return
        peers = self._peers("controlled-shutdown")
        try:
            await shut_down_controlled(
                ControlledShutdownRequest(
                    broker_id=configs.node_id, broker_epoch=self._broker_epoch()
                ),
                ShutdownSettings(
                    retries=configs.integer("controlled.shutdown.max.retries"),
                    backoff_ms=configs.integer("controlled.shutdown.retry.backoff.ms"),
                    timeout_ms=configs.integer("controller.socket.timeout.ms"),
                ),
                controller=peers.controller,
                sleep_ms=self._connections.runtime.sleep_ms,
                on_event=self._on_event,
            )
        finally:
            peers.close()

    # -- host of the controller

    def is_unclean_election_enabled(self) -> bool:
        """Return `unclean.leader.election.enable` of the broker."""
        return self._configs.boolean("unclean.leader.election.enable")

    def on_controller_changed(self, controller_id: int | None) -> None:
        """Publish the controller, which the next image may have only later."""
        image, found = self._metadata.image, NO_LEADER if controller_id is None else controller_id
        if image.controller_id != found:
            self._metadata.publish(replace(image, controller_id=found, epoch=image.epoch + 1))

    def on_event(self, event: BrokerEvent) -> None:
        """Apply a changed configuration, or begin the next session, once at a time."""
        if isinstance(event, ConfigChanged):
            self._tasks.start(self._apply_config(event))
        elif isinstance(event, SessionExpired):
            self._on_event("the session in ZooKeeper is over; the broker registers again")
            self._connections.session.expire()
            self._next_session.begin()

    def on_report(self, report: ControllerReport) -> None:
        """Log a report of the controller."""
        _log.info("controller", extra=fields(what=str(report)))

    async def _apply_config(self, event: ConfigChanged) -> None:
        try:
            await self._dynamic_configs.apply_change(event.entities)
        except CordwoodError as error:
            self._on_event(f"a changed configuration is not applied: {error}")
            return
        resource = resource_of(event.entities)
        if resource is not None and resource.is_topic:
            if self._configs.config_for(resource.name).unclean_leader_election_enable:
                self._controller.enable_unclean_elections(resource.name)
        elif self.is_unclean_election_enabled():
            self._controller.enable_unclean_elections()

    async def _begin_session(self) -> None:
        """Register in a new session, until that succeeds."""
        while True:
            try:
                await self._connections.session.begin_again()
                # Changes were not notified while there was no session.
                await self._dynamic_configs.load()
            except CordwoodError as error:
                self._on_event(f"the broker cannot register again yet: {error}")
                await self._connections.runtime.sleep_ms(_SESSION_BACKOFF_MS)
            else:
                self._controller.begin_session()
                return

    # -- parts

    def _broker_epoch(self) -> int:
        return self._connections.session.broker_epoch

    def _peers(self, purpose: str) -> PeerBrokers:
        return PeerBrokers(
            self._metadata,
            self._connections.channels,
            listener=self._listeners.inter_broker,
            client_id=f"broker-{self._configs.node_id}-{purpose}",
        )

    def _opened_peers(self, purpose: str) -> PeerBrokers:
        """Return channels that are closed with the broker."""
        peers = self._peers(purpose)
        self._foundation.opened.callback(peers.close)
        return peers

    def _make_isr(self) -> IsrMaintenance:
        runtime = self._connections.runtime
        return IsrMaintenance(
            self._configs,
            self._metadata,
            controller=self._opened_peers("alter-partition").controller,
            broker_epoch=self._broker_epoch,
            clock=runtime.clock,
            scheduler=runtime.scheduler,
        )

    def _make_fetchers(self) -> ReplicaFetcherManager:
        integer = self._configs.integer
        settings = FetcherSettings(
            max_bytes=integer("replica.fetch.max.bytes"),
            response_max_bytes=integer("replica.fetch.response.max.bytes"),
            min_bytes=integer("replica.fetch.min.bytes"),
            wait_max_ms=integer("replica.fetch.wait.max.ms"),
            backoff_ms=integer("replica.fetch.backoff.ms"),
            socket_timeout_ms=integer("replica.socket.timeout.ms"),
            fetchers_per_leader=integer("num.replica.fetchers"),
        )
        parts = FetcherParts(
            HostedReplicas(self._partitions),
            self._connections.runtime,
            FetchCounts(),
            self._on_event,
            self._foundation.throttles.follower,
        )
        return ReplicaFetcherManager(
            FetchingBroker(self._configs.node_id, self._broker_epoch),
            self._connections.channels,
            settings,
            parts,
        )

    def _make_producer_ids(self) -> ProducerIdBlocks:
        peers, runtime = self._opened_peers("producer-ids"), self._connections.runtime
        timeout_ms = self._configs.integer("request.timeout.ms")

        async def send(request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
            channel = peers.controller()
            return await channel.send(request, AllocateProducerIdsResponse, timeout_ms=timeout_ms)

        return ProducerIdBlocks(
            send,
            broker_id=self._configs.node_id,
            broker_epoch=self._broker_epoch,
            clock=runtime.clock,
            scheduler=runtime.scheduler,
        )

    def _make_controller(self) -> ActiveController:
        configs = self._configs
        store, _, channels, runtime = self._connections
        settings = ActiveControllerSettings(
            decisions=ControllerSettings(
                controller_id=configs.node_id,
                inter_broker_listener=self._listeners.inter_broker,
                is_topic_deletion_enabled=configs.boolean("delete.topic.enable"),
                leader_imbalance_percentage=configs.integer(
                    "leader.imbalance.per.broker.percentage"
                ),
            ),
            is_rebalance_enabled=configs.boolean("auto.leader.rebalance.enable"),
            rebalance_interval_ms=1_000
            * configs.integer("leader.imbalance.check.interval.seconds"),
            request_timeout_ms=configs.integer("controller.socket.timeout.ms"),
        )
        return ActiveController(
            store, channels, settings, runtime, host=self, worker=self._manager.ports.worker
        )

    def _report_lost(self, logs: Sequence[Log]) -> None:
        """Stop to follow with lost logs, and notify the controller of the lost directory."""
        self._followers.stop_following([log.partition for log in logs])
        self._tasks.start(self._notify_lost())

    async def _notify_lost(self) -> None:
        try:
            await self._connections.store.notifications.notify_log_dir_failure(
                self._configs.node_id
            )
        except ZooKeeperError as error:
            self._on_event(f"the controller is not notified of a lost directory: {error}")
