"""Broker embedded in a Python program, on this machine's files, clock and sockets.

    with cordwood.Broker(data="kafka-logs") as broker:
        broker.address

It is the node that `cordwood serve` runs, without the parts of a process: signals, standard output,
and a higher descriptor limit. It runs on an event loop in its own thread and shares the interpreter
with the program, so a broker under load should run as `cordwood serve`.
"""

import asyncio
from collections.abc import Mapping
from os.path import abspath
from typing import TYPE_CHECKING, Final, Self

from cordwood.broker.process.descriptor_budget import DescriptorBudget
from cordwood.client.loop_thread import LoopThread
from cordwood.compaction.runner.process_runner import ProcessRunner
from cordwood.config import ensure_valid
from cordwood.core import system
from cordwood.core.errors import InvalidRequestError, LogDirectoryError
from cordwood.core.ports import Lane, LoopPorts
from cordwood.core.settings import SettingSource, SettingValue, texts_of
from cordwood.node.cluster_ports import system_cluster_ports
from cordwood.node.node import Node
from cordwood.node.runtime import NodeRuntime
from cordwood.records import kernels

if TYPE_CHECKING:
    from os import PathLike

#: The highest number of cleaning passes at a time; a thread waits for each of them.
_MAX_PASSES: Final = 64
#: Log directories of the brokers of this program. Another process is detected by its lock.
_SERVED: Final = set[str]()


def system_runtime(budget: DescriptorBudget, *, host: str) -> NodeRuntime:
    """Return the runtime of a node on this machine, for the running loop; the caller closes it.

    The budget limits open log files and connections. Cleaning passes run in processes. `host` is
    advertised for listeners on every address. Raise KernelLibraryError before any log is opened.
    """
    kernels.ensure_kernels(kernels.BROKER_MODULES)
    clock = system.SystemClock()
    scheduler = system.LoopScheduler(asyncio.get_running_loop(), clock)
    worker = system.ThreadWorker(ready=Lane)
    return NodeRuntime(
        ports=LoopPorts(
            files=system.SystemFiles(),
            clock=clock,
            random=system.SystemRandom(),
            scheduler=scheduler,
            worker=worker,
        ),
        network_clock=clock,
        network_scheduler=scheduler,
        cleaner_runner=ProcessRunner(),
        cleaner_worker=system.ThreadWorker(_MAX_PASSES, ready=[Lane.BACKGROUND]),
        max_open_files=budget.files,
        max_connections=budget.connections,
        striders=kernels.tail_scanner,
        inspector=kernels.inspector,
        finders=kernels.record_finder,
        host=host,
        cluster=system_cluster_ports(worker),
    )


class Broker:
    """Serves from `start` to `close`, or inside a `with` block.

    `config` has settings by Kafka's names. Port 0 stands for any free port, which `address` has.
    """

    def __init__(
        self,
        data: "str | PathLike[str]",
        *,
        listen: str = "127.0.0.1:0",
        config: Mapping[str, SettingValue] | None = None,
    ) -> None:
        texts = {"log.dirs": abspath(data), "listeners": f"PLAINTEXT://{listen}"}  # noqa: PTH100  # keeps links
        self._given = SettingSource("cordwood.Broker", {**texts, **texts_of(config or {})})
        self._thread: LoopThread | None = None
        self._node: Node | None = None
        self._runtime: NodeRuntime | None = None

    def __repr__(self) -> str:
        place = "not running" if self._node is None else f"at {self.address}"
        return f"<cordwood.Broker {place}, data in {self._given.texts['log.dirs']!r}>"

    @property
    def address(self) -> str:
        """The bootstrap address as `host:port`, of the first listener."""
        if self._node is None:
            raise InvalidRequestError("the broker is not started; use it in a with block")
        return str(next(iter(self._node.addresses.values())))

    def start(self) -> None:
        """Start to serve.

        Raise SettingError, LogDirectoryError, ListenError or KernelLibraryError if that fails.
        """
        if self._node is not None:
            raise InvalidRequestError("the broker is started already")
        ensure_valid(self._given)
        data = self._given.texts["log.dirs"]
        if data in _SERVED:
            raise LogDirectoryError(
                "is in use by another broker of this program",
                path=data,
                remedy="close that broker, or give this one another directory",
            )
        self._thread = LoopThread("cordwood-broker", owner="broker")
        try:
            self._thread.run(self._start())
        except BaseException:
            self.close()
            raise
        _SERVED.add(data)

    def close(self) -> None:
        """Complete the requests in progress, then shut down cleanly."""
        if self._node is not None:
            _SERVED.discard(self._given.texts["log.dirs"])
        if self._thread is not None:
            self._thread.end(self._stop)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _start(self) -> None:
        self._runtime = system_runtime(DescriptorBudget.of_program(), host="localhost")
        node = Node([self._given], self._runtime)
        await node.start()
        self._node = node

    async def _stop(self) -> None:
        node, self._node = self._node, None
        if node is not None:
            await node.stop()
        if self._runtime is not None:
            self._runtime.close()
