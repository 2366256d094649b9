"""Requests that wait until the transaction of an id completes (Kafka: none, they are retried).

A request that meets a transaction whose markers are being written is retried at their end, and not
only after `add.partitions.to.txn.retry.backoff.ms`.
"""

import asyncio

from cordwood.coordination.runtime.runtime_ports import RuntimePorts


class CompletionWaits:
    """The waits of one broker, each for a limited time of the network."""

    def __init__(self, ports: RuntimePorts) -> None:
        self._ports = ports
        self._waiting = dict[str, list[asyncio.Event]]()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def wait(self, transactional_id: str, wait_ms: float) -> None:
        """Wait until a transaction of the id completes, or until the time is over."""
        ended = asyncio.Event()
        waiting = self._waiting.setdefault(transactional_id, [])
        waiting.append(ended)
        clock, scheduler = self._ports.network_clock, self._ports.network_scheduler
        timer = scheduler.call_at(clock.monotonic_ms() + wait_ms, ended.set)
        try:
            await ended.wait()
        finally:
            timer.cancel()
            waiting.remove(ended)
            if not waiting:
                del self._waiting[transactional_id]

    def wake(self, transactional_id: str) -> None:
        """End the waits for an id."""
        for each in self._waiting.get(transactional_id, ()):
            each.set()
