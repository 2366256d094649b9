"""The producer for asyncio.

    async with aio.Producer("127.0.0.1:9092") as producer:
        delivery = await producer.send("orders", b"42 logs", key=b"ada")
        print(await delivery)       # DeliveryReport(topic='orders', partition=0, offset=1000, ...)

`send` gathers; what is gathered leaves when a batch is full or has lingered, and `flush` waits for
all of it. An error of `send` is the record's own; what happens to it later, its delivery says.
"""

import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Self, Unpack, cast

from cordwood.client.deliveries import Delivery
from cordwood.client.machine import this_machine
from cordwood.client.partition_queue import NewBatch, NewRecord, most_bytes
from cordwood.client.partitioners import Partitioner, by_key
from cordwood.client.router import Router
from cordwood.client.sender import Sender
from cordwood.client.serializers import PLAIN, K, Serializers, V
from cordwood.client.settings import ProducerOptions, ProducerSettings, options_of, settings_of
from cordwood.client.surroundings import Surroundings, Turn
from cordwood.client.trust import tls_of
from cordwood.core.errors import InvalidRequestError, RequestTimedOutError
from cordwood.records.builder import EncodedRecords
from cordwood.records.record import NO_HEADERS, Header


class Producer(Generic[K, V]):
    """Sends records; `K` and `V` are what its serializers take: bytes and text without any."""

    def __init__(
        self,
        bootstrap: str = "",
        *,
        serializers: Serializers[K, V] | None = None,
        partitioner: Partitioner = by_key,
        tls: ssl.SSLContext | None = None,
        surroundings: Callable[[], Surroundings] = this_machine,
        **options: Unpack[ProducerOptions],
    ) -> None:
        if bootstrap:
            options["bootstrap_servers"] = bootstrap
        self.settings = settings_of(
            ProducerSettings, options, beside=("serializers", "partitioner", "tls")
        )
        self._serializers = serializers or cast("Serializers[K, V]", PLAIN)
        self._partitioner = partitioner
        self._tls = tls_of(self.settings, tls)
        self._surroundings = surroundings
        self._router: Router | None = None
        self._sender: Sender | None = None

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, object],
        *,
        serializers: Serializers[K, V] | None = None,
        partitioner: Partitioner = by_key,
        tls: ssl.SSLContext | None = None,
    ) -> Self:
        """Return a producer that is told its options by Kafka's names."""
        options = cast("ProducerOptions", options_of(ProducerSettings, config))
        return cls(serializers=serializers, partitioner=partitioner, tls=tls, **options)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Begin on the running loop; brokers are asked when the first record comes."""
        self._router = Router(self.settings, self._surroundings(), self._tls)
        self._sender = Sender(self._router, self.settings, self._partitioner)

    async def send(
        self,
        topic: str,
        value: V | None,
        *,
        key: K | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[Header] = NO_HEADERS,
    ) -> Delivery:
        """Take a record, waiting for its topic to be known and for room; return its delivery."""
        record = self.record(
            topic, value, key=key, partition=partition, timestamp_ms=timestamp_ms, headers=headers
        )
        delivery = self.offer(record) or await self.put(record)
        if self._started().is_woken:  # else who sends without a pause would keep it from sending
            await Turn()
        return delivery

    async def send_batch(
        self, topic: str, records: EncodedRecords, *, partition: int | None = None
    ) -> Delivery:
        """Take records that are a batch already; the delivery is that of the first of them.

        Without a partition one is chosen for all: whoever goes by keys has gone by them before.
        """
        batch = NewBatch(topic, partition, records)
        return self.offer(batch) or await self.put(batch)

    async def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has, waiting for it to be known."""
        self._started()
        assert self._router is not None, "it has been started"
        state = await self._router.topic(topic, timeout_ms=self.settings.max_block_ms)
        return len(state.partitions)

    async def flush(self) -> None:
        """Send what was gathered so far, and wait until it is known what became of it."""
        await self._started().flush()

    async def close(self, timeout_ms: float | None = None) -> None:
        """Flush for so long, `delivery_timeout_ms` at the most, then give up what is left."""
        router, sender = self._router, self._sender
        if router is None or sender is None:
            return
        self._router = self._sender = None
        limit_ms = self.settings.delivery_timeout_ms if timeout_ms is None else timeout_ms
        try:
            await router.surroundings.within(limit_ms, sender.flush(), late=TimeoutError)
        except TimeoutError:
            pass  # each delivery says so itself
        finally:
            sender.close()
            await router.close()

    # What `send` is made of, for who is on another thread than the loop.

    def record(  # tidy: allow[parameters] as send
        self,
        topic: str,
        value: V | None,
        *,
        key: K | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: Sequence[Header],
    ) -> NewRecord:
        """Return a record as bytes."""
        if isinstance(headers, dict):
            raise TypeError("headers are a list of pairs, [('from', b'web')] say, and no dict")
        data_key = None if key is None else self._serializers.key(key)
        data = None if value is None else self._serializers.value(value)
        when_ms = self._started().clock.now_ms() if timestamp_ms is None else timestamp_ms
        size = most_bytes(data_key, data, headers=headers)
        return NewRecord(topic, partition, data_key, data, when_ms, headers, size)

    def offer(self, record: NewRecord | NewBatch) -> Delivery | None:
        """Take what is to be sent, on any thread; None if that has to wait: `put` does."""
        return self._started().offer(record)

    async def put(self, record: NewRecord | NewBatch) -> Delivery:
        """Take what is to be sent as soon as that is possible."""
        sender = self._started()
        assert self._router is not None, "it has been started"
        surroundings = self._router.surroundings
        deadline_ms = surroundings.now_ms() + self.settings.max_block_ms
        while (delivery := sender.offer(record)) is None:
            left_ms = deadline_ms - surroundings.now_ms()
            if left_ms <= 0:
                raise RequestTimedOutError(
                    f"{record.topic}: no room within {self.settings.max_block_ms} ms (max_block_ms)"
                )
            await sender.make_way(record, left_ms)
        return delivery

    def _started(self) -> Sender:
        if self._sender is None:
            raise InvalidRequestError(
                "the producer is closed, or not started: `async with` it, or start it"
            )
        return self._sender
