"""confluent-kafka: librdkafka as Python programs use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, cast

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
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
    CannotError,
    Client,
    Member,
    Membership,
    Records,
    Sending,
    Transactions,
)
from tests.interop.kafka_harness.confluent_members import (
    ConfluentMember,
    ConfluentTransactions,
    refused,
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
            raise refused(error)

    def consume(
        self,
        topic: str,
        *,
        partition: int = 0,
        start: int = 0,
        count: int,
        is_committed: bool = False,
    ) -> Records:
        settings = {
            "group.id": "unused",
            "enable.auto.commit": False,
            "check.crcs": True,
            "isolation.level": "read_committed" if is_committed else "read_uncommitted",
        }
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

    def join(self, membership: Membership) -> Member:
        return ConfluentMember(self.bootstrap, membership)

    def open_transactions(self, transactional_id: str) -> Transactions:
        return ConfluentTransactions(self.bootstrap, transactional_id)

    def list_groups(self) -> list[str]:
        with _refusals():
            listed = self._admin.list_consumer_groups().result(PATIENCE_S)
        return [cast("str", each.group_id) for each in listed.valid]

    def describe_group(self, group: str) -> tuple[str, int]:
        described = _only(self._admin.describe_consumer_groups([group]))
        return described.state.name.lower(), len(described.members)

    def delete_group(self, group: str) -> None:
        _only(self._admin.delete_consumer_groups([group]))

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        asked = ConsumerGroupTopicPartitions(group)
        answer = _only(self._admin.list_consumer_group_offsets([asked]))
        return {each.partition: each.offset for each in answer.topic_partitions}

    def set_group_offset(self, group: str, topic: str, offset: int) -> None:
        wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, offset)])
        answer = _only(self._admin.alter_consumer_group_offsets([wanted]))
        for each in answer.topic_partitions:
            if each.error is not None:
                raise refused(each.error)

    def delete_group_offset(self, group: str, topic: str) -> None:
        raise CannotError("does not delete offsets of a group")


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
        raise refused(error.args[0]) from error


def _polled(consumer: Consumer) -> SpecRecord:
    message = consumer.poll(PATIENCE_S)
    assert isinstance(message, Message), "librdkafka waited in vain"
    error = message.error()
    if error is not None:
        raise refused(error)
    return seen_record(message)
