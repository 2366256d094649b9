"""Oracle with Kafka's own classes: one long-lived Java process, a JSON line each way.

Other output of the process goes to a file, whose end is quoted when it dies.
"""

import dataclasses
import json
import subprocess
from pathlib import Path
from typing import IO, Final, TypedDict, cast

from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import (
    Json,
    SeenBatch,
    Spec,
    SpecRecord,
    data,
    record_to_json,
    text,
)

HEADER_FIELDS: Final = tuple(
    field.name for field in dataclasses.fields(SeenBatch) if field.name != "records"
)


class OracleRefusalError(Exception):
    """Kafka's classes threw; `kind` is the simple name of what they threw, `code` Kafka's own."""

    def __init__(self, kind: str, message: str, *, code: int | None = None) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.code = code


class RecordAnswer(TypedDict):
    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: list[tuple[str, str | None]]
    sequence: int


class HeaderAnswer(TypedDict):
    magic: int
    crc: int
    size: int
    codec: int
    timestamp_type: int
    last_offset: int
    next_offset: int
    max_timestamp: int
    base_offset: int
    is_transactional: bool
    is_control: bool
    delete_horizon_ms: int | None
    partition_leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    count: int | None


class KafkaError(TypedDict):
    name: str
    code: int
    retriable: bool


class ConfigAnswer(TypedDict):
    name: str
    value: str | None
    source: str
    type: str
    is_sensitive: bool
    is_read_only: bool
    synonyms: list[tuple[str, str | None, str]]


class ConfigChange(TypedDict):
    operation: str
    name: str
    value: str | None


