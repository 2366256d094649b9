"""One broker, put together and taken apart again: the only place that knows all of its parts.

    start   log directories -> metadata -> configuration -> logs -> topics -> pages -> server
            -> upkeep
    stop    the same, from the end: no timers any more, then no requests, then the logs are closed

What has been opened when a start fails is closed again. A node runs on the event loop that it is
started on, and stands on a `Machine`: the ports, of this machine or of one in memory.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.broker.adoption import open_metadata
from cordwood.broker.broker import Broker
from cordwood.broker.cleaning import CleaningMachine, make_cleaner
from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.configuring import ConfigChanges
from cordwood.broker.connection import Handle
from cordwood.broker.dispatch import Dispatch
from cordwood.broker.errand import Errand
from cordwood.broker.features import Features
from cordwood.broker.fetch_sessions import FetchSessions
from cordwood.broker.hosting import HostingTools
from cordwood.broker.image import BrokerImage, ClusterImage
from cordwood.broker.kept_configs import load_configs
from cordwood.broker.late_inspector import LateInspector
from cordwood.broker.listeners import Endpoint, ListenerSettings, is_anywhere, listeners_of
from cordwood.broker.log_settings import keep_current, manager_settings, upkeep_settings
from cordwood.broker.log_sizes import LogSizes
from cordwood.broker.loop_watch import LoopWatch, log_slow_call
from cordwood.broker.metadata import Metadata
from cordwood.broker.metadata_writer import MetadataWriter
from cordwood.broker.network import Network
from cordwood.broker.partition import PartitionTools
from cordwood.broker.partitions import Partitions
from cordwood.broker.producer_ids import ProducerIds, block_taker
from cordwood.broker.reconciling import reconcile
from cordwood.broker.server import Server
from cordwood.broker.server_settings import live_server_settings, server_listeners
from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.broker.settings.operation import METRICS_LISTENER, page_address
from cordwood.broker.status_page import Page, StatusServer
from cordwood.broker.topics import Topics, TopicTools
from cordwood.core.address import Address
from cordwood.core.errors import SettingError
from cordwood.core.ports import Clock, Files, Random, Scheduler, Worker
from cordwood.core.settings import DEFAULT_SOURCE, Source
from cordwood.core.version import __version__
from cordwood.observability.exposition import CONTENT_TYPE, expose
from cordwood.observability.logs import fields
from cordwood.observability.metrics import Metrics
from cordwood.records.inspect import Inspector, PlainInspector
from cordwood.records.stride import Striders, no_strider
from cordwood.storage.directories import FIRST_NODE_ID, Owner, give_back, open_directories
from cordwood.storage.file_table import FileTable
from cordwood.storage.flusher import Flusher
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.manager import LogManager
from cordwood.storage.stock import ManagerTools
from cordwood.storage.upkeep import Upkeep

_log = logging.getLogger(__name__)

#: How long requests at work may take when the node stops.
GRACE_MS: Final = 5_000
#: After how long logs are tried again that could not be made.
RETRY_MS: Final = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a node stands on. Logs and the network each have a time of their own."""

    files: Files
    clock: Clock
    scheduler: Scheduler
    worker: Worker
    random: Random
    network: Network
    cleaning: CleaningMachine
    files_open: int = 1000
    striders: Striders = no_strider
    #: What records are checked with once it has been loaded; until then they are checked plainly.
    inspector: Callable[[], Inspector] = PlainInspector
    #: Where a listener is reached that listens everywhere.
    host: str = "localhost"

    def close(self) -> None:
        """Let the threads end, once no node stands on it any more."""
        self.worker.close()
        self.cleaning.worker.close()


class _Ground(NamedTuple):
    """What a broker stands on in turn: logs that are not loaded yet, and who says how they live."""

    manager: LogManager
    flusher: Flusher
    configs: BrokerConfigs


