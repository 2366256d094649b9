"""Clients in other languages, each a program that answers questions: a JSON line each way.

All of them take the questions of the Java program, and Kafka's names for a producer's settings.
"""

from typing import ClassVar, cast

from tests.interop.kafka_harness.client import (
    CLIENT_LIMIT,
    PLAIN,
    Client,
    Records,
    RefusedError,
    Sending,
)
from tests.interop.kafka_harness.oracle import OracleRefusalError, Program, seen_records
from tests.interop.kafka_harness.spec import Json, record_to_json


class ProgramClient(Client):
    """A client behind a program that is already running."""

    def __init__(self, bootstrap: str, program: Program, version: str) -> None:
        super().__init__(bootstrap)
        self._program = program
        self._version = version

    def version(self) -> str:
        return self._version

    def produce(
        self, topic: str, records: Records, sending: Sending = PLAIN, *, partition: int = 0
    ) -> None:
        settings: dict[str, Json] = {
            "compression.type": sending.codec,
            "acks": str(sending.acks),
            "enable.idempotence": sending.is_idempotent,
            "linger.ms": 50,
            "batch.size": 1 << 16,
            "max.request.size": CLIENT_LIMIT,
            "retries": 0 if sending.acks == 0 else 5,
        }
        sent: list[Json] = [record_to_json(record) for record in records]
        self.ask("produce", topic=topic, partition=partition, records=sent, settings=settings)

    def consume(self, topic: str, *, partition: int = 0, start: int = 0, count: int) -> Records:
        answers = self.ask("consume", topic=topic, partition=partition, start=start)
        return seen_records(answers)[:count]

    def ask(self, asked: str, **question: Json) -> Json:
        try:
            return self._program.ask(asked, {"bootstrap": self.bootstrap, **question})
        except OracleRefusalError as error:
            raise RefusedError(error.code, str(error)) from error


class AdminProgramClient(ProgramClient):
    """One that administers as well."""

    def offset(self, topic: str, timestamp: int) -> int:
        return cast("int", self.ask("offset", topic=topic, timestamp=timestamp))

    def create_topic(self, topic: str, *, partitions: int, configs: dict[str, str]) -> None:
        wanted = cast("dict[str, Json]", configs)
        self.ask("create_topic", topic=topic, partitions=partitions, configs=wanted)

    def describe_topic(self, topic: str) -> list[int]:
        answer = cast("dict[str, Json]", self.ask("describe_topic", topic=topic))
        return cast("list[int]", answer["leaders"])

    def grow_topic(self, topic: str, *, partitions: int) -> None:
        self.ask("grow_topic", topic=topic, partitions=partitions)

    def delete_topic(self, topic: str) -> None:
        self.ask("delete_topic", topic=topic)

    def config(self, topic: str, name: str) -> str:
        answers = self.ask("describe_configs", type="TOPIC", name=topic)
        entries = cast("list[dict[str, str]]", answers)
        return next(entry["value"] for entry in entries if entry["name"] == name)

    def set_config(self, topic: str, *, name: str, value: str) -> None:
        self.ask("set_config", topic=topic, name=name, value=value)

    def delete_records(self, topic: str, before: int) -> int:
        return cast("int", self.ask("delete_records", topic=topic, offset=before))

    def describe_cluster(self) -> list[int]:
        answer = cast("dict[str, Json]", self.ask("describe_cluster"))
        brokers = cast("list[int]", answer["brokers"])
        assert answer["controller"] in brokers
        return brokers

    def log_dirs(self) -> dict[str, int]:
        return cast("dict[str, int]", self.ask("log_dirs"))


class SparkClient(ProgramClient):
    """Spark's connector: a source and a sink."""

    has_times: ClassVar[bool] = False

    def stream(self, topic: str, *, start: int) -> Records:
        """Everything from an offset on, by a streaming query."""
        return seen_records(self.ask("stream", topic=topic, partition=0, start=start))