class Program:
    """A process that answers one question a line with one line, both of them JSON."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._log = log
        with log.open("wb") as words:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words
            )

    def close(self) -> None:
        self._pipe(self._process.stdin).close()
        self._process.wait(PATIENCE_S)
        self._pipe(self._process.stdout).close()

    def ask(self, asked: str, question: dict[str, Json]) -> Json:
        stdin = self._pipe(self._process.stdin)
        stdin.write(json.dumps({"ask": asked, **question}).encode() + b"\n")
        stdin.flush()
        line = self._pipe(self._process.stdout).readline()
        if not line:
            raise OracleRefusalError("ended", self._log.read_text()[-2000:])
        answer: dict[str, Json] = json.loads(line)
        if "failed" in answer:
            code = cast("int | None", answer.get("code"))
            raise OracleRefusalError(str(answer["kind"]), str(answer["failed"]), code=code)
        return answer["answer"]

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


class Oracle(Program):
    """One Java process that reads and writes records and talks to brokers for us."""

    def __init__(self, jars: Jars, log: Path) -> None:
        super().__init__(jars.command("RecordsOracle"), log)
        self.version = jars.version

    def write(self, spec: Spec) -> bytes:
        """A batch that Kafka wrote."""
        return self.ask_bytes("write", spec.to_json())

    def ask_bytes(self, asked: str, question: dict[str, Json]) -> bytes:
        """The answer of a question that is answered with bytes."""
        answer = data(cast("str", self.ask(asked, question)))
        assert answer is not None
        return answer

    def compress(
        self, codec: str, data: bytes, *, level: int | None = None, magic: int = 2
    ) -> bytes:
        """Return data compressed by Kafka, outside any batch."""
        question: dict[str, Json] = {"codec": codec, "level": level, "magic": magic}
        return self.ask_bytes("compress", {**question, "bytes": text(data)})

    def decompress(self, codec: str, data: bytes, *, magic: int = 2) -> bytes:
        """Return data decompressed by Kafka, outside any batch."""
        question: dict[str, Json] = {"codec": codec, "magic": magic, "bytes": text(data)}
        return self.ask_bytes("decompress", question)

    def message(self, java_class: str, version: int, fields: dict[str, Json]) -> bytes:
        """Return the bytes of one of Kafka's generated classes."""
        question: dict[str, Json] = {"class": java_class, "version": version, "fields": fields}
        return self.ask_bytes("message", question)

    def read(self, data: bytes | bytearray | memoryview) -> list[SeenBatch]:
        """Return Kafka's reading of bytes; its first error is raised."""
        answer = self.raw_read(data)
        _refuse(answer)
        return [_seen_batch(batch) for batch in cast("list[dict[str, Json]]", answer["batches"])]

    def raw_read(self, data: bytes | bytearray | memoryview) -> dict[str, Json]:
        """The same as Kafka answered it, control records spelled out."""
        return cast("dict[str, Json]", self.ask("read", {"bytes": text(data)}))

    def errors(self) -> list[KafkaError]:
        """Every constant of Kafka's Errors."""
        return cast("list[KafkaError]", self.ask("errors", {}))

    def wait_for_broker(self, bootstrap: str) -> None:
        self.ask("wait_for_broker", {"bootstrap": bootstrap})

    def create_topics(
        self, bootstrap: str, topics: dict[str, dict[str, str]], *, partitions: int = 1
    ) -> None:
        """Make topics with their settings, and the broker's default number of replicas."""
        wanted: list[Json] = [
            {
                "name": name,
                "configs": cast("dict[str, Json]", configs),
                "partitions": partitions,
            }
            for name, configs in topics.items()
        ]
        self.ask("create_topics", {"bootstrap": bootstrap, "topics": wanted})

    def describe_configs(self, bootstrap: str, *, kind: str, name: str) -> list[ConfigAnswer]:
        """Return the configuration of a topic or a broker."""
        question: dict[str, Json] = {"bootstrap": bootstrap, "type": kind, "name": name}
        return cast("list[ConfigAnswer]", self.ask("describe_configs", question))

    def check_alteration(
        self, bootstrap: str, *, kind: str, name: str, changes: list[ConfigChange]
    ) -> list[str]:
        """The name and the words of the error that changes would be refused with; or nothing."""
        question: dict[str, Json] = {"bootstrap": bootstrap, "type": kind, "name": name}
        wanted = [cast("Json", change) for change in changes]
        return cast("list[str]", self.ask("alter_configs", {**question, "changes": wanted}))

    def delete_records(self, bootstrap: str, topic: str, offset: int) -> None:
        """Let a partition begin at an offset."""
        question: dict[str, Json] = {"bootstrap": bootstrap, "topic": topic, "offset": offset}
        self.ask("delete_records", question)

    def produce(
        self, bootstrap: str, topic: str, records: tuple[SpecRecord, ...], settings: dict[str, Json]
    ) -> list[int]:
        """The offsets that the broker gave to the records."""
        sent: list[Json] = [record_to_json(record) for record in records]
        question: dict[str, Json] = {"bootstrap": bootstrap, "topic": topic, "records": sent}
        return cast("list[int]", self.ask("produce", {**question, "settings": settings}))

    def produce_transactions(
        self,
        bootstrap: str,
        topic: str,
        transactions: list[tuple[tuple[SpecRecord, ...], bool]],
        settings: dict[str, Json],
    ) -> None:
        """Transactions one after the other, each committed (True) or aborted."""
        wanted: list[Json] = [
            {"records": [record_to_json(record) for record in records], "commit": commit}
            for records, commit in transactions
        ]
        question: dict[str, Json] = {"bootstrap": bootstrap, "topic": topic}
        self.ask("produce", {**question, "transactions": wanted, "settings": settings})

    def consume(self, bootstrap: str, topic: str, isolation: str) -> tuple[SpecRecord, ...]:
        """Everything that a partition holds, as Kafka's consumer sees it."""
        question: dict[str, Json] = {"bootstrap": bootstrap, "topic": topic, "isolation": isolation}
        return seen_records(self.ask("consume", question))


def _refuse(answer: dict[str, Json]) -> None:
    if "error" in answer:
        raise OracleRefusalError(str(answer["error"]), str(answer["message"]))


def seen_records(answer: Json) -> tuple[SpecRecord, ...]:
    """The records of an answer."""
    return tuple(_seen_record(record) for record in cast("list[RecordAnswer]", answer))


def _seen_batch(answer: dict[str, Json]) -> SeenBatch:
    _refuse(answer)
    header = cast("HeaderAnswer", {name: answer[name] for name in HEADER_FIELDS})
    records = cast("list[RecordAnswer]", answer["records"])
    return SeenBatch(**header, records=tuple(_seen_record(record) for record in records))


def _seen_record(answer: RecordAnswer) -> SpecRecord:
    return SpecRecord(
        offset=answer["offset"],
        timestamp=answer["timestamp"],
        key=data(answer["key"]),
        value=data(answer["value"]),
        headers=tuple((key, data(value)) for key, value in answer["headers"]),
        sequence=answer.get("sequence", -1),
    )
