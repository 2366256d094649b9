"""Kafka 4.3 starts on a log directory compacted by Cordwood, serves its records, and appends.

Its own producers fill two topics, idempotently with every codec and in transactions; it stops,
`cordwood compact` cleans the directory by settings in Kafka's metadata; it starts again.
"""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import (
    FAST_RESTART,
    Broker,
    kraft_broker,
    producer_settings,
)
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.spec import CODECS, SpecRecord
from tests.serving import CORDWOOD

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

TOPICS: Final = ("plain", "transactions")
ISOLATIONS: Final = ("read_uncommitted", "read_committed")

Seen = dict[tuple[str, str], tuple[SpecRecord, ...]]


@dataclass(slots=True)
class Compacted:
    """The records that Kafka served before and after our compaction, and later; our messages."""

    before: Seen
    after: Seen
    later: Seen
    said: str
    words: str


def produce(broker: Broker) -> None:
    """Both topics get something from Kafka's producers."""
    oracle, bootstrap = broker.oracle, broker.bootstrap
    for codec in CODECS:
        sent = (*samples.plain(), *samples.headers(), *samples.many())
        oracle.produce(bootstrap, "plain", sent, producer_settings(codec, is_idempotent=True))
    decided = [(samples.plain(), True), (samples.many(), False), (samples.headers(), True)]
    settings = producer_settings("zstd", transactional_id="interop")
    oracle.produce_transactions(bootstrap, "transactions", [*decided, *decided[:2]], settings)


def consumed(broker: Broker) -> Seen:
    asked = [(topic, isolation) for topic in TOPICS for isolation in ISOLATIONS]
    return {each: broker.oracle.consume(broker.bootstrap, *each) for each in asked}


def last_of_each_key(records: tuple[SpecRecord, ...]) -> tuple[SpecRecord, ...]:
    last = {record.key: record.offset for record in records}
    return tuple(record for record in records if last[record.key] == record.offset)


@pytest.fixture(scope="module")
def compacted(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Compacted]:
    broker = kraft_broker(kafka43_jars, tmp_path_factory.mktemp("kafka"), kafka43, FAST_RESTART)
    try:
        broker.start()
        broker.create_topics({topic: {"cleanup.policy": "compact"} for topic in TOPICS})
        produce(broker)
        before = consumed(broker)
        broker.stop()
        said = compact(broker.logs)
        mark = len(broker.servers[-1].log.read_text())
        broker.start()
        after = consumed(broker)
        words = broker.servers[-1].log.read_text()[mark:]
        produce(broker)
        later = consumed(broker)
        yield Compacted(before, after, later, said, words)
    finally:
        broker.stop()


def compact(logs: Path) -> str:
    command = [*CORDWOOD, "compact", str(logs), "--roll", "--verify", "always"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=200)
    return done.stdout


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("topic", TOPICS)
def test_kafka_serves_the_last_record_of_each_key(
    compacted: Compacted, topic: str, isolation: str
) -> None:
    expected = last_of_each_key(compacted.before[topic, "read_committed"])

    assert compacted.after[topic, isolation] == expected
    assert len(expected) < len(compacted.before[topic, isolation]) / 2


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("topic", TOPICS)
def test_kafka_appends_after_our_compacted_records(
    compacted: Compacted, topic: str, isolation: str
) -> None:
    before, after = compacted.before[topic, isolation], compacted.after[topic, isolation]
    later = compacted.later[topic, isolation]

    assert later[: len(after)] == after
    assert [record.key for record in later[len(after) :]] == [record.key for record in before]


def test_kafka_repairs_no_file(compacted: Compacted) -> None:
    assert "verified: all keys" in compacted.said
    assert not [word for word in ("LogLoader", "ERROR", "corrupt") if word in compacted.words]
