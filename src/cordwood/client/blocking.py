"""The clients for threads: what `aio` has, on a loop in a thread of their own.

    with cordwood.Producer("127.0.0.1:9092") as producer:
        print(producer.send("orders", b"42 logs", key=b"ada").result())

A producer may be used by many threads at once, a consumer by one at a time. `send` gathers on the
caller's thread, so that the loop is not troubled once a record.
"""

import ssl
import weakref
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, Protocol, Self, TypeAlias, TypeVar, Unpack, cast

from cordwood.client import aio
from cordwood.client.deliveries import Delivery
from cordwood.client.described import (
    ClusterDescription,
    ConfigDescription,
    CreatedTopic,
    LogDirDescription,
    TopicDescription,
)
from cordwood.client.lookups import FoundOffset
from cordwood.client.loop_thread import LoopThread
from cordwood.client.partition_queue import NewBatch
from cordwood.client.partitioners import Partitioner, by_key
from cordwood.client.record_set import ConsumedRecord, RecordSet
from cordwood.client.serializers import Deserializers, K, ReadK, ReadV, Serializers, V
from cordwood.client.settings import (
    ClientOptions,
    ClientSettings,
    ConsumerOptions,
    ConsumerSettings,
    ProducerOptions,
    ProducerSettings,
    options_of,
)
from cordwood.core.types import TopicPartition
from cordwood.records.builder import EncodedRecords
from cordwood.records.record import NO_HEADERS, Header

if TYPE_CHECKING:
    from cordwood.client.columns import ColumnBatch

#: How long a producer that was not closed holds up the end of its process.
_LEAVING_MS: Final = 5_000

T = TypeVar("T")

_Closing: TypeAlias = Coroutine[object, object, None]


class _Client(Protocol):
    """One of the clients of `aio`."""

    @property
    def settings(self) -> ClientSettings:
        """What it was told."""

    async def start(self) -> None:
        """Begin on the running loop."""

    async def close(self) -> None:
        """End it."""


class _Blocking:
    """What the three have in common: a thread, and an end."""

    def __init__(self, client: _Client, let_go: Callable[[], _Closing]) -> None:
        """Start a client; `let_go` ends one that nobody has closed."""
        self.settings = client.settings
        self._thread = LoopThread(f"cordwood-{client.settings.client_id}")
        try:
            self._thread.run(client.start())
        except BaseException:
            self._thread.end(client.close)
            raise
        self._close = client.close
        self._let_go = weakref.finalize(self, self._thread.end, let_go)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the client and its thread; a producer flushes first."""
        self._let_go.detach()
        self._thread.end(self._close)


class Producer(_Blocking, Generic[K, V]):
    """Sends records; `K` and `V` are what its serializers take: bytes and text without any."""

    def __init__(
        self,
        bootstrap: str = "",
        *,
        serializers: Serializers[K, V] | None = None,
        partitioner: Partitioner = by_key,
        tls: ssl.SSLContext | None = None,
        **options: Unpack[ProducerOptions],
    ) -> None:
        self._producer = aio.Producer(
            bootstrap, serializers=serializers, partitioner=partitioner, tls=tls, **options
        )
        super().__init__(self._producer, partial(self._producer.close, _LEAVING_MS))

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

    def send(
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
        record = self._producer.record(
            topic, value, key=key, partition=partition, timestamp_ms=timestamp_ms, headers=headers
        )
        return self._producer.offer(record) or self._thread.run(self._producer.put(record))

    def send_batch(
        self, topic: str, records: EncodedRecords, *, partition: int | None = None
    ) -> Delivery:
        """Take records that are a batch already; the delivery is that of the first of them."""
        batch = NewBatch(topic, partition, records)
        return self._producer.offer(batch) or self._thread.run(self._producer.put(batch))

    def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has, waiting for it to be known."""
        return self._thread.run(self._producer.partition_count(topic))

    def flush(self) -> None:
        """Send what was gathered so far, and wait until it is known what became of it."""
        self._thread.run(self._producer.flush())


