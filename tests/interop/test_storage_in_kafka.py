"""Kafka 4.3 starts on directories written by us, and serves their records.

clean     our manager made the partition in Kafka's log directory and was closed: checkpoints
          and the mark of a clean stop are ours
killed    our manager appended more and never came to its end; the last batch is torn
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.core.system import SystemFiles
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_directory import LogDirectory
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import FAST_RESTART, Broker, kraft_broker
from tests.interop.kafka_harness.dumper import Dumper
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.our_manager import (
    end_transaction,
    follow_spec,
    lead_spec,
    made,
    managed,
    open_manager,
    partition_of,
)
from tests.interop.kafka_harness.ours import write_ours
from tests.interop.kafka_harness.spec import CODECS, Spec, SpecRecord

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

PLAIN: Final = "plain"
TRANSACTIONS: Final = "transactions"
FINE: Final = (" passed sanity check.", " is empty.")
ISOLATIONS: Final = ("read_uncommitted", "read_committed")


@dataclass(slots=True)
class Written:
    """All written records, and the aborted or undecided ones."""

    records: list[SpecRecord] = field(default_factory=list)
    uncommitted: set[int] = field(default_factory=set)

    def seen(self, isolation: str) -> tuple[SpecRecord, ...]:
        hidden = self.uncommitted if isolation == "read_committed" else set()
        return tuple(record for record in self.records if record.offset not in hidden)


@dataclass(slots=True)
class Served:
    """The records served after a start, by topic and isolation, and the expected ones.

    `words` are Kafka's log lines from then on.
    """

    expected: dict[tuple[str, str], tuple[SpecRecord, ...]]
    found: dict[tuple[str, str], tuple[SpecRecord, ...]]
    words: str = ""


def write_plain(log: Log, written: Written) -> None:
    """Every sample with every codec: several segments. Gaps come as a leader would send them."""
    for codec in CODECS:
        for name, shape in samples.SHAPES.items():
            spec = Spec(records=shape(), codec=codec, base_offset=shape()[0].offset)
            written.records += (follow_spec if name == "gaps" else lead_spec)(log, spec)


def write_transactions(log: Log, written: Written, first_id: int) -> None:
    """Transactions that overlap, one with each codec; every other one is aborted."""
    for number, codec in enumerate(CODECS):
        spec = Spec(
            records=samples.headers(),
            codec=codec,
            producer_id=first_id + number,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
        records = lead_spec(log, spec)
        written.records += records
        if number % 2:
            written.uncommitted |= {record.offset for record in records}
        if number:
            end_transaction(log, first_id + number - 1, is_commit=number % 2 == 1)
    end_transaction(log, first_id + len(CODECS) - 1, is_commit=True)


@dataclass(slots=True)
class House:
    """A broker, and what we wrote into its log directory while it was down."""

    broker: Broker
    written: dict[str, Written]

    def serve(self) -> Served:
        """Start Kafka and ask it for everything."""
        log = self.broker.servers[-1].log
        before = len(log.read_text())
        self.broker.start()
        asked = [(topic, isolation) for topic in self.written for isolation in ISOLATIONS]
        oracle, bootstrap = self.broker.oracle, self.broker.bootstrap
        served = Served(
            {(topic, each): self.written[topic].seen(each) for topic, each in asked},
            {(topic, each): oracle.consume(bootstrap, topic, each) for topic, each in asked},
        )
        self.broker.stop()
        served.words = log.read_text()[before:]
        return served


@pytest.fixture(scope="module")
def house(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    """Kafka's log directory with partitions in it that our manager made and filled."""
    folder = tmp_path_factory.mktemp("ours-in-kafka")
    broker = kraft_broker(kafka43_jars, folder, kafka43, FAST_RESTART)
    try:
        broker.start()
        broker.create_topics({PLAIN: {}, TRANSACTIONS: {}})
        broker.stop()
        written = {PLAIN: Written(), TRANSACTIONS: Written()}
        ids = {
            topic: read_partition_metadata(SystemFiles(), str(broker.partition(topic)))
            for topic in written
        }
        for topic in written:
            shutil.rmtree(broker.partition(topic))
        with managed(broker.logs) as manager:
            for topic, topic_id in ids.items():
                assert topic_id is not None
                made(manager, topic, topic_id)
            write_plain(manager.logs[partition_of(PLAIN)], written[PLAIN])
            write_transactions(manager.logs[partition_of(TRANSACTIONS)], written[TRANSACTIONS], 900)
        yield House(broker, written)
    finally:
        broker.stop()


