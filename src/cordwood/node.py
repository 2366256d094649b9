"""Composition of one broker: startup and shutdown of all its parts (Kafka: `BrokerServer`).

    start   log directories -> metadata -> configuration -> logs -> topics -> status pages
            -> socket server -> maintenance tasks
    stop    the reverse order: timers, then requests, then logs

A failed start closes everything that it has opened. A node runs on the event loop that starts it,
over a `NodeRuntime`: ports and engines of this machine, or of a test.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Final

from cordwood.broker.cleaner_service import make_cleaner
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
from cordwood.broker.config.reconfiguration_checks import CHECKS
from cordwood.broker.config.stored_configs import (
    initial_texts,
    load_configs,
    naming_altered_settings,
)
from cordwood.broker.coordinators.coordinator_sizes import CoordinatorSizes
from cordwood.broker.coordinators.coordinators import CoordinatorParts, Coordinators
from cordwood.broker.dispatch import Dispatch
from cordwood.broker.hosting.log_reconciliation import reconcile
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.loop_calls import LoopCalls
from cordwood.broker.loop_turns import TurnQueue
from cordwood.broker.metadata.metadata_adoption import open_metadata
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import BrokerImage, ClusterImage
from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.broker.metadata.producer_id_manager import ProducerIdManager, block_allocator
from cordwood.broker.network.connection import Handle
from cordwood.broker.network.socket_server import SocketServer, SocketServerPorts
from cordwood.broker.network.socket_server_settings import live_server_settings, server_listeners
from cordwood.broker.network.tls import check_tls
from cordwood.broker.partitions.fetch_sessions import FetchSessionCache
from cordwood.broker.partitions.fetch_wakes import FetchWakes
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.partitions.partition_leader import PartitionResources
from cordwood.broker.pending_results import wait_for
from cordwood.broker.process.deletion_log import report_deletion
from cordwood.broker.process.free_space import FreeSpace
from cordwood.broker.process.log_sizes import LogSizes
from cordwood.broker.process.loop_watchdog import LoopWatchdog, log_slow_call
from cordwood.broker.process.periodic_task import PeriodicTask
from cordwood.broker.process.status_server import StatusPage, StatusServer
from cordwood.broker.services import FEATURES, BrokerServices
from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.broker.settings.operation import METRICS_LISTENER, page_address
from cordwood.broker.topics.config_changes import ConfigChanges
from cordwood.broker.topics.topic_manager import TopicManager
from cordwood.compaction.cleaning_job import CleanerRunner
from cordwood.core.address import Address
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import SettingError
from cordwood.core.ports import Clock, LoopPorts, Pending, Scheduler, Worker
from cordwood.core.settings import DEFAULT_SOURCE, SettingSource
from cordwood.core.version import __version__
from cordwood.observability.exposition import CONTENT_TYPE, expose
from cordwood.observability.logs import fields
from cordwood.observability.metrics import Metrics
from cordwood.records.record_checks import Inspector, PlainInspector
from cordwood.records.record_lookup import RecordFinders, plain_record_finder
from cordwood.records.tail_scan import TailScanners, no_tail_scanner
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
from cordwood.storage.manager.log_startup import load_logs
from cordwood.storage.manager.maintenance_tasks import MaintenanceTasks
from cordwood.storage.manager.timestamp_lookups import TimestampLookups

_log = logging.getLogger(__name__)

#: The time that requests in progress have at shutdown.
SHUTDOWN_GRACE_MS: Final = 5_000
#: The interval between attempts to create logs that could not be created.
RETRY_MS: Final = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRuntime:
    """The ports and engines of a node.

    `ports` serve the logs. The network has a clock and a scheduler of its own, in real time, so
    that a test can move the clock of the logs.
    """

    ports: LoopPorts
    network_clock: Clock
    network_scheduler: Scheduler
    cleaner_runner: CleanerRunner
    cleaner_worker: Worker
    max_open_files: int = 1000
    #: The connections for which the process has descriptors.
    max_connections: int = INT32_MAX
    striders: TailScanners = no_tail_scanner
    #: Returns the record checks of all partitions; called once, during the start.
    inspector: Callable[[], Inspector] = PlainInspector
    #: Finds a record by timestamp in a batch; called on the worker.
    finders: RecordFinders = plain_record_finder
    #: Raises StartInterruptedError if the start is to end; called between its steps, on any thread.
    check_start: Callable[[], object] = lambda: None
    #: Returns the number of log lines that the process has lost.
    lost_log_lines: Callable[[], int] = lambda: 0
    #: The host that is advertised for a listener on every address.
    host: str = "localhost"

    def close(self) -> None:
        """Join the worker threads, after all nodes have stopped."""
        self.ports.worker.close()
        self.cleaner_worker.close()


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

    async def start(self) -> BrokerServices:
        """Start all parts and serve; facts for the operator are logged."""
        try:
            configs, directories = self._lock_directories()
            manager, flusher = self._make_manager(configs, directories)
            broker = self._make_services(configs, manager, flusher)
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

    def _lock_directories(self) -> tuple[BrokerConfigs, Sequence[LogDirectory]]:
        """Validate the settings and lock the log directories; no log is opened yet."""
        _ensure_listeners(self._given)
        ports, resolved = self._runtime.ports, BROKER_SETTINGS.resolve(self._given)
        paths, node_id = resolved["log.dirs"].value, resolved["node.id"]
        if not isinstance(paths, tuple) or not paths:
            raise SettingError(
                "setting log.dirs is empty", key="log.dirs", remedy="give log.dirs, or --data DIR"
            )
        is_node_given = node_id.source != DEFAULT_SOURCE and isinstance(node_id.value, int)
        owner = DirectoryOwner(
            node_id=int(str(node_id.value)) if is_node_given else None,
            random=ports.random,
            on_event=_warn,
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

    def _make_services(
        self, configs: BrokerConfigs, manager: LogManager, flusher: LogFlusher
    ) -> BrokerServices:
        """Read the metadata, load the logs, and compose the services of the handlers."""
        runtime, random = self._runtime, self._runtime.ports.random
        store, adopted = open_metadata(
            manager.directories,
            node_id=configs.node_id,
            random=random,
            initial_texts=initial_texts(configs),
            on_event=_warn,
        )
        self._opened.callback(store.close)
        if adopted is not None:
            _log.info("directories adopted", extra=fields(what=str(adopted)))
        load_configs(store, configs, on_event=_warn)
        load_logs(manager)
        resources = self._partition_resources(configs, manager, flusher)
        partitions = HostedPartitions(resources, metrics=self.metrics)
        hosting = TopicHosting(manager, partitions, _warn)
        cluster_id, _ = _identity(manager.directories)
        empty = ClusterImage(cluster_id=cluster_id, controller_id=configs.node_id, brokers={})
        metadata = MetadataCache(reconcile(store, hosting, image=empty))
        writer = MetadataWriter(store, runtime.ports.worker)
        topics = TopicManager(
            writer, configs=configs, metadata=metadata, hosting=hosting, random=random
        )
        self._opened.push_async_callback(topics.stop)
        slots = configs.integer("max.incremental.fetch.session.cache.slots")
        turns = TurnQueue(runtime.network_clock)
        producer_ids = ProducerIdManager(block_allocator(writer, configs.node_id))
        parts = CoordinatorParts(
            configs=configs,
            metadata=metadata,
            partitions=partitions,
            logs=manager,
            producer_ids=producer_ids,
            turns=turns,
            clock=runtime.network_clock,
            scheduler=runtime.network_scheduler,
            metrics=self.metrics,
        )
        return BrokerServices(
            clock=runtime.network_clock,
            scheduler=runtime.network_scheduler,
            turns=turns,
            features=FEATURES,
            configs=configs,
            config_changes=ConfigChanges(writer, configs, metadata, checks=(*CHECKS, check_tls)),
            metadata=metadata,
            topics=topics,
            logs=manager,
            timestamp_lookups=TimestampLookups(manager, finders=runtime.finders),
            partitions=partitions,
            sessions=FetchSessionCache(random, slots),
            producer_ids=producer_ids,
            coordinators=self._start_coordinators(parts),
        )

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
        configs, metadata = broker.configs, broker.metadata
        listeners = listeners_of(configs).listeners
        server = SocketServer(
            self._around(Dispatch(broker, self.metrics).handle),
            live_server_settings(configs, listeners, capacity=self._runtime.max_connections),
            ports=SocketServerPorts(broker.clock, broker.scheduler, self._runtime.ports.worker),
            metrics=self.metrics,
        )
        self._opened.push_async_callback(server.stop, SHUTDOWN_GRACE_MS)
        # No request is handled before the endpoints are published: there is no await in between.
        bound = await server.start(server_listeners(configs, listeners))
        self.addresses = MappingProxyType({**bound, **self.addresses})
        endpoints = {
            each.name: _endpoint(each, bound[each.name], self._runtime.host) for each in listeners
        }
        rack = configs.text("broker.rack") or None
        me = BrokerImage(configs.node_id, MappingProxyType(endpoints), rack)
        metadata.publish(
            replace(metadata.image, brokers={me.node_id: me}, epoch=metadata.image.epoch + 1)
        )

    def _start_maintenance(self, broker: BrokerServices, flusher: LogFlusher) -> None:
        """Start the periodic tasks over logs, the cleaner, and the watchdog if it is on."""
        runtime, manager, configs = self._runtime, broker.logs, broker.configs
        retry = PeriodicTask(broker.topics.retry)
        self._opened.push_async_callback(retry.stop)
        self._opened.callback(runtime.ports.scheduler.every(RETRY_MS, retry.begin).cancel)
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
        """Register the gauges, and serve the status pages if they have an address.

        An address that cannot be bound fails the start before a client has had a response. No page
        is served before the broker serves, since the loop has no turn until then.
        """
        configs = broker.configs
        _register_gauges(self.metrics, broker, started_ms=broker.clock.now_ms())
        lost_lines = self._runtime.lost_log_lines
        self.metrics.read("cordwood_log_lines_lost_total", lambda: {(): lost_lines()})
        sizes, space = LogSizes(broker.logs), FreeSpace(broker.logs)
        coordinated = CoordinatorSizes(broker.coordinators)
        coordinated.register(self.metrics)
        self.metrics.read("cordwood_log_bytes", lambda: sizes.by_topic)
        self.metrics.read("cordwood_log_directory_usable_bytes", space.usable)
        self.metrics.read("cordwood_log_directory_total_bytes", space.total)
        address = page_address(configs.text(METRICS_LISTENER))
        if address is None:
            return
        pages = {
            "/metrics": lambda: StatusPage(
                chain(
                    *(each.measure() for each in (sizes, space, coordinated)), expose(self.metrics)
                ),
                content_type=CONTENT_TYPE,
            ),
            "/healthz": lambda: _health(broker),
        }
        server = StatusServer(pages, clock=broker.clock, scheduler=broker.scheduler)
        self._opened.callback(server.stop)
        self.addresses = MappingProxyType({"metrics": await server.start(address)})


async def _closed(close: Callable[[], Pending[None]]) -> None:
    """Close a part, and wait until its work on the worker has ended."""
    await wait_for(close())


def _ensure_listeners(given: Sequence[SettingSource]) -> None:
    """Raise for invalid listeners, before any log directory is touched."""
    configs = BrokerConfigs(FIRST_NODE_ID, given)
    listeners_of(configs)
    page_address(configs.text(METRICS_LISTENER))


def _register_gauges(metrics: Metrics, broker: BrokerServices, *, started_ms: int) -> None:
    """Set the constant gauges, and register those that are read at each scrape."""
    metadata, logs = broker.metadata, broker.logs
    metrics.gauge(
        "cordwood_info", __version__, metadata.image.cluster_id, str(broker.configs.node_id)
    ).set(1)
    metrics.gauge("cordwood_start_time_seconds").set(started_ms / 1000)
    metrics.read("cordwood_topics", lambda: {(): len(metadata.image.topics)})
    metrics.read("cordwood_partitions", lambda: {(): len(logs.logs)})
    metrics.read("cordwood_partitions_offline", lambda: {(): _count_offline(metadata)})
    metrics.read("cordwood_transient_disk_errors_total", lambda: logs.transient_errors.counts)
    metrics.read("cordwood_fetch_sessions", lambda: {(): len(broker.sessions)})


def _count_offline(metadata: MetadataCache) -> int:
    return sum(map(len, metadata.image.leaderless.values()))


def _health(broker: BrokerServices) -> StatusPage:
    if broker.logs.is_serving:
        return StatusPage(["serving\n"])
    return StatusPage(["no log directory is online\n"], "503 Service Unavailable")


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