class Consumer(_Blocking, Generic[ReadK, ReadV]):
    """Reads the partitions that it is given; its deserializers make `ReadK` and `ReadV`."""

    def __init__(
        self,
        bootstrap: str = "",
        *,
        deserializers: Deserializers[ReadK, ReadV] | None = None,
        tls: ssl.SSLContext | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        self._consumer = aio.Consumer(bootstrap, deserializers=deserializers, tls=tls, **options)
        super().__init__(self._consumer, self._consumer.close)

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, object],
        *,
        deserializers: Deserializers[ReadK, ReadV] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> Self:
        """Return a consumer that is told its options by Kafka's names."""
        options = cast("ConsumerOptions", options_of(ConsumerSettings, config))
        return cls(deserializers=deserializers, tls=tls, **options)

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Read these partitions; those that were read before go on where they are."""
        self._thread.call(lambda: self._consumer.assign(partitions))

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return what is read."""
        return self._consumer.assignment()

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        """Go on at an offset."""
        self._thread.call(lambda: self._consumer.seek(partition, offset))

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        """Go on at the first offset that a log has; of all partitions if none is named."""
        self._thread.call(lambda: self._consumer.seek_to_beginning(*partitions))

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        """Go on with what comes from now on; of all partitions if none is named."""
        self._thread.call(lambda: self._consumer.seek_to_end(*partitions))

    def seek_to_timestamp(self, timestamp_ms: int, *partitions: tuple[str, int]) -> None:
        """Go on at the first record that is not older; at the end where there is none."""
        self._thread.call(lambda: self._consumer.seek_to_timestamp(timestamp_ms, *partitions))

    def pause(self, *partitions: tuple[str, int]) -> None:
        """Hand out nothing of these until `resume`."""
        self._thread.call(lambda: self._consumer.pause(*partitions))

    def resume(self, *partitions: tuple[str, int]) -> None:
        """Go on with these."""
        self._thread.call(lambda: self._consumer.resume(*partitions))

    def position(self, partition: tuple[str, int]) -> int:
        """Return the offset of the next record, once it is known."""
        return self._thread.run(self._consumer.position(partition))

    def beginning_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return the first offset of each log."""
        return self._thread.run(self._consumer.beginning_offsets(partitions))

    def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return the offset that comes next in each log, as far as this consumer may read."""
        return self._thread.run(self._consumer.end_offsets(partitions))

    def offsets_for_times(
        self, timestamps_ms: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset | None]:
        """Return the first record that is not older, None where there is none."""
        return self._thread.run(self._consumer.offsets_for_times(timestamps_ms))

    def poll(
        self, timeout_ms: float = 1_000, *, max_records: int | None = None
    ) -> list[ConsumedRecord[ReadK, ReadV]]:
        """Return the next records of one partition; none if none came within the time."""
        return self._thread.run(self._consumer.poll(timeout_ms, max_records=max_records))

    def __iter__(self) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        """Yield records without an end."""
        while True:
            yield from self.poll()

    def columns(
        self, columns: Sequence[str] | None = None, *, timeout_ms: float | None = None
    ) -> Iterator["ColumnBatch"]:
        """Yield records as Arrow's record batches with their partition, no record being touched.

        Ends when nothing came for so long; without a time it does not end.
        """
        return self._each(self._consumer.columns(columns, timeout_ms=timeout_ms))

    def record_sets(self, *, timeout_ms: float | None = None) -> Generator[RecordSet, None, None]:
        """Yield what fetches bring, for who decodes it: its end tells how far the log was read.

        So whoever wants to stop at an offset sees when it is reached, also where no record is left
        before it. Ends as `columns` does.
        """
        return self._each(self._consumer.record_sets(timeout_ms=timeout_ms))

    def _each(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """Yield what comes on the loop."""

        async def following() -> T | None:
            return await anext(items, None)

        try:
            while (item := self._thread.run(following())) is not None:
                yield item
        finally:
            self._thread.run(items.aclose())


class Admin(_Blocking):
    """Asks the brokers of a cluster to change it, or to tell of it."""

    def __init__(
        self,
        bootstrap: str = "",
        *,
        tls: ssl.SSLContext | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        self._admin = aio.Admin(bootstrap, tls=tls, **options)
        super().__init__(self._admin, self._admin.close)

    @classmethod
    def from_config(
        cls, config: Mapping[str, object], *, tls: ssl.SSLContext | None = None
    ) -> Self:
        """Return a client that is told its options by Kafka's names."""
        return cls(tls=tls, **cast("ClientOptions", options_of(ClientSettings, config)))

    def list_topics(self, *, with_internal: bool = False) -> list[str]:
        """Return the names of all topics, in their order."""
        return self._thread.run(self._admin.list_topics(with_internal=with_internal))

    def describe_topics(self, names: Iterable[str]) -> list[TopicDescription]:
        """Return what the cluster has of these topics."""
        return self._thread.run(self._admin.describe_topics(names))

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        assignments: Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> CreatedTopic:
        """Create a topic: -1 is the broker's default; `assignments` are brokers by partition."""
        return self._thread.run(
            self._admin.create_topic(
                name,
                partitions=partitions,
                replication_factor=replication_factor,
                assignments=assignments,
                configs=configs,
                validate_only=validate_only,
            )
        )

    def delete_topic(self, name: str) -> None:
        """Delete a topic with everything in it."""
        self._thread.run(self._admin.delete_topic(name))

    def create_partitions(self, topic: str, total: int, *, validate_only: bool = False) -> None:
        """Give a topic more partitions, so that it has `total` of them."""
        self._thread.run(self._admin.create_partitions(topic, total, validate_only=validate_only))

    def describe_cluster(self) -> ClusterDescription:
        """Return the cluster's id, its brokers and its controller."""
        return self._thread.run(self._admin.describe_cluster())

    def describe_log_dirs(self, node_id: int) -> list[LogDirDescription]:
        """Return the log directories of a broker."""
        return self._thread.run(self._admin.describe_log_dirs(node_id))

    def describe_configs(
        self, resource: tuple[str, str], *, keys: Sequence[str] | None = None
    ) -> ConfigDescription:
        """Return the settings of a resource, ("topic", "orders") or ("broker", "1") say.

        An empty name is all brokers together.
        """
        return self._thread.run(self._admin.describe_configs(resource, keys=keys))

    def alter_configs(
        self,
        resource: tuple[str, str],
        *,
        change: Mapping[str, str] | None = None,
        append: Mapping[str, str] | None = None,
        subtract: Mapping[str, str] | None = None,
        reset: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Change single settings, or add to and take from lists; `reset` ones get their default."""
        self._thread.run(
            self._admin.alter_configs(
                resource,
                change=change,
                append=append,
                subtract=subtract,
                reset=reset,
                validate_only=validate_only,
            )
        )

    def delete_records(self, offsets: Mapping[tuple[str, int], int]) -> dict[TopicPartition, int]:
        """Delete what lies before each offset, -1 being the end; return where the logs start."""
        return self._thread.run(self._admin.delete_records(offsets))

    def list_offsets(
        self, timestamps: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset]:
        """Return offsets by time; `lookups` names the places that stand for times: EARLIEST …"""
        return self._thread.run(self._admin.list_offsets(timestamps))