@pytest.fixture(scope="module")
def images(house: House, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our partitions as they are before Kafka sees them."""
    folder = tmp_path_factory.mktemp("images")
    for topic in house.written:
        shutil.copytree(house.broker.partition(topic), folder / f"{topic}-0")
    return folder


@pytest.fixture(scope="module")
def clean(house: House, images: Path) -> Served:
    """Return the records that Kafka serves after our clean shutdown."""
    return house.serve()


@pytest.fixture(scope="module")
def killed(house: House, clean: Served, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """Return the records that Kafka serves after a kill of ours, with the last batch torn."""
    logs, image = house.broker.logs, tmp_path_factory.mktemp("killed") / "logs"
    events: list[str] = []
    manager = open_manager(logs, events)
    for topic, written in house.written.items():
        write_transactions(manager.logs[partition_of(topic)], written, 1900)
    shutil.copytree(logs, image)
    manager.close()
    manager.ports.worker.close()
    assert not events
    shutil.rmtree(logs)
    shutil.copytree(image, logs)
    torn = write_ours(Spec(records=samples.plain(), partition_leader_epoch=0))
    for topic in house.written:
        active = max(house.broker.partition(topic).glob("*.log"))
        with active.open("ab") as file:
            file.write(torn[:-5])
    return house.serve()


@pytest.fixture(scope="module")
def dumper(kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dumper]:
    started = Dumper(kafka43_jars, tmp_path_factory.mktemp("dumper"))
    yield started
    started.close()


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("topic", (PLAIN, TRANSACTIONS))
def test_kafka_serves_our_log_after_a_clean_stop(clean: Served, topic: str, isolation: str) -> None:
    assert clean.found[topic, isolation] == clean.expected[topic, isolation]


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("topic", (PLAIN, TRANSACTIONS))
def test_kafka_serves_our_log_after_a_kill(killed: Served, topic: str, isolation: str) -> None:
    assert killed.found[topic, isolation] == killed.expected[topic, isolation]


def test_kafka_repairs_no_file_after_our_clean_stop(clean: Served) -> None:
    assert not [word for word in ("UnifiedLog", "LogLoader", "ERROR") if word in clean.words]


def test_kafka_truncates_the_torn_batch_after_a_kill(killed: Served) -> None:
    """Else the batch would not have been seen."""
    assert "LogLoader" in killed.words


@pytest.mark.parametrize("option", ("--index-sanity-check", "--verify-index-only"))
def test_dump_finds_no_fault_in_our_files(dumper: Dumper, images: Path, option: str) -> None:
    files = sorted(images.glob("*/0*[xg]"))

    dumps = [dumper.dump(option, files=[path]) for path in files]

    assert {path.suffix for path in files} == {".log", ".index", ".timeindex", ".txnindex"}
    for path, dumped in zip(files, dumps, strict=True):
        assert not dumped.has_failed
        assert not dumped.err
        if path.suffix in {".index", ".timeindex"}:
            lines = dumped.out.decode().splitlines()
            assert all(line.startswith("Dumping") or line.endswith(FINE) for line in lines), path


def test_directory_locked_by_kafka_is_rejected(broker43: Broker) -> None:
    with pytest.raises(LogDirectoryError, match="in use"):
        LogDirectory.open(SystemFiles(), str(broker43.logs))


def test_kafka_rejects_a_directory_locked_by_us(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path: Path
) -> None:
    broker = kraft_broker(kafka43_jars, tmp_path, kafka43)
    directory = LogDirectory.open(SystemFiles(), str(broker.logs))
    (server,) = broker.servers

    server.start()
    assert server.process is not None
    status = server.process.wait(30)
    directory.close(broker_epoch=-1)

    assert status != 0
    assert "Failed to acquire lock" in server.log.read_text()
