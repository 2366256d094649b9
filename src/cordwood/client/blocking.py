"""Blocking clients for threads: the clients of `aio`, each on an event loop in its own thread.

    with cordwood.Producer("127.0.0.1:9092") as producer:
        print(producer.send("orders", b"42 logs", key=b"ada").result())

A producer is thread-safe. A consumer may be used by one thread at a time. `send` appends on the
caller's thread, so that the loop does not switch threads for every record. A delivery callback runs
on the loop's thread: `send` works there unless it has to wait, and every blocking call is rejected.
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
from cordwood.client.admin.admin_types import (
    ClusterDescription,
    ConfigDescription,
    CreatedTopic,
    LogDirDescription,
    TopicDescription,
)
from cordwood.client.consumer.completed_fetch import CompletedFetch, ConsumedRecord
from cordwood.client.consumer.offset_fetcher import FoundOffset
from cordwood.client.loop_thread import LoopThread
from cordwood.client.producer.delivery import Delivery
from cordwood.client.producer.partition_queue import NewBatch, NewRecord
from cordwood.client.producer.partitioners import Partitioner, by_key
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
from cordwood.records.batch_builder import EncodedRecords
from cordwood.records.record import NO_HEADERS, Header

if TYPE_CHECKING:
    from cordwood.client.consumer.column_batches import ColumnBatch

#: Maximum delay of the process exit by a producer that was not closed.
_EXIT_FLUSH_MS: Final = 5_000

T = TypeVar("T")

_Closing: TypeAlias = Coroutine[object, object, None]


class _Client(Protocol):
    """One of the clients of `aio`."""

    @property
    def settings(self) -> ClientSettings:
        """The client's settings."""

    async def start(self) -> None:
        """Start on the running loop."""

    async def close(self) -> None:
        """Close the client."""


class _BlockingClient:
    """Base of the three clients: the loop thread, and closing."""

    def __init__(self, client: _Client, finalize: Callable[[], _Closing]) -> None:
        """Start a client; `finalize` closes one that its user did not close."""
        self.settings = client.settings
        self._thread = LoopThread(f"cordwood-{client.settings.client_id}")
        try:
            self._thread.run(client.start())
        except BaseException:
            self._thread.end(client.close)
            raise
        self._close = client.close
        self._finalize = weakref.finalize(self, self._thread.end, finalize)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client and its thread; a producer flushes first."""
        self._thread.ensure_other_thread()
        self._finalize.detach()
        self._thread.end(self._close)


class Producer(_BlockingClient, Generic[K, V]):
    """Producer of records; `K` and `V` are its serializers' types, by default bytes or text."""

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
        super().__init__(self._producer, partial(self._producer.close, _EXIT_FLUSH_MS))

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
        """Append a record, waiting for metadata and buffer memory; return its delivery."""
        record = self._producer.record(
            topic, value, key=key, partition=partition, timestamp_ms=timestamp_ms, headers=headers
        )
        return self._put(record)

    def send_batch(
        self, topic: str, records: EncodedRecords, *, partition: int | None = None
    ) -> Delivery:
        """Append an encoded batch; the delivery is that of its first record."""
        return self._put(NewBatch(topic, partition, records))

    def _put(self, record: NewRecord | NewBatch) -> Delivery:
        """Append on this thread if nothing has to be waited for, else on the loop."""
        self._thread.ensure_not_forked()
        return self._producer.offer(record) or self._thread.run(self._producer.put(record))

    def partition_count(self, topic: str) -> int:
        """Return a topic's partition count, waiting for its metadata."""
        return self._thread.run(self._producer.partition_count(topic))

    def flush(self) -> None:
        """Send everything added so far, and wait until each batch is acknowledged or has failed."""
        self._thread.run(self._producer.flush())