class Node:
    """A broker that can be started and stopped, once.

    `given` are the sources of its settings, the strongest first. `around` is laid around what
    answers requests, for those who want to get in between.
    """

    def __init__(
        self,
        given: Sequence[Source],
        machine: Machine,
        *,
        around: Callable[[Handle], Handle] = lambda handle: handle,
    ) -> None:
        self.metrics = Metrics()
        self.addresses: Mapping[str, Address] = MappingProxyType({})
        self._given = given
        self._machine = machine
        self._around = around
        self._opened = AsyncExitStack()
        self._inspector = LateInspector(machine.worker)

    async def start(self) -> Broker:
        """Serve; what there was to be told of on the way is in the log."""
        try:
            ground = self._take_directories()
            broker = self._make_broker(ground)
            await self._show(broker)
            await self._serve(broker)
            self._look_after(ground, broker.topics)
        except BaseException:
            await self._opened.aclose()
            raise
        return broker

    async def stop(self) -> None:
        """Answer what is at work, then leave every directory as a clean stop leaves it."""
        await self._opened.aclose()

    def use_kernels(self) -> None:
        """Check records with the machine's inspector, which is loaded when the first ones come."""
        self._inspector.offer(self._machine.inspector)

    # -- the steps of a start

    def _take_directories(self) -> _Ground:
        """Lock the log directories, and make who looks after their logs; none is opened yet."""
        _ensure_listeners(self._given)
        machine, resolved = self._machine, BROKER_SETTINGS.resolve(self._given)
        paths, node_id = resolved["log.dirs"].value, resolved["node.id"]
        if not isinstance(paths, tuple) or not paths:
            raise SettingError(
                "no log directory is named", key="log.dirs", remedy="give log.dirs, or --data DIR"
            )
        is_node_given = node_id.source != DEFAULT_SOURCE and isinstance(node_id.value, int)
        owner = Owner(
            node_id=int(str(node_id.value)) if is_node_given else None,
            random=machine.random,
            on_event=_warn,
        )
        directories = open_directories(machine.files, paths, owner=owner)
        self._opened.callback(give_back, directories)
        _, own_id = _identity(directories)
        configs = BrokerConfigs(own_id, self._given)
        tools = ManagerTools(
            files=machine.files,
            clock=machine.clock,
            scheduler=machine.scheduler,
            worker=machine.worker,
            random=machine.random,
            table=FileTable(machine.files, machine.files_open),
            call_soon=asyncio.get_running_loop().call_soon_threadsafe,
            on_event=_warn,
            striders=machine.striders,
        )
        manager = LogManager(directories, tools, manager_settings(configs))
        self._opened.callback(manager.close)
        seconds = self.metrics.histogram("cordwood_flush_seconds")
        flusher = Flusher(manager, flushed=lambda took_ms: seconds.observe(took_ms / 1000))
        self._opened.callback(flusher.close)
        self._opened.callback(keep_current(manager, configs).stop)
        return _Ground(manager, flusher, configs)

    def _make_broker(self, ground: _Ground) -> Broker:
        """Read the metadata, open the logs, and put together what answers requests."""
        machine, (manager, flusher, configs) = self._machine, ground
        store, adopted = open_metadata(
            manager.directories, node_id=configs.node_id, random=machine.random
        )
        self._opened.callback(store.close)
        if adopted is not None:
            _log.info("directories adopted", extra=fields(what=str(adopted)))
        load_configs(store, configs, on_event=_warn)
        manager.load()
        tools = PartitionTools(manager, flusher, self._inspector.now)
        partitions = Partitions(tools, self.metrics)
        hosting = HostingTools(manager, partitions, _warn)
        cluster_id, _ = _identity(manager.directories)
        empty = ClusterImage(cluster_id=cluster_id, controller_id=configs.node_id, brokers={})
        metadata = Metadata(reconcile(store, hosting, image=empty))
        writer = MetadataWriter(store, machine.worker)
        slots = configs.integer("max.incremental.fetch.session.cache.slots")
        return Broker(
            network=machine.network,
            features=Features(),
            configs=configs,
            config_changes=ConfigChanges(writer, configs, metadata),
            metadata=metadata,
            topics=Topics(TopicTools(writer, configs, metadata, hosting, machine.random)),
            logs=manager,
            partitions=partitions,
            sessions=FetchSessions(machine.random, slots),
            producer_ids=ProducerIds(block_taker(writer, configs.node_id)),
        )

    async def _serve(self, broker: Broker) -> None:
        """Open the listeners; nobody is answered before it is known where they are."""
        configs, metadata = broker.configs, broker.metadata
        listeners = listeners_of(configs).listeners
        handle = self._around(Dispatch(broker, self.metrics).handle)
        settings = live_server_settings(configs, listeners)
        server = Server(handle, settings, network=self._machine.network, metrics=self.metrics)
        self._opened.push_async_callback(server.stop, GRACE_MS)
        bound = await server.start(server_listeners(configs, listeners))
        self.addresses = MappingProxyType({**bound, **self.addresses})
        endpoints = {
            each.name: _endpoint(each, bound[each.name], self._machine.host) for each in listeners
        }
        rack = configs.text("broker.rack") or None
        me = BrokerImage(configs.node_id, MappingProxyType(endpoints), rack)
        metadata.publish(
            replace(metadata.image, brokers={me.node_id: me}, epoch=metadata.image.epoch + 1)
        )

    def _look_after(self, ground: _Ground, topics: Topics) -> None:
        """Begin what is done to logs again and again."""
        manager, flusher, configs = ground
        retrying = Errand(topics.retry)
        self._opened.push_async_callback(retrying.stop)
        self._opened.callback(self._machine.scheduler.every(RETRY_MS, retrying.begin).cancel)
        upkeep = Upkeep(manager, flusher, upkeep_settings(configs))
        self._opened.callback(upkeep.stop)
        upkeep.start()
        cleaner = make_cleaner(
            manager, self._machine.cleaning, configs=configs, metrics=self.metrics
        )
        self._opened.callback(cleaner.close)
        cleaner.start()
        slow_ms = configs.integer("cordwood.slow.call.ms")
        if slow_ms > 0:
            watch = LoopWatch(self._machine.network.clock, slow_ms, report=self._report_slow_call)
            self._opened.callback(watch.stop)
            watch.start()

    def _report_slow_call(self, took_ms: float, place: str) -> None:
        self.metrics.counter("cordwood_slow_calls_total").add()
        log_slow_call(took_ms, place)

    async def _show(self, broker: Broker) -> None:
        """Let others see how the broker is, if a place for that was named.

        One that cannot be had ends the start before a client has been answered. Nobody is shown a
        page before the broker serves: the loop has no turn until it does.
        """
        configs = broker.configs
        _feed(self.metrics, broker, started_ms=self._machine.network.clock.now_ms())
        sizes = LogSizes(broker.logs)
        self.metrics.read("cordwood_log_bytes", lambda: sizes.by_topic)
        where = page_address(configs.text(METRICS_LISTENER))
        if where is None:
            return
        pages = {
            "/metrics": lambda: Page(
                chain(sizes.measure(), expose(self.metrics)), content_type=CONTENT_TYPE
            ),
            "/healthz": lambda: _health(broker),
        }
        server = StatusServer(pages, self._machine.network)
        self._opened.callback(server.stop)
        self.addresses = MappingProxyType({"metrics": await server.start(where)})


