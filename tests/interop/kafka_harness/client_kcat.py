"""kcat: librdkafka at the terminal; Debian's is an old one, which looks closely at versions."""

import json
import re
import subprocess
from itertools import groupby
from typing import ClassVar, Final, NotRequired, TypedDict, cast

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
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import Json, SpecRecord

#: librdkafka's words for what these tests provoke.
CODES: Final = {"Message size too large": 10, "Unknown topic or partition": 3}


class PartitionSeen(TypedDict):
    leader: int


class TopicSeen(TypedDict):
    partitions: list[PartitionSeen]
    error: NotRequired[str]


class BrokerSeen(TypedDict):
    id: int


class Metadata(TypedDict):
    """The metadata that kcat prints."""

    brokers: list[BrokerSeen]
    topics: list[TopicSeen]


class KcatClient(Client):
    """One command line a call."""

    has_times: ClassVar[bool] = False
    is_binary: ClassVar[bool] = False

    def version(self) -> str:
        said = subprocess.run(["kcat", "-V"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"Version ([\d.]+).* librdkafka ([\d.]+)", said)
        assert found is not None, said
        return f"{found[1]}, librdkafka {found[2]}"

    def produce(
        self, topic: str, records: Records, sending: Sending = PLAIN, *, partition: int = 0
    ) -> None:
        settings = {
            "compression.codec": sending.codec,
            "acks": sending.acks,
            "enable.idempotence": str(sending.is_idempotent).lower(),
            "message.max.bytes": CLIENT_LIMIT,
        }
        options = [f"-X{name}={value}" for name, value in settings.items()]
        for headers, group in groupby(records, key=lambda record: record.headers):
            wanted = [f"-H{name}={(value or b'').decode()}" for name, value in headers]
            lines = b"".join(
                b"%s\t%s\n" % (record.key or b"", record.value or b"") for record in group
            )
            self._run("-P", "-t", topic, "-p", str(partition), "-K\t", *options, *wanted, at=lines)

    def consume(
        self,
        topic: str,
        *,
        partition: int = 0,
        start: int = 0,
        count: int,
        is_committed: bool = False,
    ) -> Records:
        place = ["-t", topic, "-p", str(partition), "-o", str(start)]
        isolation = "read_committed" if is_committed else "read_uncommitted"
        place.append(f"-Xisolation.level={isolation}")
        said = self._run("-C", "-J", "-c", str(count), *place)
        return tuple(_seen(json.loads(line)) for line in said.splitlines())

    def read_group(self, group: str, topic: str, *, count: int) -> list[bytes]:
        options = ["-q", "-c", str(count), "-Xauto.offset.reset=earliest"]
        return self._run(*options, "-G", group, topic).encode().splitlines()

    def join(self, membership: Membership) -> Member:
        raise CannotError("does not show the partitions of a member")

    def open_transactions(self, transactional_id: str) -> Transactions:
        raise CannotError("has one transaction a run, which it commits")

    def offset(self, topic: str, timestamp: int) -> int:
        said = self._run("-Q", "-t", f"{topic}:0:{timestamp}")
        return int(said.rpartition(" ")[2])

    def describe_topic(self, topic: str) -> list[int]:
        (described,) = self._metadata(topic)["topics"]
        if "error" in described:
            raise _refused(described["error"])
        return [partition["leader"] for partition in described["partitions"]]

    def describe_cluster(self) -> list[int]:
        return [broker["id"] for broker in self._metadata("unknown")["brokers"]]

    def _metadata(self, topic: str) -> Metadata:
        return cast("Metadata", json.loads(self._run("-L", "-J", "-t", topic)))

    def _run(self, *arguments: str, at: bytes = b"") -> str:
        ran = subprocess.run(
            ["kcat", "-b", self.bootstrap, *arguments],
            input=at,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if ran.returncode or b"failed" in ran.stderr:
            raise _refused(ran.stderr.decode())
        return ran.stdout.decode()


def _refused(said: str) -> RefusedError:
    code = next((code for words, code in CODES.items() if words in said), None)
    return RefusedError(code, said)


def _seen(message: dict[str, Json]) -> SpecRecord:
    flat = cast("list[str]", message.get("headers", []))
    names, values = flat[::2], flat[1::2]
    key, value = message["key"], message["payload"]
    return SpecRecord(
        offset=cast("int", message["offset"]),
        timestamp=cast("int", message["ts"]),
        key=None if key is None else str(key).encode(),
        value=None if value is None else str(value).encode(),
        headers=tuple((name, value.encode()) for name, value in zip(names, values, strict=True)),
    )
