"""Kafka's own command-line classes, each run as its shell script would run it."""

import json
import re
import subprocess
from itertools import groupby
from pathlib import Path
from typing import ClassVar, Final

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
)
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import Headers, SpecRecord

TOOLS: Final = "org.apache.kafka.tools."
#: The exceptions that these tests provoke.
CODES: Final = {
    "GroupIdNotFoundException": 69,
    "InvalidConfigurationException": 40,
    "RecordTooLargeException": 10,
    "TopicExistsException": 36,
    "does not exist as expected": 3,
}
PRINTED: Final = ("print.timestamp", "print.offset", "print.headers", "print.key")


class ToolsClient(Client):
    """One Java process a call. Keys and values go through a terminal, so they are text."""

    has_times: ClassVar[bool] = False
    is_binary: ClassVar[bool] = False

    def __init__(self, bootstrap: str, jars: Jars, folder: Path) -> None:
        super().__init__(bootstrap)
        self._jars = jars
        self._folder = folder

    def version(self) -> str:
        return self._jars.version.rpartition("-")[2]

    def produce(
        self, topic: str, records: Records, sending: Sending = PLAIN, *, partition: int = 0
    ) -> None:
        if partition:
            raise CannotError("the console producer does not choose the partition")
        settings = {
            "acks": sending.acks,
            "enable.idempotence": str(sending.is_idempotent).lower(),
            "max.request.size": CLIENT_LIMIT,
        }
        options = [f"--command-property={name}={value}" for name, value in settings.items()]
        for has_headers, group in groupby(records, key=lambda record: bool(record.headers)):
            self.run(
                f"{TOOLS}ConsoleProducer",
                "--topic",
                topic,
                "--compression-codec",
                sending.codec,
                "--reader-property=parse.key=true",
                f"--reader-property=parse.headers={str(has_headers).lower()}",
                *options,
                words=b"".join(_line(record) for record in group),
            )

    def consume(
        self,
        topic: str,
        *,
        partition: int = 0,
        start: int = 0,
        count: int,
        is_committed: bool = False,
    ) -> Records:
        place = ["--topic", topic, "--partition", str(partition), "--offset", str(start)]
        said = self.run(
            f"{TOOLS}consumer.ConsoleConsumer",
            *place,
            "--max-messages",
            str(count),
            "--isolation-level",
            "read_committed" if is_committed else "read_uncommitted",
            *(f"--formatter-property={name}=true" for name in PRINTED),
        )
        return tuple(_seen(line) for line in said.splitlines())

    def offset(self, topic: str, timestamp: int) -> int:
        said = self.run(f"{TOOLS}GetOffsetShell", "--topic", topic, "--time", str(timestamp))
        return int(said.rpartition(":")[2])

    def create_topic(self, topic: str, *, partitions: int, configs: dict[str, str]) -> None:
        settings = [f"--config={name}={value}" for name, value in configs.items()]
        self._topic("--create", topic, "--partitions", str(partitions), *settings)

    def describe_topic(self, topic: str) -> list[int]:
        return [
            int(leader) for leader in re.findall(r"Leader: (\d+)", self._topic("--describe", topic))
        ]

    def grow_topic(self, topic: str, *, partitions: int) -> None:
        self._topic("--alter", topic, "--partitions", str(partitions))

    def delete_topic(self, topic: str) -> None:
        self._topic("--delete", topic)

    def config(self, topic: str, name: str) -> str:
        said = self._configs("--describe", topic, "--all")
        found = re.search(rf"^ *{re.escape(name)}=(\S*) ", said, re.MULTILINE)
        assert found is not None, said
        return found[1]

    def set_config(self, topic: str, *, name: str, value: str) -> None:
        self._configs("--alter", topic, "--add-config", f"{name}={value}")

    def delete_records(self, topic: str, before: int) -> int:
        wanted = self._folder / f"{topic}.json"
        place = {"topic": topic, "partition": 0, "offset": before}
        wanted.write_text(json.dumps({"version": 1, "partitions": [place]}))
        said = self.run(f"{TOOLS}DeleteRecordsCommand", "--offset-json-file", str(wanted))
        return int(said.rpartition("low_watermark: ")[2])

    def describe_cluster(self) -> list[int]:
        said = self.run(f"{TOOLS}BrokerApiVersionsCommand")
        return [int(broker) for broker in re.findall(r"\(id: (\d+) ", said)]

    def log_dirs(self) -> dict[str, int]:
        said = self.run(f"{TOOLS}LogDirsCommand", "--describe")
        (answer,) = json.loads(said.splitlines()[-1])["brokers"]
        return {
            replica["partition"]: replica["size"]
            for folder in answer["logDirs"]
            for replica in folder["partitions"]
        }

    def read_group(self, group: str, topic: str, *, count: int) -> list[bytes]:
        said = self.run(
            f"{TOOLS}consumer.ConsoleConsumer",
            "--topic",
            topic,
            "--group",
            group,
            "--from-beginning",
            "--max-messages",
            str(count),
        )
        return said.encode().splitlines()

    def join(self, membership: Membership) -> Member:
        raise CannotError("does not show the partitions of a member")

    def list_groups(self) -> list[str]:
        return self._groups("--list").split()

    def describe_group(self, group: str) -> tuple[str, int]:
        said = self._groups("--describe", "--group", group, "--state")
        state, members = said.split()[-2:]
        return state.lower(), int(members)

    def delete_group(self, group: str) -> None:
        self._groups("--delete", "--group", group)

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        said = self._groups("--describe", "--group", group)
        row = rf"^{re.escape(group)} +{re.escape(topic)} +(\d+) +(\d+) "
        found = re.findall(row, said, re.MULTILINE)
        return {int(partition): int(offset) for partition, offset in found}

    def set_group_offset(self, group: str, topic: str, offset: int) -> None:
        place = ["--group", group, "--topic", f"{topic}:0"]
        self._groups("--reset-offsets", *place, "--to-offset", str(offset), "--execute")

    def delete_group_offset(self, group: str, topic: str) -> None:
        self._groups("--delete-offsets", "--group", group, "--topic", f"{topic}:0")

    def list_transactions(self) -> list[str]:
        lines = self.run(f"{TOOLS}TransactionsCommand", "list").splitlines()
        return [line.split()[0] for line in lines]

    def describe_transaction(self, transactional_id: str) -> tuple[str, list[str]]:
        asked = ["describe", "--transactional-id", transactional_id]
        names, values = self.run(f"{TOOLS}TransactionsCommand", *asked).splitlines()
        found = dict(zip(names.split(), values.split(), strict=True))
        return found["TransactionState"].lower(), found["TopicPartitions"].split(",")

    def run(self, main_class: str, *arguments: str, words: bytes = b"") -> str:
        """Return the output of a class, with text at its standard input."""
        ran = subprocess.run(
            self._jars.command(main_class, "--bootstrap-server", self.bootstrap, *arguments),
            input=words,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        said = ran.stderr.decode()
        if "common.config.ConfigException" in said:
            raise CannotError("checks the settings of a new topic before it asks")
        if ran.returncode or "ERROR" in said:
            raise RefusedError(_code(said), said + ran.stdout.decode())
        return ran.stdout.decode()

    def _groups(self, *arguments: str) -> str:
        said = self.run(f"{TOOLS}consumer.group.ConsumerGroupCommand", *arguments)
        if "Error:" in said:
            raise RefusedError(_code(said), said)
        return said

    def _topic(self, verb: str, topic: str, *arguments: str) -> str:
        return self.run(f"{TOOLS}TopicCommand", verb, "--topic", topic, *arguments)

    def _configs(self, verb: str, topic: str, *arguments: str) -> str:
        entity = ["--entity-type", "topics", "--entity-name", topic]
        return self.run("kafka.admin.ConfigCommand", verb, *entity, *arguments)


def _code(said: str) -> int | None:
    return next((code for kind, code in CODES.items() if kind in said), None)


def _line(record: SpecRecord) -> bytes:
    headers = b",".join(b"%s:%s" % (name.encode(), value or b"") for name, value in record.headers)
    line = b"%s\t%s\n" % (record.key or b"", record.value or b"")
    return b"%s\t%s" % (headers, line) if record.headers else line


def _seen(line: str) -> SpecRecord:
    time, offset, headers, key, value = line.split("\t")
    return SpecRecord(
        offset=int(offset.partition(":")[2]),
        timestamp=int(time.partition(":")[2]),
        key=key.encode(),
        value=value.encode(),
        headers=() if headers == "NO_HEADERS" else tuple(_headers(headers)),
    )


def _headers(said: str) -> Headers:
    pairs = (pair.partition(":") for pair in said.split(","))
    return tuple((name, value.encode()) for name, _, value in pairs)
