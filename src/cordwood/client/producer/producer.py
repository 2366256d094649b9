"""The asyncio producer (Java: `KafkaProducer`).

`send` adds a record to a batch. A batch is sent when it is full or its linger time is over; `flush`
waits for all batches. `send` raises errors of the record itself; its delivery raises later ones.
"""

import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Self, Unpack, cast

from cordwood.client.client_repr import client_repr
from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.runtime import ClientRuntime, LoopTurn, system_runtime
from cordwood.client.network.tls import tls_context
from cordwood.client.option_signature import named_options
from cordwood.client.producer.delivery import Delivery
from cordwood.client.producer.partition_queue import NewBatch, NewRecord, max_record_bytes
from cordwood.client.producer.partitioners import Partitioner, by_key
from cordwood.client.producer.sender import Sender
from cordwood.client.producer.transaction_manager import TransactionManager
from cordwood.client.producer.transactions import Transactions
from cordwood.client.serializers import PLAIN, K, Serializers, V
from cordwood.client.settings import ProducerOptions, ProducerSettings, options_of, settings_of
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import InvalidRequestError, KafkaError, RequestTimedOutError
from cordwood.records.batch_builder import EncodedRecords
from cordwood.records.record import NO_HEADERS, Header


@named_options(ProducerSettings)
class Producer(Generic[K, V]):
    """Producer of records; `K` and `V` are its serializers' types, by default bytes or text.

    >>> async def main():
    ...     async with aio.Producer("127.0.0.1:9092") as producer:
    ...         delivery = await producer.send("orders", b"42 logs", key=b"ada")
    ...         report = await delivery
    ...         return report.topic, report.offset
    >>> asyncio.run(main())
    ('orders', 0)
    """

    def __init__(
        self,
        bootstrap: str = "",
        *,
        serializers: Serializers[K, V] | None = None,
        partitioner: Partitioner = by_key,
        tls: ssl.SSLContext | None = None,
        runtime: Callable[[], ClientRuntime] = system_runtime,
        **options: Unpack[ProducerOptions],
    ) -> None:
        """Create a producer; it starts with `async with` or `start`.

        Args:
            bootstrap: Addresses of brokers as host:port, with commas between them.
            serializers: Functions that encode keys and values; bytes and text need none.
            partitioner: Function that chooses the partition of a record.
            tls: TLS context for security_protocol=SSL, by default with the system's certificates.
        """
        if bootstrap:
            options["bootstrap_servers"] = bootstrap
        self.settings = settings_of(
            ProducerSettings, options, other_options=("serializers", "partitioner", "tls")
        )
        self._serializers = serializers or cast("Serializers[K, V]", PLAIN)
        self._partitioner = partitioner
        self._tls = tls_context(self.settings, tls)
        self._runtime = runtime
        self._client: NetworkClient | None = None
        self._sender: Sender | None = None
        self._open_transactions: Transactions | None = None

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, object],
        *,
        serializers: Serializers[K, V] | None = None,
        partitioner: Partitioner = by_key,
        tls: ssl.SSLContext | None = None,
    ) -> Self:
        """Return a producer configured by Kafka's setting names."""
        options = cast("ProducerOptions", options_of(ProducerSettings, config))
        return cls(serializers=serializers, partitioner=partitioner, tls=tls, **options)

    def __repr__(self) -> str:
        name = self.settings.transactional_id
        facts = None if name is None else f"transactional id {name!r}"
        is_running = self._client is not None
        return client_repr("Producer", self.settings, facts, is_running=is_running)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Start on the running loop; the first record triggers the first request."""
        self._client = NetworkClient(self.settings, self._runtime(), self._tls)
        name = self.settings.transactional_id
        manager = None if name is None else TransactionManager(name)
        self._sender = Sender(self._client, self.settings, self._partitioner, transactions=manager)
        if manager is not None:
            self._open_transactions = Transactions(
                self._client, self.settings, manager=manager, sender=self._sender
            )

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
        """Add a record, waiting for metadata and buffer memory; return its delivery."""
        record = self.record(
            topic, value, key=key, partition=partition, timestamp_ms=timestamp_ms, headers=headers
        )
        delivery = self.offer(record) or await self.put(record)
        if self._started().is_wakeup_pending:  # lets the sender run under a tight loop of sends
            await LoopTurn()
        return delivery

    async def send_batch(
        self, topic: str, records: EncodedRecords, *, partition: int | None = None
    ) -> Delivery:
        """Add an encoded batch; the delivery is that of its first record.

        Without `partition`, one partition is chosen for the whole batch. A caller that partitions
        by key must split its records by partition before.
        """
        batch = NewBatch(topic, partition, records)
        return self.offer(batch) or await self.put(batch)

    async def partition_count(self, topic: str) -> int:
        """Return a topic's partition count, waiting for its metadata."""
        self._started()
        assert self._client is not None, "start() sets it with the sender"
        state = await self._client.topic(topic, timeout_ms=self.settings.max_block_ms)
        return len(state.partitions)

    async def flush(self) -> None:
        """Send everything added so far, and wait until each batch is acknowledged or has failed."""
        await self._started().flush()

    # Transactions.

    async def init(self) -> None:
        """Fence other producers with this transactional id; `begin` does it if it is not done.

        A detached producer can be initialized again. That aborts its detached transaction if it is
        still open.
        """
        await self._transactions.initialize()

    async def begin(self) -> None:
        """Begin a transaction, which all records belong to until `commit` or `abort`."""
        await self._transactions.begin()

    async def send_offsets(
        self, offsets: Mapping[tuple[str, int], int | GroupOffset], group: str | GroupMetadata
    ) -> None:
        """Commit offsets of a group with the transaction, by name without membership.

        An offset is that of the next record to be read.
        """
        await self._transactions.send_offsets(offsets, group)

    async def commit(self) -> None:
        """Commit the transaction, after all its records are acknowledged.

        After a timeout the outcome is unknown; call it again. After another error call `abort`.
        """
        await self._transactions.commit()

    async def abort(self) -> None:
        """Abort the transaction, and drop the records that are not sent yet."""
        await self._transactions.abort()

    async def detach(self) -> TransactionHandle:
        """Leave the open transaction to another process, which ends it with the returned handle.

        All records are acknowledged first. This producer can only be closed afterwards, or
        initialized again.
        """
        return await self._transactions.detach()

    @property
    def _transactions(self) -> Transactions:
        self._started()
        if self._open_transactions is None:
            raise InvalidRequestError("the producer has no transactional_id; give it one")
        return self._open_transactions

    async def close(self, timeout_ms: float | None = None) -> None:
        """Flush for at most `timeout_ms`, by default `delivery_timeout_ms`; then fail the rest.

        An open transaction is aborted, unless it was detached.
        """
        client, sender = self._client, self._sender
        if client is None or sender is None:
            return
        self._client = self._sender = None
        limit_ms = self.settings.delivery_timeout_ms if timeout_ms is None else timeout_ms
        transactions, self._open_transactions = self._open_transactions, None
        last = sender.flush() if transactions is None else transactions.abort_if_open()
        try:
            await client.runtime.run_with_timeout(limit_ms, last, timeout_error=TimeoutError)
        except KafkaError:
            pass  # the coordinator aborts the transaction after its timeout
        except TimeoutError:
            pass  # each delivery raises its own error
        finally:
            sender.close()
            await client.close()

    # The parts of `send`, for callers on another thread than the loop's.

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
        """Return a serialized record."""
        if isinstance(headers, dict):
            raise TypeError("headers are a list of pairs, such as [('from', b'web')], not a dict")
        if not isinstance(topic, str):
            raise TypeError(f"topic is {topic!r}; give a text")
        if not isinstance(partition, int | None):
            raise TypeError(f"partition is {partition!r}; give a number, or None for any")
        data_key = None if key is None else self._serializers.key(key)
        data = None if value is None else self._serializers.value(value)
        if isinstance(timestamp_ms, bool) or not isinstance(timestamp_ms, int | None):
            raise TypeError(f"timestamp_ms is {timestamp_ms!r}; give whole milliseconds since 1970")
        when_ms = self._started().clock.now_ms() if timestamp_ms is None else timestamp_ms
        size = max_record_bytes(data_key, data, headers=headers)
        return NewRecord(topic, partition, data_key, data, when_ms, headers, size)

    def offer(self, record: NewRecord | NewBatch) -> Delivery | None:
        """Add a record or a batch, on any thread; None if it has to wait in `put`."""
        return self._started().offer(record)

    async def put(self, record: NewRecord | NewBatch) -> Delivery:
        """Add a record or a batch as soon as metadata and buffer memory allow."""
        sender = self._started()
        assert self._client is not None, "start() sets it with the sender"
        runtime = self._client.runtime
        deadline_ms = runtime.now_ms() + self.settings.max_block_ms
        while (delivery := sender.offer(record)) is None:
            left_ms = deadline_ms - runtime.now_ms()
            if left_ms <= 0:
                raise RequestTimedOutError(
                    f"{record.topic}: no buffer memory within"
                    f" {self.settings.max_block_ms} ms (max_block_ms)"
                )
            await sender.wait_until_ready(record, left_ms)
        return delivery

    def _started(self) -> Sender:
        if self._sender is None:
            raise InvalidRequestError(
                "the producer is closed or not started; use it in its `with` or `async with` block"
            )
        return self._sender
