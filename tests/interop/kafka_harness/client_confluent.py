"""confluent-kafka: librdkafka as Python programs use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, cast

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
    libversion,
    version,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.interop.kafka_harness.client import (
    CLIENT_LIMIT,
    EARLIEST,
    LATEST,
    PLAIN,
    Client,
    Records,
    RefusedError,
    Sending,
)
from tests.interop.kafka_harness.librdkafka import seen_record
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import SpecRecord

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


class ConfluentClient(Client):
    """Its producer, its consumer by assignment, its admin client."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._settings: dict[str, object] = {"bootstrap.servers": bootstrap, "log_level": 3}
        # It cannot be closed, and would log the broker's end.
        self._admin = AdminClient(self._settings | {"log_level": 0})

    def version(self) -> str:
        return f"{version()}, librdkafka {libversion()[0]}"

    def produce(
        self, topic: str, records: Records, sending: Sending = PLAIN, *, partition: int = 0
    ) -> None:
        settings = {
            "compression.type": sending.codec,
            "acks": sending.acks,
            "enable.idempotence": sending.is_idempotent,
            "linger.ms": 50,
            "message.max.bytes": CLIENT_LIMIT,
        }
        failed: list[KafkaError] = []
        producer = Producer(self._settings | settings)
        for record in records:
            producer.produce(
                topic,
                partition=partition,
                key=record.key,
                value=record.value,
                timestamp=record.timestamp,
                headers=list(record.headers),
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
        assert producer.flush(PATIENCE_S) == 0, "librdkafka could not deliver everything"
        for error in failed:
            raise _refused(error)

    def consume(self, topic: str, *, partition: int = 0, start: int = 0, count: int) -> Records:
        settings = {"group.id": "unused", "enable.auto.commit": False, "check.crcs": True}
        consumer = Consumer(self._settings | settings)
        consumer.assign([TopicPartition(topic, partition, start)])
        try:
            return tuple(_polled(consumer) for _ in range(count))
        finally:
            consumer.close()

    def offset(self, topic: str, timestamp: int) -> int:
        special = {LATEST: OffsetSpec.latest(), EARLIEST: OffsetSpec.earliest()}
        spec = special.get(timestamp) or OffsetSpec.for_timestamp(timestamp)
        answers = self._admin.list_offsets({TopicPartition(topic, 0): spec})
        return cast("int", _only(answers).offset)

    def create_topic(self, topic: str, *, partitions: int, configs: dict[str, str]) -> None:
        _only(self._admin.create_topics([NewTopic(topic, partitions, config=configs)]))

    def describe_topic(self, topic: str) -> list[int]:
        described = _only(self._admin.describe_topics(TopicCollection([topic])))
        return [cast("int", partition.leader.id) for partition in described.partitions]

    def grow_topic(self, topic: str, *, partitions: int) -> None:
        _only(self._admin.create_partitions([NewPartitions(topic, partitions)]))

    def delete_topic(self, topic: str) -> None:
        _only(self._admin.delete_topics([topic]))

    def config(self, topic: str, name: str) -> str:
        answers = self._admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)])
        return cast("str", _only(answers)[name].value)

    def set_config(self, topic: str, *, name: str, value: str) -> None:
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        _only(self._admin.incremental_alter_configs([resource]))

    def delete_records(self, topic: str, before: int) -> int:
        answers = self._admin.delete_records([TopicPartition(topic, 0, before)])
        return cast("int", _only(answers).low_watermark)

    def describe_cluster(self) -> list[int]:
        with _refusals():
            cluster = self._admin.describe_cluster().result(PATIENCE_S)
        return [cast("int", node.id) for node in cluster.nodes]


def _only(answers: dict[object, "Future[T]"]) -> T:
    """The one answer of a call that answers each thing asked about on its own."""
    (answer,) = answers.values()
    with _refusals():
        return answer.result(PATIENCE_S)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise _refused(error.args[0]) from error


def _refused(error: KafkaError) -> RefusedError:
    return RefusedError(error.code(), error.str())


def _polled(consumer: Consumer) -> SpecRecord:
    message = consumer.poll(PATIENCE_S)
    assert isinstance(message, Message), "librdkafka waited in vain"
    error = message.error()
    if error is not None:
        raise _refused(error)
    return seen_record(message)
