"""Blocking clients for threads: the clients of `aio`, each on an event loop in its own thread.

    with cordwood.Producer("127.0.0.1:9092") as producer:
        print(producer.send("orders", b"42 logs", key=b"ada").result())

A producer is thread-safe. A consumer may be used by one thread at a time. `send` appends on the
caller's thread, so that the loop does not switch threads for every record. A delivery callback runs
on the loop's thread: `send` works there unless it has to wait, and every blocking call is rejected.
A rebalance callback of a consumer runs in the thread of its call (`blocking_consumer.py`).
"""

import ssl
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Self, Unpack, cast

from cordwood.client import aio
from cordwood.client.admin.admin_types import (
    ClusterDescription,
    ConfigDescription,
    CreatedTopic,
    LogDirDescription,
    TopicDescription,
)
from cordwood.client.blocking_administration import BlockingAdministration
from cordwood.client.blocking_client import BlockingClient
from cordwood.client.blocking_consumer import Consumer
from cordwood.client.blocking_transactions import BlockingTransactions
from cordwood.client.consumer.offset_fetcher import FoundOffset
from cordwood.client.option_signature import named_options
from cordwood.client.producer.delivery import Delivery
from cordwood.client.producer.partition_queue import NewBatch, NewRecord
from cordwood.client.producer.partitioners import Partitioner, by_key
from cordwood.client.serializers import K, Serializers, V
from cordwood.client.settings import (
    ClientOptions,
    ClientSettings,
    ProducerOptions,
    ProducerSettings,
    options_of,
)
from cordwood.core.settings import SettingValue
from cordwood.core.types import TopicPartition
from cordwood.records.batch_builder import EncodedRecords
from cordwood.records.record import NO_HEADERS, Header

__all__ = ("Admin", "Consumer", "Producer")

#: Maximum delay of the process exit by a producer that was not closed.
_EXIT_FLUSH_MS: Final = 5_000


@named_options(ProducerSettings)
class Producer(BlockingTransactions[K, V], BlockingClient):
    """Producer of records; `K` and `V` are its serializers' types, by default bytes or text.

    >>> with cordwood.Producer("127.0.0.1:9092", linger_ms=20) as producer:
    ...     report = producer.send("orders", b"42 logs", key=b"ada").result()
    >>> report.topic, report.offset
    ('orders', 0)
    """

    def __init__(
        self,
        bootstrap: str = "",
        *,
        serializers: Serializers[K, V] | None = None,
        partitioner: Partitioner = by_key,
        tls: ssl.SSLContext | None = None,
        **options: Unpack[ProducerOptions],
    ) -> None:
        """Create and start a producer; close it with `with` or `close`.

        Args:
            bootstrap: Addresses of brokers as host:port, with commas between them.
            serializers: Functions that encode keys and values; bytes and text need none.
            partitioner: Function that chooses the partition of a record.
            tls: TLS context for security_protocol=SSL, by default with the system's certificates.
        """
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
        """Return a producer configured by Kafka's setting names.

        Args:
            config: Settings such as {"bootstrap.servers": "127.0.0.1:9092", "linger.ms": "20"}.
            serializers: As for the constructor, and so are `partitioner` and `tls`.

        >>> config = {"bootstrap.servers": "127.0.0.1:9092", "linger.ms": "20"}
        >>> with cordwood.Producer.from_config(config) as producer:
        ...     producer.settings.linger_ms
        20
        """
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
        """Append a record, waiting for metadata and buffer memory; return its delivery.

        Args:
            topic: The topic; the broker creates a missing one, if it is configured to do so.
            value: Bytes, text, or what the serializer takes; None is a tombstone.
            key: As the value. Records with the same key go to the same partition.
            partition: The partition, by default the choice of the partitioner.
            timestamp_ms: Milliseconds since 1970, by default now.
            headers: Pairs of a name and bytes.

        >>> delivery = producer.send("orders", b"42 logs", key=b"ada", headers=[("from", b"web")])
        >>> delivery.result(timeout=10).partition in (0, 1)
        True
        """
        record = self._producer.record(
            topic, value, key=key, partition=partition, timestamp_ms=timestamp_ms, headers=headers
        )
        return self._put(record)

    def send_batch(
        self, topic: str, records: EncodedRecords, *, partition: int | None = None
    ) -> Delivery:
        """Append an encoded batch; the delivery is that of its first record.

        Args:
            topic: The topic.
            records: Records that a `RecordEncoder` has encoded.
            partition: The partition, by default one choice of the partitioner for all records.
        """
        return self._put(NewBatch(topic, partition, records))

    def _put(self, record: NewRecord | NewBatch) -> Delivery:
        """Append on this thread if nothing has to be waited for, else on the loop."""
        self._thread.ensure_not_forked()
        return self._producer.offer(record) or self._thread.run(self._producer.put(record))

    def partition_count(self, topic: str) -> int:
        """Return a topic's partition count, waiting for its metadata.

        >>> producer.partition_count("orders")
        2
        """
        return self._thread.run(self._producer.partition_count(topic))

    def flush(self) -> None:
        """Send everything added so far, and wait until each batch is acknowledged or has failed.

        >>> delivery = producer.send("orders", b"42 logs")
        >>> producer.flush()
        >>> delivery.done()
        True
        """
        self._thread.run(self._producer.flush())


