"""Driver of kafka-python, an implementation of the protocol in Python."""

import re
from contextlib import closing
from typing import cast

import kafka
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from tests.interop.kafka_harness.client import (
    CLIENT_LIMIT,
    PLAIN,
    CannotError,
    Client,
    Member,
    Membership,
    Records,
    RefusedError,
    Sending,
    Transactions,
)
from tests.interop.kafka_harness.kafka_python_members import (
    KafkaPythonMember,
    KafkaPythonTransactions,
    refusals,
)
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import Headers, SpecRecord


class KafkaPythonClient(Client):
    """Its producer, its consumer by assignment, its admin client."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)

    def version(self) -> str:
        return cast("str", kafka.__version__)

    def close(self) -> None:
        self._admin.close()

    def produce(
        self, topic: str, records: Records, sending: Sending = PLAIN, *, partition: int = 0
    ) -> None:
        if any(value is None for record in records for _, value in record.headers):
            raise CannotError("does not send headers without a value")
        producer = kafka.KafkaProducer(
            bootstrap_servers=self.bootstrap,
            compression_type=None if sending.codec == "none" else sending.codec,
            acks="all" if sending.acks == -1 else sending.acks,
            enable_idempotence=sending.is_idempotent,
            linger_ms=50,
            max_request_size=CLIENT_LIMIT,
        )
        with closing(producer), refusals():
            promises = [
                producer.send(
                    topic,
                    partition=partition,
                    key=record.key,
                    value=record.value,
                    timestamp_ms=record.timestamp,
                    headers=list(record.headers),
                )
                for record in records
            ]
            producer.flush(PATIENCE_S)
            for promise in promises:
                promise.get(PATIENCE_S)

    def consume(
        self,
        topic: str,
        *,
        partition: int = 0,
        start: int = 0,
        count: int,
        is_committed: bool = False,
    ) -> Records:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=None,
            enable_auto_commit=False,
            consumer_timeout_ms=PATIENCE_S * 1000,
            isolation_level="read_committed" if is_committed else "read_uncommitted",
        )
        with closing(consumer):
            place = kafka.TopicPartition(topic, partition)
            consumer.assign([place])
            consumer.seek(place, start)
            return tuple(
                SpecRecord(
                    offset=cast("int", record.offset),
                    timestamp=cast("int", record.timestamp),
                    key=cast("bytes | None", record.key),
                    value=cast("bytes | None", record.value),
                    headers=cast("Headers", tuple(record.headers)),
                )
                for _, record in zip(range(count), consumer, strict=False)
            )

    def offset(self, topic: str, timestamp: int) -> int:
        place = kafka.TopicPartition(topic, 0)
        with refusals():
            answers = self._admin.list_partition_offsets({place: timestamp})
        return cast("int", answers[place].offset)

    def create_topic(self, topic: str, *, partitions: int, configs: dict[str, str]) -> None:
        with refusals():
            self._admin.create_topics({topic: {"num_partitions": partitions, "configs": configs}})

    def describe_topic(self, topic: str) -> list[int]:
        with refusals():
            (described,) = self._admin.describe_topics([topic])
        if described["error_code"]:
            raise RefusedError(described["error_code"], topic)
        return [cast("int", partition["leader_id"]) for partition in described["partitions"]]

    def grow_topic(self, topic: str, *, partitions: int) -> None:
        with refusals():
            self._admin.create_partitions({topic: partitions})

    def delete_topic(self, topic: str) -> None:
        with refusals():
            self._admin.delete_topics([topic])

    def config(self, topic: str, name: str) -> str:
        with refusals():
            answers = self._admin.describe_configs(
                [ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all"
            )
        return cast("str", answers["topic"][topic][name]["value"])

    def set_config(self, topic: str, *, name: str, value: str) -> None:
        change = ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})
        with refusals():
            answers = self._admin.alter_configs([change])
        said = str(answers["topic"][topic])
        if found := re.match(r"\[Error (\d+)\]", said):
            raise RefusedError(int(found[1]), said)

    def delete_records(self, topic: str, before: int) -> int:
        place = kafka.TopicPartition(topic, 0)
        with refusals():
            answers = self._admin.delete_records({place: before})
        return cast("int", answers[place]["low_watermark"])

    def describe_cluster(self) -> list[int]:
        with refusals():
            cluster = self._admin.describe_cluster()
        return [cast("int", broker["broker_id"]) for broker in cluster["brokers"]]

    def log_dirs(self) -> dict[str, int]:
        with refusals():
            (answer,) = self._admin.describe_log_dirs()
        return {
            f"{topic['name']}-{partition['partition_index']}": partition["partition_size"]
            for folder in answer["log_dirs"]
            for topic in folder["topics"]
            for partition in topic["partitions"]
        }

    def join(self, membership: Membership) -> Member:
        return KafkaPythonMember(self.bootstrap, membership)

    def open_transactions(self, transactional_id: str) -> Transactions:
        return KafkaPythonTransactions(self.bootstrap, transactional_id)

    def list_groups(self) -> list[str]:
        with refusals():
            return [cast("str", each["group_id"]) for each in self._admin.list_groups()]

    def describe_group(self, group: str) -> tuple[str, int]:
        with refusals():
            described = self._admin.describe_groups([group])[group]
        return described["group_state"].lower(), len(described["members"])

    def delete_group(self, group: str) -> None:
        with refusals():
            answer = self._admin.delete_groups([group])[group]
        if answer != "OK":
            _refuse(getattr(kafka.errors, answer))

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        with refusals():
            found = self._admin.list_group_offsets({group: None})[group]
        return {place.partition: cast("int", offset.offset) for place, offset in found.items()}

    def set_group_offset(self, group: str, topic: str, offset: int) -> None:
        place = kafka.TopicPartition(topic, 0)
        wanted = {place: kafka.OffsetAndMetadata(offset, "", -1)}
        with refusals():
            _refuse(self._admin.alter_group_offsets(group, wanted)[place])

    def delete_group_offset(self, group: str, topic: str) -> None:
        place = kafka.TopicPartition(topic, 0)
        with refusals():
            _refuse(self._admin.delete_group_offsets(group, [place])[place])

    def list_transactions(self) -> list[str]:
        with refusals():
            listed = self._admin.list_transactions()
        return [each.transactional_id for broker in listed.values() for each in broker]

    def describe_transaction(self, transactional_id: str) -> tuple[str, list[str]]:
        with refusals():
            described = self._admin.describe_transactions([transactional_id])[transactional_id]
        places = [f"{each.topic}-{each.partition}" for each in described.topic_partitions]
        return described.state.value.lower(), places


def _refuse(answer: type[KafkaError]) -> None:
    """Raise the error of an answer, which is a class."""
    if answer.errno:
        raise RefusedError(answer.errno, answer.__name__)
