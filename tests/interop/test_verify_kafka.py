"""A verification finds no damage in logs of Kafka: stopped, killed, cleaned or live."""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Final

import pytest

from cordwood.core.system import SystemFiles
from cordwood.workbench.log_statistics import LogStatistics
from cordwood.workbench.stat import stat
from cordwood.workbench.verify.findings import VerifyFinding
from cordwood.workbench.verify.verify import verify
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import (
    FAST_RESTART,
    Broker,
    kraft_broker,
    producer_settings,
)
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import CODECS, SpecRecord

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SENT: Final = (*samples.plain(), *samples.nulls(), *samples.headers(), *samples.many())
KEYED: Final = (*samples.plain(), *samples.many())
LIVE, DELETED, COMPACTED, TRANSACTIONS = "live", "deleted", "compacted", "transactions"
LOOKS: Final = 6
ROUNDS: Final = 4
CLEANING: Final = """
log.cleaner.enable=true
log.cleaner.backoff.ms=100
log.cleaner.dedupe.buffer.size=8388608
"""
BY_THE_HOUR: Final = {"segment.ms": "3600000"}
OFTEN: Final = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", **BY_THE_HOUR}


@dataclass(slots=True)
class Story:
    """The findings by moment, and the final numbers."""

    damages: dict[str, list[VerifyFinding]] = field(default_factory=dict)
    looks: int = 0
    live: int = 0
    sums: dict[str, LogStatistics] = field(default_factory=dict)
    consumed: dict[str, int] = field(default_factory=dict)
    robbed: Path = Path()

    def look(self, broker: Broker, moment: str) -> None:
        found = verify(SystemFiles(), [str(broker.logs)])
        self.damages.setdefault(moment, []).extend(found.damages)


def hours_later(records: tuple[SpecRecord, ...], hours: int) -> tuple[SpecRecord, ...]:
    return tuple(replace(each, timestamp=each.timestamp + hours * 3_600_000) for each in records)


def produce(broker: Broker) -> None:
    oracle, at = broker.oracle, broker.bootstrap
    for codec in CODECS:
        oracle.produce(at, codec, SENT, producer_settings(codec, is_idempotent=True))
    for hour in range(ROUNDS):
        oracle.produce(at, DELETED, hours_later(SENT, hour), producer_settings("none"))
        oracle.produce(at, COMPACTED, hours_later(KEYED, hour), producer_settings("lz4"))
    oracle.delete_records(at, DELETED, len(SENT) + 100)
    turns = [(samples.plain(), True), (samples.nulls(), False), (samples.headers(), True)]
    settings = producer_settings("zstd", transactional_id="verified")
    oracle.produce_transactions(at, TRANSACTIONS, turns, settings)


def look_while_producing(broker: Broker, story: Story) -> None:
    """Kafka writes until it has been looked at often enough."""
    seen_enough = Event()

    def go_on() -> None:
        while not seen_enough.is_set():
            broker.oracle.produce(broker.bootstrap, LIVE, SENT, producer_settings("lz4"))
            story.live += len(SENT)

    with ThreadPoolExecutor(1) as pool:
        producing = pool.submit(go_on)
        try:
            while story.looks < LOOKS and not producing.done():
                story.look(broker, "producing")
                story.looks += not producing.done()
        finally:
            seen_enough.set()
        producing.result()


def wait_for_cleaner(broker: Broker) -> None:
    checkpoint = broker.logs / "cleaner-offset-checkpoint"
    deadline = time.monotonic() + PATIENCE_S
    while not (checkpoint.exists() and f"{COMPACTED} 0 " in checkpoint.read_text()):
        assert time.monotonic() < deadline, "Kafka's cleaner has not come"
        time.sleep(0.1)


def rob(logs: Path, to: Path) -> Path:
    """Copy a log directory, without an index of aborted transactions."""
    shutil.copytree(logs, to)
    (index,) = (to / f"{TRANSACTIONS}-0").glob("*.txnindex")
    index.unlink()
    return to


@pytest.fixture(scope="module")
def story(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("verified")
    broker = kraft_broker(kafka43_jars, folder, kafka43, FAST_RESTART + CLEANING)
    seen = Story()
    try:
        broker.start()
        topics: dict[str, dict[str, str]] = {each: {} for each in (*CODECS, LIVE, TRANSACTIONS)}
        broker.create_topics({**topics, DELETED: BY_THE_HOUR, COMPACTED: OFTEN})
        produce(broker)
        look_while_producing(broker, seen)
        wait_for_cleaner(broker)
        seen.look(broker, "cleaned")
        for topic in (*CODECS, LIVE, COMPACTED, TRANSACTIONS):
            every = broker.oracle.consume(broker.bootstrap, topic, "read_uncommitted")
            seen.consumed[topic] = len(every)
        broker.kill()
        seen.look(broker, "killed")
        for each in stat(SystemFiles(), [str(broker.logs)]).partitions:
            seen.sums[(each.partition or "").removesuffix("-0")] = each
        broker.start()
        broker.stop()
        seen.look(broker, "stopped")
        seen.robbed = rob(broker.logs, folder / "robbed")
        yield seen
    finally:
        broker.stop()


@pytest.mark.parametrize("moment", ("producing", "cleaned", "killed", "stopped"))
def test_logs_of_kafka_have_no_damage(story: Story, moment: str) -> None:
    assert story.damages[moment] == []


def test_lost_transaction_index_of_kafkas_active_segment_is_damage(story: Story) -> None:
    (found,) = verify(SystemFiles(), [str(story.robbed)]).damages

    assert found.path.startswith(f"{story.robbed}/{TRANSACTIONS}-0/")
    assert found.cause == "an aborted transaction differs from the log"


def test_verification_ran_repeatedly_while_kafka_wrote(story: Story) -> None:
    assert story.looks == LOOKS


@pytest.mark.parametrize("topic", (*CODECS, LIVE))
def test_stat_counts_the_produced_records(story: Story, topic: str) -> None:
    count = story.live if topic == LIVE else len(SENT)

    assert (story.sums[topic].records, story.consumed[topic]) == (count, count)


def test_stat_counts_transactions_by_outcome(story: Story) -> None:
    sums = story.sums[TRANSACTIONS]

    assert (sums.transactions_committed, sums.transactions_aborted) == (2, 1)
    assert sums.transactions_open == 0


def test_stat_counts_the_records_left_by_kafkas_cleaner(story: Story) -> None:
    assert story.sums[COMPACTED].records == story.consumed[COMPACTED] < ROUNDS * len(KEYED)
