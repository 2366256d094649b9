"""Driver of kafka-python, an implementation of the protocol in Python."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import cast

import kafka
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from tests.interop.kafka_harness.client import (
    CLIENT_LIMIT,
    PLAIN,
    CannotError,
    Client,
    Records,
    RefusedError,
    Sending,
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
        with closing(producer), _refusals():
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

    def consume(self, topic: str, *, partition: int = 0, start: int = 0, count: int) -> Records:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=None,
            enable_auto_commit=False,
            consumer_timeout_ms=PATIENCE_S * 1000,
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
        with _refusals():
            answers = self._admin.list_partition_offsets({place: timestamp})
        return cast("int", answers[place].offset)

    def create_topic(self, topic: str, *, partitions: int, configs: dict[str, str]) -> None:
        with _refusals():
            self._admin.create_topics({topic: {"num_partitions": partitions, "configs": configs}})

    def describe_topic(self, topic: str) -> list[int]:
        with _refusals():
            (described,) = self._admin.describe_topics([topic])
        if described["error_code"]:
            raise RefusedError(described["error_code"], topic)
        return [cast("int", partition["leader_id"]) for partition in described["partitions"]]

    def grow_topic(self, topic: str, *, partitions: int) -> None:
        with _refusals():
            self._admin.create_partitions({topic: partitions})

    def delete_topic(self, topic: str) -> None:
        with _refusals():
            self._admin.delete_topics([topic])

    def config(self, topic: str, name: str) -> str:
        with _refusals():
            answers = self._admin.describe_configs(
                [ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all"
            )
        return cast("str", answers["topic"][topic][name]["value"])

    def set_config(self, topic: str, *, name: str, value: str) -> None:
        change = ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})
        with _refusals():
            answers = self._admin.alter_configs([change])
        said = str(answers["topic"][topic])
        if found := re.match(r"\[Error (\d+)\]", said):
            raise RefusedError(int(found[1]), said)

    def delete_records(self, topic: str, before: int) -> int:
        place = kafka.TopicPartition(topic, 0)
        with _refusals():
            answers = self._admin.delete_records({place: before})
        return cast("int", answers[place]["low_watermark"])

    def describe_cluster(self) -> list[int]:
        with _refusals():
            cluster = self._admin.describe_cluster()
        return [cast("int", broker["broker_id"]) for broker in cluster["brokers"]]

    def log_dirs(self) -> dict[str, int]:
        with _refusals():
            (answer,) = self._admin.describe_log_dirs()
        return {
            f"{topic['name']}-{partition['partition_index']}": partition["partition_size"]
            for folder in answer["log_dirs"]
            for topic in folder["topics"]
            for partition in topic["partitions"]
        }


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        raise RefusedError(getattr(error, "errno", None), str(error)) from error