def _ensure_listeners(given: Sequence[Source]) -> None:
    """Refuse what cannot be listened on while no directory has been touched."""
    configs = BrokerConfigs(FIRST_NODE_ID, given)
    listeners_of(configs)
    page_address(configs.text(METRICS_LISTENER))


def _feed(metrics: Metrics, broker: Broker, *, started_ms: int) -> None:
    """Let metrics say what can be read at any time."""
    metadata, logs = broker.metadata, broker.logs
    metrics.gauge(
        "cordwood_info", __version__, metadata.image.cluster_id, str(broker.configs.node_id)
    ).set(1)
    metrics.gauge("cordwood_start_time_seconds").set(started_ms / 1000)
    metrics.read("cordwood_topics", lambda: {(): len(metadata.image.topics)})
    metrics.read("cordwood_partitions", lambda: {(): len(logs.logs)})
    metrics.read("cordwood_partitions_offline", lambda: {(): _offline(metadata)})
    metrics.read("cordwood_fetch_sessions", lambda: {(): len(broker.sessions)})


def _offline(metadata: Metadata) -> int:
    return sum(map(len, metadata.image.leaderless.values()))


def _health(broker: Broker) -> Page:
    if broker.logs.is_serving:
        return Page(["serving\n"])
    return Page(["no log directory can be used\n"], "503 Service Unavailable")


def _endpoint(listener: ListenerSettings, bound: Address, host: str) -> Endpoint:
    """Return where clients reach a listener: as it says, else where it listens."""
    said = listener.advertised
    if said is not None:
        return replace(said, port=said.port or bound.port)
    return Endpoint(
        listener.name, host if is_anywhere(listener.host) else listener.host, bound.port
    )


def _identity(directories: Sequence[LogDirectory]) -> tuple[str, int]:
    """Return which cluster and node all directories say they are of."""
    meta = next(each.meta for each in directories if each.is_online and each.meta is not None)
    assert meta.cluster_id is not None, "a directory that is used says which cluster it is of"
    assert meta.node_id is not None, "a directory that is used says which node it is of"
    return meta.cluster_id, meta.node_id


def _warn(words: str) -> None:
    """Tell the operator; any thread may."""
    _log.warning("attention", extra=fields(what=words))
