"""Our dump of the internal topics is Kafka 4.3's dump of them, byte for byte."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    TRANSACTION_RECORDS,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    GroupMetadataValue,
)
from cordwood.protocol.schema import Data, Message, default_struct
from cordwood.records.batch_builder import BatchBuilder
from cordwood.records.kernels.record_checks import KernelInspector
from cordwood.records.kernels.record_lines import KernelLineWriter
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.workbench.dump.dump_options import DumpOptions, find_record_parser
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, producer_settings
from tests.interop.kafka_harness.dumper import Dumped, Dumper, our_dump
from tests.interop.kafka_harness.installed import peer
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.messages import sample

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

confluent_kafka = peer("confluent_kafka")

LOG: Final = "00000000000000000000.log"
TABLES: Final = {"offsets-decoder": GROUP_RECORDS, "transaction-log-decoder": TRANSACTION_RECORDS}


@pytest.fixture(scope="module")
def dumper(kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dumper]:
    started = Dumper(kafka43_jars, tmp_path_factory.mktemp("dumper"))
    yield started
    started.close()


def ours(decoder: str, path: Path, *, skip_metadata: bool = False) -> Dumped:
    options = DumpOptions(
        folder="/",
        has_data=True,
        skip_metadata=skip_metadata,
        record_parser=find_record_parser({decoder: True}),
    )
    return our_dump(options, [str(path)], writer=KernelLineWriter(), inspector=KernelInspector())


def log_of(folder: Path, records: list[tuple[bytes | None, bytes | None]]) -> Path:
    builder = BatchBuilder()
    for key, value in records:
        builder.append(key, value, timestamp=1000)
    path = folder / LOG
    path.write_bytes(builder.build())
    return path


def numbered(number: int, message: Message, version: int) -> bytes:
    return number.to_bytes(2, signed=True) + joined(encode(message, version))


def every_record(decoder: str) -> Iterator[tuple[bytes, bytes | None]]:
    """Each record type in each version, with nulls and without, and its tombstone."""
    for number, (key_kind, value_kind) in TABLES[decoder].items():
        key = numbered(number, sample(key_kind, 0, with_nulls=False), 0)
        first, last = value_kind.__schema__.versions
        for version in range(first, last + 1):
            for with_nulls in (True, False):
                value = sample(value_kind, version, with_nulls=with_nulls)
                yield key, numbered(version, value, version)
            yield key, numbered(version, default(value_kind), version)
        yield key, None


def default(kind: type[Data]) -> Data:
    """A record of which every field has its default, so that tagged fields are absent."""
    return default_struct(kind)


def classic_groups() -> Iterator[tuple[bytes, bytes]]:
    """Groups whose members have each version of the consumer protocol, or other bytes."""
    number, (key_kind, _) = 2, GROUP_RECORDS[2]
    key = numbered(number, sample(key_kind, 0, with_nulls=False), 0)
    for version in range(4):
        subscription = sample(ConsumerProtocolSubscription, version, with_nulls=version % 2 == 0)
        assignment = sample(ConsumerProtocolAssignment, version, with_nulls=version % 2 == 1)
        group = sample(GroupMetadataValue, 4, with_nulls=False)
        assert isinstance(group, GroupMetadataValue)
        group.protocol_type = "consumer"
        (member,) = group.members
        member.subscription = numbered(version, subscription, version)
        member.assignment = numbered(version, assignment, version)
        yield key, numbered(4, group, 4)
        for data in (b"", b"\0", b"\0\1\0\0", numbered(7, subscription, version)):
            member.subscription = data
            yield key, numbered(4, group, 4)


def strange_records() -> Iterator[tuple[bytes, bytes | None]]:
    """Types, versions and texts at the borders of what the tool decodes."""
    key = numbered(2, sample(GROUP_RECORDS[2][0], 0, with_nulls=False), 0)
    yield b"", b""
    yield b"\0", None
    yield key, b""
    yield key, b"\0\x09"
    yield key, b"\xff\xff"
    yield b"\0\x63" + key, b"value"
    yield b"\xff\xff", None
    for text in ('"\\/', "\0\x1f\b\t\n\f\r\x7f", "größe ☃ 😀"):
        data = text.encode()
        yield b"\0\2" + len(data).to_bytes(2) + data, None


@pytest.mark.parametrize("decoder", TABLES)
@pytest.mark.parametrize("skip_metadata", (False, True))
def test_every_record_type_and_version_is_the_same(
    dumper: Dumper, tmp_path: Path, decoder: str, *, skip_metadata: bool
) -> None:
    path = log_of(tmp_path, [*every_record(decoder), *classic_groups(), *strange_records()])
    skip = ["--skip-record-metadata"] if skip_metadata else []

    mine = ours(decoder, path, skip_metadata=skip_metadata)
    theirs = dumper.dump(f"--{decoder}", *skip, files=[path])

    lines = zip(mine.out.decode().split("\n"), theirs.out.decode().split("\n"), strict=True)
    assert [each for each in lines if each[0] != each[1]] == []
    assert mine == theirs


def test_record_without_a_key_ends_the_dump(dumper: Dumper, tmp_path: Path) -> None:
    path = log_of(tmp_path, [(b"\0\2\0\1g", None), (None, b"value")])

    mine = ours("offsets-decoder", path)
    theirs = dumper.dump("--offsets-decoder", files=[path])

    assert mine == theirs
    assert mine.has_failed


def join(broker: Broker, topic: str, group: str, protocol: str) -> None:
    """Read a record of a topic in a group, commit it, and leave."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic] if protocol == "classic" else [f"^{topic}$"])
    message = consumer.poll(30)
    assert message is not None
    assert message.error() is None
    consumer.commit(message, asynchronous=False)
    consumer.close()


def batches_from(log: Path, position: int) -> bytes:
    """Return the batches of a log behind a position: other tests of the worker wrote the others.

    They wrote megabytes, whose dump fills the memory of Kafka's tool.
    """
    found = log.read_bytes()
    start = 0
    while start < position:
        start += LOG_OVERHEAD + int.from_bytes(found[start + 8 : start + LOG_OVERHEAD])
    return found[start:]


def test_directories_that_kafka_wrote_are_the_same(
    dumper: Dumper, broker43: Broker, tmp_path: Path
) -> None:
    topic = "internal-topics"
    logs = {
        "offsets-decoder": broker43.logs / "__consumer_offsets-0" / LOG,
        "transaction-log-decoder": broker43.logs / "__transaction_state-0" / LOG,
    }
    sizes = {path: path.stat().st_size if path.exists() else 0 for path in logs.values()}
    broker43.create_topics({topic: {}})
    settings = producer_settings("none", transactional_id="dumped")
    transactions = [(samples.plain(), True), (samples.nulls(), False)]
    broker43.oracle.produce_transactions(broker43.bootstrap, topic, transactions, settings)
    join(broker43, topic, "dumped-classic", "classic")
    join(broker43, topic, "dumped-consumer", "consumer")

    for decoder, log in logs.items():
        path = tmp_path / decoder / LOG
        path.parent.mkdir()
        path.write_bytes(batches_from(log, sizes[log]))

        mine = ours(decoder, path)
        theirs = dumper.dump(f"--{decoder}", files=[path])

        assert mine == theirs
        assert mine.out.count(b"| offset:") > 3
