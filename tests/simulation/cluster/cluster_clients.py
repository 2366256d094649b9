"""Clients of a simulated cluster: the real producer and consumer, each in a process of its own."""

import asyncio
from typing import TYPE_CHECKING, Final

from cordwood.client.aio import Consumer, Producer
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.errors import KafkaError, OffsetOutOfRangeError
from cordwood.testing.seeded_random import SeededRandom
from tests.simulation.cluster.cluster_ledger import UNCHANGED, ClusterLedger
from tests.simulation.cluster.cluster_network import ClusterNetwork
from tests.simulation.cluster.cluster_world import (
    ClusterWorld,
    ProcessClock,
    new_process,
)
from tests.simulation.cluster.counted_zookeeper import TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

_POLL_MS: Final = 300


class ClusterClient:
    """A process that uses the cluster until it is stopped."""

    def __init__(self, name: str, network: ClusterNetwork, *, bootstrap: str, seed: int) -> None:
        self.name: Final = name
        self.world: Final[ClusterWorld] = network.world
        self.process: Final = new_process(name, network.world, network)
        self.is_working = True
        clock = ProcessClock(self.process)
        random = SeededRandom(seed)
        self.runtime: Callable[[], ClientRuntime] = lambda: ClientRuntime(clock, clock, random)
        self.bootstrap: Final = bootstrap

    async def sleep(self, ms: float) -> None:
        """Wait in virtual time."""
        await self.runtime().sleep_ms(ms)


class ClusterProducer(ClusterClient):
    """A producer of records `<name>:<number>`, which sends as its operations want."""

    is_done = False
    acks = "all"
    is_idempotent = True
    sent = 0
    has_failures = False
    _failure = ""

    def begin(self, ledger: ClusterLedger) -> None:
        """Be ready to produce from now on."""
        with self.process.running():
            self._operations: asyncio.Queue[tuple[int, int] | None] = asyncio.Queue()
            self.process.begin(self._run(ledger))

    def produce(self, number: int, count: int) -> None:
        """Send records to a partition."""
        with self.process.running():
            self._operations.put_nowait((number, count))

    def end(self) -> None:
        """Close the producer, once all is sent."""
        with self.process.running():
            self._operations.put_nowait(None)

    async def _run(self, ledger: ClusterLedger) -> None:
        producer = Producer[bytes, bytes](
            self.bootstrap,
            runtime=self.runtime,
            acks=self.acks,
            enable_idempotence=self.is_idempotent,
            client_id=self.name,
            request_timeout_ms=500,
            delivery_timeout_ms=3_000,
            socket_connection_setup_timeout_ms=400,
            max_block_ms=2_000,
            retry_backoff_ms=20,
            retry_backoff_max_ms=100,
            linger_ms=0,
        )
        async with producer:
            while (operation := await self._operations.get()) is not None:
                number, count = operation
                for _ in range(count):
                    await self._send(producer, ledger, number)
        self.is_done = True

    async def _send(
        self, producer: Producer[bytes, bytes], ledger: ClusterLedger, number: int
    ) -> None:
        value = f"{self.name}:{self.sent}".encode()
        self.sent += 1
        try:
            delivery = await producer.send(TOPIC, value, partition=number)
        except KafkaError as error:
            self.world.note("{}: {} is not sent: {!r}", self.name, value, error)
            return

        async def acknowledged() -> None:
            try:
                report = await delivery
            except KafkaError as error:
                self.world.count("records failed")
                self.has_failures = True
                if self._failure != repr(error):
                    self._failure = repr(error)
                    self.world.note("{}: {} has failed: {}", self.name, value, self._failure)
                return
            if self.acks == "all" and report.offset >= 0:
                ledger.acknowledge(number, report.offset, value)

        self.process.begin(acknowledged())


class ClusterConsumer(ClusterClient):
    """A consumer that reads all partitions from their start."""

    partitions = 1

    def begin(self, ledger: ClusterLedger) -> None:
        """Consume from now on."""
        with self.process.running():
            self.process.begin(self._run(ledger))

    async def _run(self, ledger: ClusterLedger) -> None:
        consumer = Consumer[bytes, bytes](
            self.bootstrap,
            runtime=self.runtime,
            client_id=self.name,
            auto_offset_reset="none",
            fetch_max_wait_ms=200,
            request_timeout_ms=500,
            default_api_timeout_ms=2_000,
            socket_connection_setup_timeout_ms=400,
            retry_backoff_ms=20,
            retry_backoff_max_ms=100,
        )
        async with consumer:
            partitions = [(TOPIC, each) for each in range(self.partitions)]
            consumer.assign(partitions)
            for each in partitions:
                consumer.seek(each, 0)
            while self.is_working:
                try:
                    records = await consumer.poll(_POLL_MS)
                except OffsetOutOfRangeError as error:
                    self.world.violate(UNCHANGED, f"{self.name}: {error!r}")
                    return
                except KafkaError as error:
                    self.world.note("{}: a poll has failed: {!r}", self.name, error)
                    self.world.count("polls failed")
                    await self.sleep(_POLL_MS)
                    continue
                for record in records:
                    assert record.value is not None
                    ledger.consume(record.partition, record.offset, record.value)
