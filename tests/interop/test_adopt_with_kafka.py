"""Apache Kafka 4.3 starts on a log directory of ours, and serves all of it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cordwood.core.metadata_paths import (
    ALL_BROKERS,
    BROKER,
    GROUP,
    TOPIC,
    config_path,
    encode_texts,
)
from cordwood.core.ports import Ports
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.znodes import ZNode
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.checkpoints.metadata_file_format import encode_line
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.metadata.metadata_lookup import read_kafka_metadata
from cordwood.workbench.adopt import AdoptOptions, adopt
from cordwood.workbench.salvage.salvage import salvage
from tests.corruption.faults import hurt
from tests.corruption.healthy import PARTITION, healthy_log
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, kraft_broker, producer_settings
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.unit.storage.log_samples import batch

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

PORTS = Ports(files=SystemFiles(), clock=SystemClock(), random=SystemRandom())
RECORDS = 30
SESSION_TIMEOUT = "consumer.session.timeout.ms"
TOPICS = ("orders", "with-dashes.and_more")


class _NoDeletions:
    def remove_later(self, paths: object, *, delay_ms: int) -> None:
        raise AssertionError(paths)


def _write(path: str) -> None:
    """Write a log directory as a broker of ours leaves it after an orderly stop."""
    files = SystemFiles()
    home = LogDirectory.open(files, path)
    for topic in TOPICS:
        partition = TopicPartition(TopicName(topic), PartitionId(0))
        place = LogPlace(
            partition=partition,
            directory=f"{path}/{topic}-0",
            config=LogConfig(segment_bytes=400, index_interval_bytes=0),
            is_clean=True,
        )
        ports = Ports(files=files, clock=SystemClock(), random=SystemRandom())
        log = Log.open(place, ports, table=OpenFileCache(files, 8), deletions=_NoDeletions())
        for _ in range(RECORDS):
            log.append_as_leader(
                batch(), leader_epoch=7, inspector=PlainInspector(), context=AppendContext()
            )
        log.close()
    home.is_loaded = True
    home.close(broker_epoch=-1)


def _set_while_running(logs: Path) -> None:
    """Store dynamic configurations of the broker, all brokers and a group, in our metadata."""
    nodes = {
        config_path(BROKER, "1"): ZNode(encode_texts({"log.retention.ms": "87654321"})),
        config_path(BROKER, ALL_BROKERS): ZNode(encode_texts({"log.segment.bytes": "7654321"})),
        config_path(GROUP, "a/b"): ZNode(encode_texts({SESSION_TIMEOUT: "50000"})),
    }
    (logs / "cordwood.metadata").write_bytes(b"cordwood.metadata 1\n" + encode_line(nodes))


@pytest.fixture
def adopted(kafka43_jars: Jars, kafka43: Oracle, tmp_path: Path) -> Iterator[Broker]:
    broker = kraft_broker(kafka43_jars, tmp_path, kafka43)
    shutil.rmtree(broker.logs)
    _write(str(broker.logs))
    _set_while_running(broker.logs)
    options = AdoptOptions(configs={"orders": {"retention.bytes": "123456789"}})
    adopt(PORTS, str(broker.logs), options=options)
    broker.start()
    yield broker
    broker.stop()


def test_kafka_serves_every_partition_of_a_directory_that_was_adopted(adopted: Broker) -> None:
    for topic in TOPICS:
        consumed = adopted.oracle.consume(adopted.bootstrap, topic, "read_uncommitted")

        assert [record.offset for record in consumed] == list(range(RECORDS))
        adopted.oracle.produce(adopted.bootstrap, topic, samples.plain(), producer_settings("none"))
    assert not list(adopted.logs.glob("*-stray"))
    said = read_kafka_metadata(SystemFiles(), str(adopted.logs))
    assert said is not None
    assert said.config_of(TOPIC, "orders") == {"retention.bytes": "123456789"}
    entries = adopted.oracle.describe_configs(adopted.bootstrap, kind="TOPIC", name=TOPICS[1])
    values = {each["name"]: each["value"] for each in entries}
    assert (values["retention.ms"], values["segment.bytes"]) == ("87654321", "7654321")
    entries = adopted.oracle.describe_configs(adopted.bootstrap, kind="GROUP", name="a/b")
    assert {each["name"]: each["value"] for each in entries}[SESSION_TIMEOUT] == "50000"


def test_kafka_serves_a_salvaged_log(kafka43_jars: Jars, kafka43: Oracle, tmp_path: Path) -> None:
    broker = kraft_broker(kafka43_jars, tmp_path, kafka43)
    shutil.rmtree(broker.logs)
    log = healthy_log(3)
    broken = hurt(log, "zeroed_page", 3)
    source = tmp_path / "source" / PARTITION
    source.mkdir(parents=True)
    for name, data in broken.files.items():
        (source / name).write_bytes(data)
    report = salvage(PORTS, str(source), out=str(broker.logs))
    topic = PARTITION.rpartition("-")[0]
    Path(report.path).rename(broker.logs / f"{topic}-0")
    (broker.logs / "replication-offset-checkpoint").unlink()
    (broker.logs / "recovery-point-offset-checkpoint").unlink()
    adopt(PORTS, str(broker.logs), options=AdoptOptions())

    broker.start()
    try:
        consumed = kafka43.consume(broker.bootstrap, topic, "read_uncommitted")
    finally:
        broker.stop()

    gone = {
        offset
        for each in report.lost
        for offset in range(each.first, (each.last or each.first) + 1)
    }
    assert report.lost
    expected = [record.offset for record in log.records if record.offset not in gone]
    assert [record.offset for record in consumed] == expected