@named_options(ClientSettings)
class Admin(BlockingAdministration, BlockingClient):
    """Admin client of one cluster.

    >>> with cordwood.Admin("127.0.0.1:9092") as admin:
    ...     admin.list_topics()
    ['orders']
    """

    def __init__(
        self,
        bootstrap: str = "",
        *,
        tls: ssl.SSLContext | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """Create and start an admin client; close it with `with` or `close`.

        Args:
            bootstrap: Addresses of brokers as host:port, with commas between them.
            tls: TLS context for security_protocol=SSL, by default with the system's certificates.
        """
        self._admin = aio.Admin(bootstrap, tls=tls, **options)
        super().__init__(self._admin, self._admin.close)

    @classmethod
    def from_config(
        cls, config: Mapping[str, object], *, tls: ssl.SSLContext | None = None
    ) -> Self:
        """Return an admin client configured by Kafka's setting names.

        >>> with cordwood.Admin.from_config({"bootstrap.servers": "127.0.0.1:9092"}) as admin:
        ...     admin.list_topics()
        ['orders']
        """
        return cls(tls=tls, **cast("ClientOptions", options_of(ClientSettings, config)))

    def list_topics(self, *, with_internal: bool = False) -> list[str]:
        """Return the names of all topics, sorted.

        Args:
            with_internal: Whether to return internal topics, such as `__consumer_offsets`, too.

        >>> admin.list_topics()
        ['orders']
        """
        return self._thread.run(self._admin.list_topics(with_internal=with_internal))

    def describe_topics(self, names: Iterable[str]) -> list[TopicDescription]:
        """Return the metadata of these topics, in the order of the names.

        >>> [topic] = admin.describe_topics(["orders"])
        >>> topic.name, [partition.leader for partition in topic.partitions]
        ('orders', [1, 1])
        """
        return self._thread.run(self._admin.describe_topics(names))

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        assignments: Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, SettingValue] | None = None,
        validate_only: bool = False,
    ) -> CreatedTopic:
        """Create a topic, and return its id and settings.

        Args:
            name: The name of the topic.
            partitions: Number of partitions; -1 is the default of the broker.
            replication_factor: Replicas of each partition; -1 is the default of the broker.
            assignments: Ids of brokers by partition, in place of the two numbers.
            configs: Settings of the topic by Kafka's names.
            validate_only: Whether to check the request only.

        >>> topic = admin.create_topic("bills", partitions=3, configs={"retention.ms": 60_000})
        >>> topic.partitions
        3
        """
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
        """Delete a topic and its data.

        >>> admin.delete_topic("orders")
        >>> admin.list_topics()
        []
        """
        self._thread.run(self._admin.delete_topic(name))

    def create_partitions(self, topic: str, total: int, *, validate_only: bool = False) -> None:
        """Increase a topic's partition count to `total`.

        Args:
            topic: The name of the topic.
            total: The new number of partitions.
            validate_only: Whether to check the request only.

        >>> admin.create_partitions("orders", 4)
        """
        self._thread.run(self._admin.create_partitions(topic, total, validate_only=validate_only))

    def describe_cluster(self) -> ClusterDescription:
        """Return the cluster id, the brokers and the controller.

        >>> [broker.node_id for broker in admin.describe_cluster().brokers]
        [1]
        """
        return self._thread.run(self._admin.describe_cluster())

    def describe_log_dirs(self, node_id: int) -> list[LogDirDescription]:
        """Return the log directories of a broker, with the size of each replica.

        >>> [directory] = admin.describe_log_dirs(1)
        >>> directory.path
        '/kafka-logs'
        """
        return self._thread.run(self._admin.describe_log_dirs(node_id))

    def describe_configs(
        self, resource: tuple[str, str], *, keys: Sequence[str] | None = None
    ) -> ConfigDescription:
        """Return the settings of a resource, such as ("topic", "orders") or ("broker", "1").

        The empty broker name stands for the cluster-wide broker defaults.

        Args:
            resource: Kind and name.
            keys: Names of settings, by default all.

        >>> admin.describe_configs(("topic", "orders"))["cleanup.policy"]
        'delete'
        """
        return self._thread.run(self._admin.describe_configs(resource, keys=keys))

    def list_config_resources(self, kind: str) -> list[str]:
        """Return the names of the resources of a kind, sorted; of "group", those with settings.

        >>> "orders" in admin.list_config_resources("topic")
        True
        """
        return self._thread.run(self._admin.list_config_resources(kind))

    def alter_configs(
        self,
        resource: tuple[str, str],
        *,
        change: Mapping[str, SettingValue] | None = None,
        append: Mapping[str, SettingValue] | None = None,
        subtract: Mapping[str, SettingValue] | None = None,
        reset: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Alter single settings (Java: `incrementalAlterConfigs`).

        Args:
            resource: Kind and name, as for `describe_configs`.
            change: New values by name.
            append: Items to add to lists, by name.
            subtract: Items to remove from lists, by name.
            reset: Names of settings that return to their defaults.
            validate_only: Whether to check the request only.

        >>> admin.alter_configs(("topic", "orders"), change={"retention.ms": "3600000"})
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

        An error of one partition is raised after all others are done, and states which.

        Args:
            offsets: First offset to keep by topic and partition; -1 is the high watermark.

        >>> admin.delete_records({("orders", 0): 2})[("orders", 0)]
        2
        """
        return self._thread.run(self._admin.delete_records(offsets))

    def list_offsets(
        self, timestamps: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset]:
        """Return offsets by timestamp.

        Args:
            timestamps: By topic and partition, milliseconds since 1970; -2 is the start of the log,
                -1 its end, and -3 the record with the highest timestamp.

        >>> admin.list_offsets({("orders", 0): -1})[("orders", 0)].offset
        3
        """
        return self._thread.run(self._admin.list_offsets(timestamps))
