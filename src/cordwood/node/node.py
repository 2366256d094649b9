"""Composition of one broker: startup and shutdown of all its parts (Kafka: `BrokerServer`).

    start   log directories -> metadata, configuration, logs and topics -> status pages
            -> socket server -> maintenance tasks
    stop    the reverse order: timers, then requests, then logs

A failed start closes everything that it has opened. A node runs on the event loop that starts it,
over a `NodeRuntime`: ports and engines of this machine, or of a test.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from cordwood.broker.cleaner_service import make_cleaner
from cordwood.broker.cluster_admin.topic_purgatory import TopicPurgatory
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.listeners import (
    ListenerEndpoint,
    ListenerSettings,
    is_wildcard,
    listeners_of,
)
from cordwood.broker.config.log_manager_settings import (
    follow_config_changes,
    maintenance_settings,
    manager_settings,
)
from cordwood.broker.config.replication_throttles import ReplicationThrottles
from cordwood.broker.config.stored_configs import (
    naming_altered_settings,
)
from cordwood.broker.coordinators.coordinators import CoordinatorParts, Coordinators
from cordwood.broker.dispatch import Dispatch
from cordwood.broker.loop_calls import LoopCalls
from cordwood.broker.loop_turns import TurnQueue
from cordwood.broker.metadata.metadata_image import BrokerImage
from cordwood.broker.network.connection import Handle
from cordwood.broker.network.socket_server import SocketServerPorts
from cordwood.broker.network.socket_server_settings import live_server_settings, server_listeners
from cordwood.broker.partitions.fetch_sessions import FetchSessionCache
from cordwood.broker.partitions.fetch_wakes import FetchWakes
from cordwood.broker.partitions.partition_leader import PartitionResources
from cordwood.broker.pending_results import wait_for
from cordwood.broker.process.deletion_log import report_deletion
from cordwood.broker.process.loop_watchdog import LoopWatchdog, log_slow_call
from cordwood.broker.replication.future_replica import MoveParts
from cordwood.broker.replication.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
from cordwood.broker.services import FEATURES, UNFINALIZED, BrokerServices
from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.broker.settings.operation import METRICS_LISTENER, page_address
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.address import Address
from cordwood.core.errors import SettingError
from cordwood.core.ports import Pending
from cordwood.core.settings import SettingSource
from cordwood.node.metadata_source import MetadataServices, MetadataSource, NodeFoundation
from cordwood.node.runtime import NodeRuntime
from cordwood.node.standalone import StandaloneMetadata
from cordwood.node.status_pages import status_server
from cordwood.observability.logs import fields
from cordwood.observability.metrics import Metrics
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.manager.log_directories import (
    FIRST_NODE_ID,
    DirectoryOwner,
    give_back,
    open_directories,
)
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager, ManagerOptions
from cordwood.storage.manager.maintenance_tasks import MaintenanceTasks
from cordwood.storage.manager.timestamp_lookups import TimestampLookups

_log = logging.getLogger(__name__)

#: The time that requests in progress have at shutdown.
SHUTDOWN_GRACE_MS: Final = 5_000


class Node:
    """A broker that is started and stopped once.

    `given` are the sources of its settings, the strongest first. `around` wraps the handler of all
    requests; fault injection uses it.
    """

    def __init__(
        self,
        given: Sequence[SettingSource],
        runtime: NodeRuntime,
        *,
        around: Callable[[Handle], Handle] = lambda handle: handle,
    ) -> None:
        self.metrics = Metrics()
        self.addresses: Mapping[str, Address] = MappingProxyType({})
        self._given = given
        self._runtime = runtime
        self._around = around
        self._opened = AsyncExitStack()
        self._source = _metadata_source(given, runtime, self._opened)

    async def start(self) -> BrokerServices:
        """Start all parts and serve; facts for the operator are logged."""
        try:
            configs, directories = await self._lock_directories()
            manager, flusher = self._make_manager(configs, directories)
            broker = await self._make_services(configs, manager, flusher)
            self._runtime.check_start()
            with naming_altered_settings(configs):
                await self._start_status_server(broker)
                await self._start_socket_server(broker)
                self._start_maintenance(broker, flusher)
        except BaseException:
            await self._opened.aclose()
            raise
        return broker

    async def stop(self) -> None:
        """Complete the requests in progress, then shut down every log directory cleanly."""
        await self._opened.aclose()

    # -- the steps of a start

    async def _lock_directories(self) -> tuple[BrokerConfigs, Sequence[LogDirectory]]:
        """Validate the settings and lock the log directories; no log is opened yet."""
        _ensure_listeners(self._given)
        ports, paths = self._runtime.ports, BROKER_SETTINGS.resolve(self._given)["log.dirs"].value
        if not isinstance(paths, tuple) or not paths:
            raise SettingError(
                "setting log.dirs is empty", key="log.dirs", remedy="give log.dirs, or --data DIR"
            )
        cluster_id, node_id = await self._source.identify()
        owner = DirectoryOwner(
            cluster_id=cluster_id, node_id=node_id, random=ports.random, on_event=_warn
        )
        directories = open_directories(ports.files, paths, owner=owner)
        self._opened.callback(give_back, directories)
        _, own_id = _identity(directories)
        return BrokerConfigs(own_id, self._given), directories

    def _make_manager(
        self, configs: BrokerConfigs, directories: Sequence[LogDirectory]
    ) -> tuple[LogManager, LogFlusher]:
        """Make the log manager and its flusher; the manager follows the settings from here on."""
        runtime = self._runtime
        options = ManagerOptions(
            open_files=OpenFileCache(runtime.ports.files, runtime.max_open_files),
            call_soon=LoopCalls(runtime.network_clock).call_soon,
            on_event=_warn,
            on_outage=lambda words: _log.error("log directory offline", extra=fields(what=words)),
            on_task_failure=self.metrics.counter("cordwood_log_task_failures_total").add,
            striders=runtime.striders,
            check_start=runtime.check_start,
            on_deleted=partial(report_deletion, self.metrics),
        )
        manager = LogManager(directories, runtime.ports, manager_settings(configs), options)
        self._opened.callback(manager.close)
        seconds = self.metrics.histogram("cordwood_flush_seconds")
        flusher = LogFlusher(manager, flushed=lambda took_ms: seconds.observe(took_ms / 1000))
        self._opened.push_async_callback(_closed, flusher.close)
        self._opened.callback(follow_config_changes(manager, configs).stop)
        return manager, flusher

    async def _make_services(
        self, configs: BrokerConfigs, manager: LogManager, flusher: LogFlusher
    ) -> BrokerServices:
        """Load the metadata and the logs, and compose the services of the handlers."""
        runtime, random = self._runtime, self._runtime.ports.random
        throttles = ReplicationThrottles(configs, runtime.network_clock)
        foundation = NodeFoundation(
            configs,
            self._partition_resources(configs, manager, flusher),
            runtime,
            self.metrics,
            _identity(manager.directories)[0],
            self._opened,
            throttles,
        )
        found = await self._source.open(foundation)
        slots = configs.integer("max.incremental.fetch.session.cache.slots")
        turns = TurnQueue(runtime.network_clock)
        self._opened.callback(turns.close)
        parts = CoordinatorParts(
            configs=configs,
            metadata=found.metadata,
            partitions=found.partitions,
            logs=manager,
            producer_ids=found.producer_ids,
            turns=turns,
            clock=runtime.network_clock,
            scheduler=runtime.network_scheduler,
            metrics=self.metrics,
            peers=found.peers,
        )
        return BrokerServices(
            clock=runtime.network_clock,
            scheduler=runtime.network_scheduler,
            turns=turns,
            features=FEATURES if found.controller is None else UNFINALIZED,
            configs=configs,
            throttles=throttles,
            config_changes=found.config_changes,
            metadata=found.metadata,
            topic_purgatory=TopicPurgatory(found.metadata),
            topics=found.topics,
            logs=manager,
            timestamp_lookups=TimestampLookups(manager, finders=runtime.finders),
            partitions=found.partitions,
            log_dir_moves=self._start_log_dir_moves(foundation, found),
            sessions=FetchSessionCache(random, slots),
            producer_ids=found.producer_ids,
            coordinators=self._start_coordinators(parts),
            controller=found.controller,
            replicas=found.replicas,
        )

    def _start_log_dir_moves(
        self, foundation: NodeFoundation, found: MetadataServices
    ) -> ReplicaAlterLogDirsManager:
        """Continue the moves between log directories that were under way."""
        configs, runtime = foundation.configs, self._runtime
        resources = foundation.resources
        client = ClientRuntime(
            runtime.network_clock, runtime.network_scheduler, runtime.ports.random
        )
        threads = configs.value("num.replica.alter.log.dirs.threads")
        moves = ReplicaAlterLogDirsManager(
            found.partitions,
            MoveParts(
                resources.manager,
                resources.flusher,
                foundation.throttles.log_dirs,
                client.sleep_ms,
                configs.integer("replica.fetch.max.bytes"),
            ),
            threads=threads if isinstance(threads, int) else len(resources.manager.directories),
            on_event=resources.manager.options.on_event,
            moved=found.store_directory,
        )
        self._opened.push_async_callback(moves.stop)
        moves.start()
        return moves

    def _partition_resources(
        self, configs: BrokerConfigs, manager: LogManager, flusher: LogFlusher
    ) -> PartitionResources:
        """Return the resources that all partitions share."""
        runtime = self._runtime
        inspector = runtime.inspector()
        return PartitionResources(
            node_id=configs.node_id,
            manager=manager,
            flusher=flusher,
            inspector=lambda: inspector,
            clock=runtime.network_clock,
            scheduler=runtime.network_scheduler,
            wakes=FetchWakes(manager.options.call_soon),
        )

    def _start_coordinators(self, parts: CoordinatorParts) -> Coordinators:
        """Coordinate the groups and transactions of the partitions that this broker leads."""
        coordinators = Coordinators(parts)
        self._opened.push_async_callback(coordinators.stop)
        coordinators.start()
        return coordinators

    async def _start_socket_server(self, broker: BrokerServices) -> None:
        """Open the listeners, then publish their endpoints."""
        configs = broker.configs
        listeners = listeners_of(configs).listeners
        server = self._runtime.server(
            self._around(Dispatch(broker, self.metrics).handle),
            live_server_settings(configs, listeners, capacity=self._runtime.max_connections),
            ports=SocketServerPorts(broker.clock, broker.scheduler, self._runtime.ports.worker),
            metrics=self.metrics,
        )
        self._opened.push_async_callback(server.stop, SHUTDOWN_GRACE_MS)
        bound = await server.start(server_listeners(configs, listeners))
        self.addresses = MappingProxyType({**bound, **self.addresses})
        endpoints = {
            each.name: _endpoint(each, bound[each.name], self._runtime.host) for each in listeners
        }
        rack = configs.text("broker.rack") or None
        me = BrokerImage(configs.node_id, MappingProxyType(endpoints), rack)
        await self._source.join(me)
        self._opened.push_async_callback(self._source.leave)

    def _start_maintenance(self, broker: BrokerServices, flusher: LogFlusher) -> None:
        """Start the periodic tasks over logs, the cleaner, and the watchdog if it is on."""
        runtime, manager, configs = self._runtime, broker.logs, broker.configs
        upkeep = MaintenanceTasks(manager, flusher, maintenance_settings(configs))
        self._opened.callback(upkeep.stop)
        upkeep.start()
        cleaner = make_cleaner(
            manager,
            runner=runtime.cleaner_runner,
            worker=runtime.cleaner_worker,
            configs=configs,
            metrics=self.metrics,
        )
        self._opened.push_async_callback(_closed, cleaner.close)
        cleaner.start()
        slow_ms = configs.integer("cordwood.slow.call.ms")
        if slow_ms > 0:
            watchdog = LoopWatchdog(
                broker.clock, broker.scheduler, slow_ms, report=self._report_slow_call
            )
            self._opened.callback(watchdog.stop)
            watchdog.start()

    def _report_slow_call(self, took_ms: float, stack: str) -> None:
        self.metrics.counter("cordwood_slow_calls_total").add()
        log_slow_call(took_ms, stack)

    async def _start_status_server(self, broker: BrokerServices) -> None:
        """Serve the status pages if they have an address.

        An address that cannot be bound fails the start before a client has had a response. No page
        is served before the broker serves, since the loop has no turn until then.
        """
        server = status_server(broker, metrics=self.metrics, runtime=self._runtime)
        address = page_address(broker.configs.text(METRICS_LISTENER))
        if address is not None:
            self._opened.callback(server.stop)
            self.addresses = MappingProxyType({"metrics": await server.start(address)})


def _metadata_source(
    given: Sequence[SettingSource], runtime: NodeRuntime, opened: AsyncExitStack
) -> MetadataSource:
    """Return the metadata of the cluster if there is one, else those of the directories."""
    if not BROKER_SETTINGS.resolve(given)["zookeeper.connect"].value:
        return StandaloneMetadata(given)
    from cordwood.node.cluster_member import ClusterMember  # noqa: PLC0415  # others need none of it

    return ClusterMember(given, runtime, opened)


async def _closed(close: Callable[[], Pending[None]]) -> None:
    """Close a part, and wait until its work on the worker has ended."""
    await wait_for(close())


def _ensure_listeners(given: Sequence[SettingSource]) -> None:
    """Raise for invalid listeners, before any log directory is touched."""
    configs = BrokerConfigs(FIRST_NODE_ID, given)
    listeners_of(configs)
    page_address(configs.text(METRICS_LISTENER))


def _endpoint(listener: ListenerSettings, bound: Address, host: str) -> ListenerEndpoint:
    """Return the endpoint for clients: the advertised one, else the bound one."""
    advertised = listener.advertised
    if advertised is not None:
        return replace(advertised, port=advertised.port or bound.port)
    return ListenerEndpoint(
        listener.name, host if is_wildcard(listener.host) else listener.host, bound.port
    )


def _identity(directories: Sequence[LogDirectory]) -> tuple[str, int]:
    """Return the cluster id and the node id of all directories."""
    meta = next(each.meta for each in directories if each.is_online and each.meta is not None)
    assert meta.cluster_id is not None, "an online directory has a cluster id"
    assert meta.node_id is not None, "an online directory has a node id"
    return meta.cluster_id, meta.node_id


def _warn(words: str) -> None:
    """Log a line for the operator. Thread-safe."""
    _log.warning("attention", extra=fields(what=words))
