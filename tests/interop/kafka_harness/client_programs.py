"""Clients in other languages, each a program that answers questions: a JSON line each way.

All of them take the questions of the Java program, and Kafka's names for a producer's settings.
"""

from dataclasses import asdict
from typing import ClassVar, Final, cast

from tests.interop.kafka_harness.client import (
    CLIENT_LIMIT,
    PLAIN,
    CannotError,
    Client,
    Member,
    Membership,
    Polled,
    Records,
    RefusedError,
    Sending,
    Transactions,
)
from tests.interop.kafka_harness.oracle import OracleRefusalError, Program, seen_records
from tests.interop.kafka_harness.spec import Json, data, record_to_json

#: More than there are in a delivery's time, also while a cluster elects leaders.
RETRIES: Final = 10_000
#: The kind of failure of a program whose client lacks a call; the words are the reason.
CANNOT: Final = "cannot"


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
            "retries": 0 if sending.acks == 0 else RETRIES,
        }
        sent: list[Json] = [record_to_json(record) for record in records]
        self.ask("produce", topic=topic, partition=partition, records=sent, settings=settings)

    def consume(
        self,
        topic: str,
        *,
        partition: int = 0,
        start: int = 0,
        count: int,
        is_committed: bool = False,
    ) -> Records:
        isolation = "read_committed" if is_committed else "read_uncommitted"
        place: dict[str, Json] = {"topic": topic, "partition": partition, "start": start}
        answers = self.ask("consume", **place, isolation=isolation, count=count)
        return seen_records(answers)[:count]

    def ask(self, asked: str, **question: Json) -> Json:
        try:
            return self._program.ask(asked, {"bootstrap": self.bootstrap, **question})
        except OracleRefusalError as error:
            if error.kind == CANNOT:
                raise CannotError(str(error).removeprefix(f"{CANNOT}: ")) from error
            raise RefusedError(error.code, str(error)) from error


class ProgramMember:
    """A member that lives in the program."""

    def __init__(self, client: ProgramClient, handle: Json) -> None:
        self._client = client
        self.handle = handle

    def poll(self) -> Polled:
        answer = cast("dict[str, Json]", self._client.ask("member_poll", member=self.handle))
        values = [data(value) or b"" for value in cast("list[str]", answer["values"])]
        return Polled(cast("list[int]", answer["assigned"]), values)

    def commit(self) -> None:
        self._client.ask("member_commit", member=self.handle)

    def leave(self) -> None:
        self._client.ask("member_leave", member=self.handle)


class ProgramTransactions:
    """A transactional producer that lives in the program."""

    def __init__(self, client: ProgramClient, handle: Json) -> None:
        self._client = client
        self._handle = handle

    def begin(self) -> None:
        self._client.ask("transaction_begin", producer=self._handle)

    def send(self, topic: str, records: Records) -> None:
        sent: list[Json] = [record_to_json(record) for record in records]
        self._client.ask("transaction_send", producer=self._handle, topic=topic, records=sent)

    def send_offsets(self, member: Member) -> None:
        handle = cast("ProgramMember", member).handle
        self._client.ask("transaction_offsets", producer=self._handle, member=handle)

    def end(self, *, commit: bool) -> None:
        self._client.ask("transaction_end", producer=self._handle, commit=commit)

    def close(self) -> None:
        self._client.ask("transaction_close", producer=self._handle)


class AdminProgramClient(ProgramClient):
    """One that administers as well, and has groups and transactions."""

    def join(self, membership: Membership) -> Member:
        question = cast("dict[str, Json]", asdict(membership))
        return ProgramMember(self, self.ask("member_join", **question))

    def open_transactions(self, transactional_id: str) -> Transactions:
        return ProgramTransactions(self, self.ask("transaction_open", id=transactional_id))

    def open_session(
        self, transactional_id: str, membership: Membership
    ) -> tuple[Transactions, Member]:
        question = cast("dict[str, Json]", asdict(membership))
        answer = self.ask("session_open", id=transactional_id, **question)
        producer, member = cast("list[Json]", answer)
        return ProgramTransactions(self, producer), ProgramMember(self, member)

    def list_groups(self) -> list[str]:
        return cast("list[str]", self.ask("list_groups"))

    def describe_group(self, group: str) -> tuple[str, int]:
        answer = cast("dict[str, Json]", self.ask("describe_group", group=group))
        return str(answer["state"]).lower(), cast("int", answer["members"])

    def delete_group(self, group: str) -> None:
        self.ask("delete_group", group=group)

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        answer = self.ask("group_offsets", group=group, topic=topic)
        offsets = cast("dict[str, int]", answer)
        return {int(place.rpartition("-")[2]): offset for place, offset in offsets.items()}

    def set_group_offset(self, group: str, topic: str, offset: int) -> None:
        self.ask("set_group_offset", group=group, topic=topic, offset=offset)

    def delete_group_offset(self, group: str, topic: str) -> None:
        self.ask("delete_group_offset", group=group, topic=topic)

    def list_transactions(self) -> list[str]:
        return cast("list[str]", self.ask("list_transactions"))

    def describe_transaction(self, transactional_id: str) -> tuple[str, list[str]]:
        answer = cast("dict[str, Json]", self.ask("describe_transaction", id=transactional_id))
        return str(answer["state"]).lower(), cast("list[str]", answer["partitions"])

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


class NodeClient(AdminProgramClient):
    """kafkajs, whose consumers are members of a group even if they seek."""

    has_assignment: ClassVar[bool] = False


class SparkClient(ProgramClient):
    """Spark's connector: a source and a sink."""

    has_commits: ClassVar[bool] = False
    has_times: ClassVar[bool] = False

    def read_group(self, group: str, topic: str, *, count: int) -> list[bytes]:
        answers = cast("list[str]", self.ask("subscribe", group=group, topic=topic))
        return [data(value) or b"" for value in answers]

    def join(self, membership: Membership) -> Member:
        raise CannotError("does not show the partitions of a member")

    def stream(self, topic: str, *, start: int) -> Records:
        """Everything from an offset on, by a streaming query."""
        return seen_records(self.ask("stream", topic=topic, partition=0, start=start))
