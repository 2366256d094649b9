"""Ports and engines of a node: those of this machine, or of a test."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cordwood.broker.network.acceptor import Listener
from cordwood.broker.network.connection import Handle
from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.socket_server import SocketServer, SocketServerPorts
from cordwood.compaction.cleaning_job import CleanerRunner
from cordwood.core.address import Address
from cordwood.core.binary import INT32_MAX
from cordwood.core.ports import Clock, LoopPorts, Scheduler, Worker
from cordwood.node.cluster_ports import ClusterPorts
from cordwood.observability.metrics import Metrics
from cordwood.records.record_checks import Inspector, PlainInspector
from cordwood.records.record_lookup import RecordFinders, plain_record_finder
from cordwood.records.tail_scan import TailScanners, no_tail_scanner


class NodeServer(Protocol):
    """A server of one node: sockets, or the network of a simulation."""

    async def start(self, listeners: Sequence[Listener]) -> Mapping[str, Address]:
        """Serve; return the addresses by listener name, or raise ListenError."""

    async def stop(self, grace_ms: float) -> None:
        """Complete the requests in progress within a time, then close all connections."""


class ServerFactory(Protocol):
    """Returns the server of a node."""

    def __call__(
        self,
        handle: Handle,
        settings: Callable[[], SocketServerSettings],
        *,
        ports: SocketServerPorts,
        metrics: Metrics,
    ) -> NodeServer:
        """Return a server that is not started yet; `handle` handles a request."""


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
    server: ServerFactory = SocketServer
    #: None for a runtime whose nodes join no cluster.
    cluster: ClusterPorts | None = None

    def close(self) -> None:
        """Join the worker threads, after all nodes have stopped."""
        self.ports.worker.close()
        self.cleaner_worker.close()
