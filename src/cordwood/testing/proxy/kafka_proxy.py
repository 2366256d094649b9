"""Proxy of the fixture `kafka_proxy`: a network proxy on a thread, for clients of any kind.

proxy = kafka_proxy(kafka.bootstrap)
with proxy.faults.on("Produce").close(handled=True):
    ...                                   any client of proxy.bootstrap
proxy.clock.advance(seconds=30)           ends delays at once
"""

import asyncio
from typing import Self

from cordwood.client.loop_thread import LoopThread
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.system import LoopScheduler, SystemClock, SystemRandom
from cordwood.testing.kafka_clock import KafkaClock
from cordwood.testing.proxy.network_faults import NetworkFaults
from cordwood.testing.proxy.network_proxy import NetworkProxy
from cordwood.testing.running_clock import RunningClock


class KafkaProxy:
    """A proxy that serves from its start until `close`."""

    def __init__(self, thread: LoopThread, proxy: NetworkProxy, clock: RunningClock) -> None:
        self.clock = KafkaClock(clock, thread)
        self._thread = thread
        self._proxy = proxy

    @classmethod
    def start(cls, bootstrap: str) -> Self:
        """Start a proxy of the cluster at these addresses, as host:port with commas."""
        thread = LoopThread("cordwood-proxy", owner="proxy")
        try:
            return thread.run(cls._started(thread, bootstrap))
        except BaseException:
            thread.end(_no_cleanup)
            raise

    @property
    def bootstrap(self) -> str:
        """Addresses for clients."""
        return self._proxy.bootstrap

    @property
    def faults(self) -> NetworkFaults:
        """The faults of all connections."""
        return self._proxy.faults

    @property
    def connections(self) -> int:
        """Number of connections that clients opened."""
        return self._proxy.connections

    def close(self) -> None:
        """Stop; FaultNotMetError if a planned fault was not met as planned."""
        self._thread.end(self._proxy.close)
        self.faults.clear()

    @classmethod
    async def _started(cls, thread: LoopThread, bootstrap: str) -> Self:
        real = SystemClock()
        clock = RunningClock(real, LoopScheduler(asyncio.get_running_loop(), real))
        runtime = ClientRuntime(clock, clock, SystemRandom())
        proxy = NetworkProxy(bootstrap, runtime=lambda: runtime)
        await proxy.start()
        return cls(thread, proxy, clock)


async def _no_cleanup() -> None:
    """Do nothing: the proxy has not started."""
