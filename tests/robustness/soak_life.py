"""Hours in the life of a broker, in which everything comes and goes.

topics         two new ones, of which one has the name of an earlier one; those of the last
               hour are altered, grow, and are deleted
clients        producers with ids of their own, and consumers; others stay
connections    closed, reset, silent, cut within a frame, with invalid frames, with TLS
sessions       fetch sessions that end, and ones that are abandoned; long polls that are
               answered, that time out, and that lose their client
segments       rolled, deleted by retention and by requests, cleaned
settings       of brokers and of topics, altered and reset; the certificate every sixth hour
coordination   groups and transactions: `tests.robustness.soak_coordination`
"""

import asyncio
import socket
import ssl
import struct
from collections import Counter
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from cordwood.client.aio import Admin, Consumer, Producer
from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.errors import NetworkError
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from cordwood.testing.seeded_random import SeededRandom
from tests.robustness.soak_broker import SoakBroker
from tests.robustness.soak_coordination import SETTINGS as SETTINGS_OF_COORDINATION
from tests.robustness.soak_coordination import SoakCoordination
from tests.unit.broker.conftest import Identity

STREAM: Final = "stream"
TABLE: Final = "table"
#: A name that a new topic gets every hour.
AGAIN: Final = "again"
PARTITIONS: Final = 2
SESSION_SLOTS: Final = 12

_HOUR_MS: Final = 3_600_000
#: Few sizes, so that the caches of encoded numbers are full after the first hours.
_SIZES: Final = (0, 10, 100, 1_000, 20_000)
_ROTATION_HOURS: Final = 6
#: Time after which records, producer ids and deleted files of the last hour are gone.
_DRAIN_HOURS: Final = 6
_KEYSTORE: Final = "listener.name.ssl.ssl.keystore.location"
_TOPICS: Final[dict[str, dict[str, str]]] = {
    STREAM: {"retention.ms": str(_HOUR_MS), "segment.ms": "900000"},
    TABLE: {
        "cleanup.policy": "compact,delete",
        "retention.ms": str(3 * _HOUR_MS),
        "delete.retention.ms": "60000",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "900000",
    },
}


def settings_of_soak(keystore: Path) -> dict[str, str]:
    """Return the settings of the broker."""
    return {
        **SETTINGS_OF_COORDINATION,
        "node.id": "1",
        "auto.create.topics.enable": "false",
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        "ssl.keystore.location": str(keystore),
        "cordwood.metrics.listener": "127.0.0.1:0",
        "max.incremental.fetch.session.cache.slots": str(SESSION_SLOTS),
        "producer.id.expiration.ms": str(2 * _HOUR_MS),
        "log.cleaner.backoff.ms": "60000",
        "log.index.size.max.bytes": "65536",
        # Each of these fsyncs; at Kafka's interval of seconds, they would be the whole soak.
        "replica.high.watermark.checkpoint.interval.ms": str(_HOUR_MS),
        "log.flush.offset.checkpoint.interval.ms": str(_HOUR_MS),
        "log.flush.start.offset.checkpoint.interval.ms": str(_HOUR_MS),
    }