class Consumer(_BlockingClient, Generic[ReadK, ReadV]):
    """Consumer of assigned partitions; `ReadK` and `ReadV` are the types of its deserializers."""

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
        """Return a consumer configured by Kafka's setting names."""
        options = cast("ConsumerOptions", options_of(ConsumerSettings, config))
        return cls(deserializers=deserializers, tls=tls, **options)

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Assign partitions; those that were assigned before keep their positions."""
        self._thread.call(lambda: self._consumer.assign(partitions))

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return the assigned partitions."""
        return self._consumer.assignment()

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        """Set the position of a partition."""
        self._thread.call(lambda: self._consumer.seek(partition, offset))

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        """Set positions to the log start offset, of all partitions if none is given."""
        self._thread.call(lambda: self._consumer.seek_to_beginning(*partitions))

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        """Set positions to the end of the log, of all partitions if none is given."""
        self._thread.call(lambda: self._consumer.seek_to_end(*partitions))

    def seek_to_timestamp(self, timestamp_ms: int, *partitions: tuple[str, int]) -> None:
        """Set positions to the first record at or after a timestamp, else to the end."""
        self._thread.call(lambda: self._consumer.seek_to_timestamp(timestamp_ms, *partitions))

    def pause(self, *partitions: tuple[str, int]) -> None:
        """Return no records of these partitions until `resume`."""
        self._thread.call(lambda: self._consumer.pause(*partitions))

    def resume(self, *partitions: tuple[str, int]) -> None:
        """Return records of these partitions again."""
        self._thread.call(lambda: self._consumer.resume(*partitions))

    def position(self, partition: tuple[str, int]) -> int:
        """Return the offset of the next record, as soon as it is resolved."""
        return self._thread.run(self._consumer.position(partition))

    def beginning_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return the log start offset of each partition."""
        return self._thread.run(self._consumer.beginning_offsets(partitions))

    def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return each partition's next offset, the last stable one under read_committed."""
        return self._thread.run(self._consumer.end_offsets(partitions))

    def offsets_for_times(
        self, timestamps_ms: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset | None]:
        """Return the first offset at or after each timestamp, None if there is none."""
        return self._thread.run(self._consumer.offsets_for_times(timestamps_ms))

    def poll(
        self, timeout_ms: float = 1_000, *, max_records: int | None = None
    ) -> list[ConsumedRecord[ReadK, ReadV]]:
        """Return the next records of one partition; an empty list after the timeout."""
        return self._thread.run(self._consumer.poll(timeout_ms, max_records=max_records))

    def __iter__(self) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        """Yield records forever."""
        while True:
            yield from self.poll()

    def columns(
        self, columns: Sequence[str] | None = None, *, timeout_ms: float | None = None
    ) -> Iterator["ColumnBatch"]:
        """Yield Arrow record batches with their partition, without creating a Python object per
        record.

        Ends after `timeout_ms` without records; without a timeout it does not end.
        """
        return self._each(self._consumer.columns(columns, timeout_ms=timeout_ms))

    def record_sets(
        self, *, timeout_ms: float | None = None
    ) -> Generator[CompletedFetch, None, None]:
        """Yield completed fetches, for callers that decode them themselves.

        `CompletedFetch.end` tracks how far the log was read, even where no record is left. A caller
        that stops at an offset can therefore detect that the offset is reached. Ends as `columns`
        does.
        """
        return self._each(self._consumer.record_sets(timeout_ms=timeout_ms))

    def _each(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """Yield the items of an asynchronous generator on the loop."""

        async def following() -> T | None:
            return await anext(items, None)

        try:
            while (item := self._thread.run(following())) is not None:
                yield item
        finally:
            self._thread.run(items.aclose())


class Admin(_BlockingClient):
    """Admin client of one cluster."""

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
        """Return an admin client configured by Kafka's setting names."""
        return cls(tls=tls, **cast("ClientOptions", options_of(ClientSettings, config)))

    def list_topics(self, *, with_internal: bool = False) -> list[str]:
        """Return the names of all topics, sorted."""
        return self._thread.run(self._admin.list_topics(with_internal=with_internal))

    def describe_topics(self, names: Iterable[str]) -> list[TopicDescription]:
        """Return the metadata of these topics."""
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
        """Create a topic; -1: the broker's default; `assignments`: broker ids by partition."""
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
        """Delete a topic and its data."""
        self._thread.run(self._admin.delete_topic(name))

    def create_partitions(self, topic: str, total: int, *, validate_only: bool = False) -> None:
        """Increase a topic's partition count to `total`."""
        self._thread.run(self._admin.create_partitions(topic, total, validate_only=validate_only))

    def describe_cluster(self) -> ClusterDescription:
        """Return the cluster id, the brokers and the controller."""
        return self._thread.run(self._admin.describe_cluster())

    def describe_log_dirs(self, node_id: int) -> list[LogDirDescription]:
        """Return the log directories of a broker."""
        return self._thread.run(self._admin.describe_log_dirs(node_id))

    def describe_configs(
        self, resource: tuple[str, str], *, keys: Sequence[str] | None = None
    ) -> ConfigDescription:
        """Return the settings of a resource, such as ("topic", "orders") or ("broker", "1").

        The empty broker name stands for the cluster-wide broker defaults.
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
        """Alter single settings (Java: `incrementalAlterConfigs`).

        `append` and `subtract` edit list values; `reset` restores defaults.
        """
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
        """Delete all records before each offset; return the new log start offsets.

        Offset -1 stands for the high watermark. An error of one partition is raised after all
        others are done, and states which.
        """
        return self._thread.run(self._admin.delete_records(offsets))

    def list_offsets(
        self, timestamps: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset]:
        """Return offsets by timestamp, EARLIEST, LATEST or MAX_TIMESTAMP (`offset_fetcher`)."""
        return self._thread.run(self._admin.list_offsets(timestamps))
