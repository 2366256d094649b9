"""Metrics of a node, and its pages `/metrics` and `/healthz`."""

from itertools import chain

from cordwood.broker.coordinators.coordinator_sizes import CoordinatorSizes
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.process.free_space import FreeSpace
from cordwood.broker.process.log_sizes import LogSizes
from cordwood.broker.process.status_server import StatusPage, StatusServer
from cordwood.broker.services import BrokerServices
from cordwood.core.version import __version__
from cordwood.node.runtime import NodeRuntime
from cordwood.observability.exposition import CONTENT_TYPE, expose
from cordwood.observability.metrics import Metrics


def status_server(
    broker: BrokerServices, *, metrics: Metrics, runtime: NodeRuntime
) -> StatusServer:
    """Register the gauges, and return the server of the pages, which is not started yet."""
    _register_gauges(metrics, broker)
    metrics.read("cordwood_log_lines_lost_total", lambda: {(): runtime.lost_log_lines()})
    sizes, space = LogSizes(broker.logs), FreeSpace(broker.logs)
    coordinated = CoordinatorSizes(broker.coordinators)
    coordinated.register(metrics)
    metrics.read("cordwood_log_bytes", lambda: sizes.by_topic)
    metrics.read("cordwood_log_directory_usable_bytes", space.usable)
    metrics.read("cordwood_log_directory_total_bytes", space.total)
    pages = {
        "/metrics": lambda: StatusPage(
            chain(*(each.measure() for each in (sizes, space, coordinated)), expose(metrics)),
            content_type=CONTENT_TYPE,
        ),
        "/healthz": lambda: _health(broker),
    }
    return StatusServer(pages, clock=broker.clock, scheduler=broker.scheduler)


def _register_gauges(metrics: Metrics, broker: BrokerServices) -> None:
    """Set the constant gauges, and register those that are read at each scrape."""
    metadata, logs = broker.metadata, broker.logs
    metrics.gauge(
        "cordwood_info", __version__, metadata.image.cluster_id, str(broker.configs.node_id)
    ).set(1)
    metrics.gauge("cordwood_start_time_seconds").set(broker.clock.now_ms() / 1000)
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