class SoakLife:
    """The clients of a broker; `counts` has the number of everything that came."""

    def __init__(
        self, broker: SoakBroker, keystore: Path, identities: tuple[Identity, ...]
    ) -> None:
        self.has_groups = True
        self.counts: Counter[str] = Counter()
        self._broker = broker
        self._keystore = keystore
        self._identities = identities
        self._trusts = [ssl.create_default_context(cadata=each.certificate) for each in identities]
        self._random = SeededRandom(29)
        self._admin = Admin(broker.bootstrap, runtime=self._runtime)
        # With sequences it would keep a number for each partition that it has ever written.
        self._producer: Producer = Producer(
            broker.bootstrap, runtime=self._runtime, linger_ms=0, enable_idempotence=False
        )
        self._consumer: Consumer = Consumer(
            broker.bootstrap, runtime=self._runtime, auto_offset_reset="earliest"
        )
        self._coordination = SoakCoordination(broker.bootstrap, self._runtime, self.counts)
        self._hour = 0
        self._visitors: list[str] = []
        self._streams: list[asyncio.StreamWriter] = []
        self._segments = set[tuple[TopicPartition, int]]()

    async def begin(self) -> None:
        """Start the clients that stay, and create the topics that stay."""
        for client in (self._admin, self._producer, self._consumer):
            await client.start()
        for name, configs in _TOPICS.items():
            await self._do(self._admin.create_topic(name, partitions=PARTITIONS, configs=configs))

    async def live(self, hours: int) -> None:
        """Let some hours pass."""
        for _ in range(hours):
            self._hour += 1
            for activity in (
                self._come_as_topics,
                self._come_as_clients,
                self._come_as_connections,
                self._come_as_sessions,
                self._coordinate,
                self._poll,
                self._alter,
                self._visit_pages,
                self._make_mistakes,
            ):
                await self._do(activity())
            if self._hour % _ROTATION_HOURS == 0:
                await self._do(self._rotate())
            self._count_segments()
            await self._broker.advance(hours=1)
            await self._do(self._go())
            if self._hour == 1:
                # The consumer that stays loses its session now, as after each drain.
                await self._do(self._end_sessions())

    async def drain(self) -> None:
        """Remove everything but the topics that stay, and let its traces expire."""
        for name in self._visitors:
            await self._do(self._admin.delete_topic(name))
        self._visitors.clear()
        await self._broker.advance(hours=_DRAIN_HOURS)
        await self._do(self._end_sessions())
        await self._do(self._visit_pages())
        await self._do(self._go())

    async def end(self) -> None:
        """Close the clients that stay."""
        for client in (self._admin, self._producer, self._consumer):
            await self._do(client.close())

    def _runtime(self) -> ClientRuntime:
        return self._broker.runtime

    async def _do(self, work: Coroutine[object, object, object]) -> None:
        await self._broker.finish(work)

    # -- topics and clients

    async def _come_as_topics(self) -> None:
        admin, old = self._admin, self._visitors
        for name in old:
            await admin.alter_configs(("topic", name), change={"retention.ms": "60000"})
            await admin.create_partitions(name, PARTITIONS + 1)
            await admin.delete_topic(name)
        self._visitors = [AGAIN, f"visitor-{self._hour}"]
        for name in self._visitors:
            await admin.create_topic(name, partitions=PARTITIONS, configs={"segment.ms": "600000"})
        self.counts["topics"] += len(self._visitors)

    async def _come_as_clients(self) -> None:
        address = self._broker.bootstrap
        for topic in (STREAM, TABLE, *self._visitors):
            async with Producer(address, runtime=self._runtime, linger_ms=0) as producer:
                for number in range(5 + self._random.below(10)):
                    key = b"%d" % self._random.below(20)
                    value = bytes(_SIZES[self._random.below(len(_SIZES))])
                    await producer.send(topic, value, key=key, partition=number % PARTITIONS)
                await producer.flush()
            self.counts["producers"] += 1
            consumer: Consumer = Consumer(
                address, runtime=self._runtime, auto_offset_reset="earliest"
            )
            async with consumer:
                consumer.assign([(topic, 0)])
                await consumer.poll(60_000)
            self.counts["consumers"] += 1
        await self._use_staying_clients()
        if self._hour % _ROTATION_HOURS == 1:
            await self._admin.delete_records({(STREAM, 0): -1})

    async def _use_staying_clients(self) -> None:
        topics = (STREAM, *self._visitors)
        for topic in topics:
            await (await self._producer.send(topic, b"from a producer that stays"))
        await self._admin.list_topics()
        self._consumer.assign([(topic, 0) for topic in topics])
        while await self._consumer.poll(1_000):
            self.counts["polls"] += 1
        self._consumer.assign([])

    # -- connections

    async def _open(
        self, listener: str = "PLAINTEXT"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = self._broker.node.addresses[listener]
        reader, writer = await asyncio.open_connection(address.host, address.port)
        self._streams.append(writer)
        self.counts["connections"] += 1
        return reader, writer

    async def _come_as_connections(self) -> None:
        for _ in range(3):
            await self._open()  # silent, until it is idle
        _, writer = await self._open()
        writer.write(struct.pack(">i", 1_000) + b"half a frame")
        _, writer = await self._open()
        writer.write(struct.pack(">i", -5))
        _, writer = await self._open("SSL")
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        _, writer = await self._open()
        accepted = writer.get_extra_info("socket")
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        for _ in range(3):
            (await self._connect()).close()

    async def _connect(
        self, listener: str = "PLAINTEXT", tls: ssl.SSLContext | None = None
    ) -> BrokerConnection:
        self.counts["connections"] += 1
        return await self._broker.connect(listener, tls)

    async def _go(self) -> None:
        """Close the streams of this hour."""
        for writer in self._streams:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        self._streams.clear()

    async def _coordinate(self) -> None:
        if self.has_groups:
            await self._coordination.come(STREAM)

    async def _visit_pages(self) -> None:
        for path in ("/metrics", "/healthz"):
            reader, writer = await self._open("metrics")
            writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
            await reader.read()
            self.counts["pages"] += 1
        await self._open("metrics")

    async def _make_mistakes(self) -> None:
        connection = await self._connect()
        request = ProduceRequest(
            acks=-1,
            timeout_ms=1_000,
            topics=[
                TopicProduceData(
                    name=f"missing-{self._hour}",
                    topic_id=NO_UUID,
                    partitions=[PartitionProduceData(index=0, records=b"damaged")],
                )
            ],
        )
        response = await connection.send(request, ProduceResponse)
        self.counts["rejected produces"] += len(response.responses)
        connection.close()

    # -- fetch sessions

    def _fetch(
        self,
        topics: Iterable[str] = (STREAM, TABLE),
        *,
        session: tuple[int, int] = (0, -1),
        max_wait_ms: int = 0,
    ) -> FetchRequest:
        """Return a request from the log ends."""
        broker = self._broker.services
        return FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            session_id=session[0],
            session_epoch=session[1],
            topics=[
                FetchTopic(
                    topic=topic,
                    topic_id=broker.metadata.image.topics[topic].topic_id,
                    partitions=[
                        FetchPartition(
                            partition=index,
                            fetch_offset=broker.partitions.get(topic, index).log.bounds.log_end,
                            partition_max_bytes=1_000,
                        )
                        for index in range(PARTITIONS)
                    ],
                )
                for topic in topics
            ],
        )

    async def _come_as_sessions(self) -> None:
        for number in range(4):
            connection = await self._connect()
            request = self._fetch((STREAM, TABLE, *self._visitors), session=(0, 0))
            session = (await connection.send(request, FetchResponse)).session_id
            if session:
                self.counts["fetch sessions"] += 1
                request = self._fetch((), session=(session, 1))
                await connection.send(request, FetchResponse)
            if number % 2:
                await connection.send(self._fetch((), session=(session, -1)), FetchResponse)
            connection.close()

    async def _end_sessions(self) -> None:
        """Fill the cache with new sessions, and end these.

        A client that goes during its first fetch leaves a session. It stays in the cache, unused,
        until a new session replaces it, and the network decides how many there are.
        """
        connection = await self._connect()
        opening, sessions = self._fetch(session=(0, 0)), list[int]()
        for _ in range(SESSION_SLOTS):
            sessions.append((await connection.send(opening, FetchResponse)).session_id)
        for session in sessions:
            await connection.send(self._fetch((), session=(session, -1)), FetchResponse)
        connection.close()
        assert not len(self._broker.services.sessions), "a new session replaces an unused one"

    async def _poll(self) -> None:
        """Wait for records in vain, in time, and without waiting for the end."""
        answered, vain, gone = [await self._connect() for _ in range(3)]
        async with asyncio.TaskGroup() as group:
            group.create_task(vain.send(self._fetch(max_wait_ms=500), FetchResponse))
            group.create_task(answered.send(self._fetch(max_wait_ms=_HOUR_MS), FetchResponse))
            group.create_task(_lost(gone.send(self._fetch(max_wait_ms=_HOUR_MS), FetchResponse)))
            await self._broker.runtime.sleep_ms(1_000)
            gone.close()
            await self._come_as_clients()
        for connection in (answered, vain):
            connection.close()
        self.counts["long polls"] += 3

    # -- settings

    async def _alter(self) -> None:
        admin = self._admin
        altered: list[tuple[tuple[str, str], dict[str, str]]] = [
            (("broker", ""), {"log.cleaner.threads": "2", "log.retention.ms": str(_HOUR_MS)}),
            (("broker", "1"), {"max.connections.per.ip": "1000", "num.io.threads": "9"}),
            (("topic", STREAM), {"max.message.bytes": "2000000", "segment.bytes": "3000000"}),
        ]
        for resource, change in altered:
            before = _TOPICS[STREAM] if resource[0] == "topic" else {}
            await admin.alter_configs(resource, change=change)
            restored = {name: before[name] for name in change if name in before}
            reset = [name for name in change if name not in before]
            await admin.alter_configs(resource, change=restored, reset=reset)
            self.counts["altered settings"] += len(change)

    async def _rotate(self) -> None:
        self.counts["certificates"] += 1
        index = self.counts["certificates"] % len(self._identities)
        write_keystore(self._keystore, self._identities[index])
        await self._admin.alter_configs(("broker", "1"), change={_KEYSTORE: str(self._keystore)})
        (await self._connect("SSL", self._trusts[index])).close()

    def _count_segments(self) -> None:
        logs = self._broker.services.logs.all_logs()
        present = {(log.partition, base) for log in logs for base in log.base_offsets}
        self.counts["segments"] += len(present - self._segments)
        self._segments = present


def write_keystore(path: Path, identity: Identity) -> None:
    """Replace the certificate that a broker loads."""
    path.write_text(identity.key + identity.certificate)


async def _lost(response: Coroutine[object, object, FetchResponse]) -> None:
    with suppress(NetworkError):
        await response
