"""A log directory moves from our broker to Kafka and back; every record is served."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cordwood.storage.manager.log_directory import CHECKPOINTS
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, kraft_broker, producer_settings, running
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.our_broker import cordwood_broker
from tests.interop.kafka_harness.spec import CODECS, SpecRecord, renumbered
from tests.serving import CORDWOOD

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

RECORDS = renumbered([*samples.headers(), *samples.many()], first_offset=0)


def _consume(broker: Broker, topic: str) -> tuple[SpecRecord, ...]:
    return broker.oracle.consume(broker.bootstrap, topic, "read_committed")


def _produce(broker: Broker, topic: str, codec: str) -> None:
    settings = producer_settings(codec, is_idempotent=True)
    broker.oracle.produce(broker.bootstrap, topic, RECORDS, settings)


def test_kafka_serves_the_log_of_our_broker(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path: Path
) -> None:
    (tmp_path / "ours").mkdir()
    with running(cordwood_broker(tmp_path / "ours", kafka43)) as ours:
        ours.create_topics({codec: {} for codec in CODECS})
        for codec in CODECS:
            _produce(ours, codec, codec)
        kafka43.delete_records(ours.bootstrap, "gzip", 100)
    kafka = kraft_broker(kafka43_jars, tmp_path, kafka43)
    shutil.rmtree(kafka.logs)
    ours.logs.rename(kafka.logs)
    subprocess.run([*CORDWOOD, "log", "adopt", "--to-kafka", kafka.logs], check=True, timeout=60)

    with running(kafka):
        seen = {codec: _consume(kafka, codec) for codec in CODECS}

    assert seen == {codec: RECORDS[100:] if codec == "gzip" else RECORDS for codec in CODECS}


def test_kafka_continues_a_log_after_our_broker_continued_its_own(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path: Path
) -> None:
    kafka = kraft_broker(kafka43_jars, tmp_path, kafka43)
    with running(kafka):
        kafka.create_topics({"orders": {"retention.ms": "-1"}})
        _produce(kafka, "orders", "zstd")

    ours = cordwood_broker(tmp_path, kafka43)
    with running(ours):
        taken = _consume(ours, "orders")
        _produce(ours, "orders", "lz4")

    with running(kafka):
        both = _consume(kafka, "orders")
    assert taken == RECORDS
    assert both == renumbered([*RECORDS, *RECORDS], first_offset=0)


def test_serving_without_appends_keeps_kafkas_files(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path: Path
) -> None:
    """Only the ownership files change, and the checkpoints, which Kafka writes alike.

    A new leader begins its epoch at the log end, in Kafka too.
    """
    kafka = kraft_broker(kafka43_jars, tmp_path, kafka43)
    with running(kafka):
        kafka.create_topics({codec: {} for codec in CODECS})
        for codec in CODECS:
            _produce(kafka, codec, codec)
    before = _files(kafka.logs)

    ours = cordwood_broker(tmp_path, kafka43)
    with running(ours):
        taken = {codec: _consume(ours, codec) for codec in CODECS}
    after = _files(ours.logs)

    assert taken == dict.fromkeys(CODECS, RECORDS)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    ours_alone = {"cordwood.metadata", ".kafka_cleanshutdown", ".lock"}
    epochs = {f"{codec}-0/leader-epoch-checkpoint" for codec in CODECS}
    assert changed <= ours_alone | {*CHECKPOINTS} | epochs, changed
    for each in epochs:
        assert after[each].splitlines()[2:-1] == before[each].splitlines()[2:]


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
