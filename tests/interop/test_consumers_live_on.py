"""Clients live through kills, restarts, lost records, and a broker that becomes Kafka and back.

One story with one address and one log directory. No client is restarted in it: each consumer reads
every record that is written after an event, and each producer's records are there once.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pytest

import cordwood
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.storage.metadata.metadata_lookup import METADATA_LOG
from cordwood.workbench.adopt import BOOTSTRAP
from tests.interop.kafka_harness.brokers import Broker, kraft_broker
from tests.interop.kafka_harness.clients import Origins
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.living_consumers import (
    LIVING_CONSUMERS,
    LivingConsumer,
    Seen,
)
from tests.robustness.ledger import Ledger, Ledgers
from tests.robustness.partitions import read_all
from tests.robustness.producing import SENDERS, Sender
from tests.serving import CORDWOOD, PATIENCE_S, Serving

SOAK: Final = bool(os.environ.get("CORDWOOD_SOAK"))
ROUNDS: Final = 5 if SOAK else 1
#: Kafka adopts the directory, and Cordwood takes it back, this often.
ADOPTIONS: Final = 5 if SOAK else 2
pytestmark = [
    pytest.mark.interop,
    pytest.mark.spark,
    pytest.mark.timeout(3600 if SOAK else 600),
]

READ, SENT = TopicName("read"), TopicName("sent")
#: No record is written to QUIET while OTHER shows that the consumers have reconnected.
QUIET, OTHER = 0, 1
RECORDS: Final = 20
BURST: Final = 300
SETTINGS: Final = {"auto.create.topics.enable": "false"}
EVENTS: Final = (
    "start",
    "kill without a write, then a clean restart",
    "clean restart",
    "Kafka adopts the directory",
    "Cordwood takes it back",
    "power loss",
    "power loss, and other records before a consumer returns",
)
#: Spark keeps offsets, not leader epochs: it ends its query when offsets have been lost.
REPORTS: Final = {("spark-sql-kafka", event): "data may have been " for event in EVENTS[5:]}


@dataclass
class World:
    """The broker of the moment, and the clients."""

    ours: Serving
    kafka: Broker
    #: The broker holds responses to producers of SENT back while this file exists.
    lost: Path
    consumers: dict[str, LivingConsumer] = field(default_factory=dict)
    senders: dict[str, Sender] = field(default_factory=dict)
    ledgers: Ledgers = field(default_factory=lambda: Ledgers([], window=1 << 20))
    admin: cordwood.Admin | None = None
    writes: int = 0
    #: By event and consumer: the wanted values of all its rounds, and what was seen.
    seen: dict[tuple[str, str], tuple[list[str], Seen]] = field(default_factory=dict)
    differences: dict[str, list[str]] = field(default_factory=dict)
    listed: dict[str, list[str]] = field(default_factory=dict)

    def write(self, name: str, *partitions: int, records: int = RECORDS) -> list[str]:
        """Write records that have this name, to the broker of the moment."""
        self.writes += 1
        values = [f"{name} {self.writes}.{number}" for number in range(records)]
        is_ours = self.ours.is_launched
        with cordwood.Producer(self.ours.address if is_ours else self.kafka.bootstrap) as producer:
            for partition in partitions:
                for value in values:
                    producer.send(READ, value.encode(), partition=partition)
            producer.flush()
        return values

    def partition(self, number: int) -> Path:
        """Return the folder of a partition of the topic that consumers read."""
        return self.kafka.logs / f"{READ}-{number}"

    def burst(self) -> None:
        """Send records; wait until some of each producer are in the log, unacknowledged."""
        self.lost.touch()
        with cordwood.Consumer(self.ours.address, auto_offset_reset="latest") as reader:
            reader.assign(self.ledgers.of)
            ends = {each: reader.position(each) for each in self.ledgers.of}
            self.send_all()
            while ends:
                for record in reader.poll():
                    ends.pop(TopicPartition(SENT, PartitionId(record.partition)), None)

    def send_all(self) -> None:
        """Send records of both producers; their acknowledgements come later."""
        for sender, partition in zip(self.senders.values(), self.ledgers.of, strict=True):
            ledger = self.ledgers.of[partition]
            for _ in range(BURST):
                number, value = ledger.sent, ledger.next_value(random.Random(1))
                record = partial(self.ledgers.record_outcome, partition, number)
                sender.send(partition, value, record)

    def expect(self, event: str, wanted: list[str]) -> None:
        """Let every consumer read on, unless an earlier event has ended it."""
        for name, consumer in self.consumers.items():
            is_lost = any(seen.missing(before) for before, seen in self._seen_by(name))
            patience_s = 0.1 if is_lost else PATIENCE_S
            former, _ = self.seen.get((event, name), ([], None))
            seen = consumer.seen(wanted, patience_s)
            self.seen[event, name] = ([*former, *wanted], seen)
        assert self.admin is not None, "started"
        self.listed[event] = sorted(self.admin.list_topics())

    def _seen_by(self, name: str) -> list[tuple[list[str], Seen]]:
        return [found for (_, consumer), found in self.seen.items() if consumer == name]


@pytest.fixture(scope="module")
def world(
    origins: Origins, kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("living")
    kafka = kraft_broker(kafka43_jars, folder, origins.kafka43)
    shutil.rmtree(kafka.logs)
    lost = folder / "lost"
    ours = Serving(
        folder,
        SETTINGS,
        directories=[kafka.logs],
        environment={"LOST_TOPIC": SENT, "LOST_WHILE": str(lost)},
        program=[sys.executable, "-m", "tests.interop.kafka_harness.lost_responses"],
    )
    ours.address = kafka.bootstrap
    world = World(ours, kafka, lost)
    with ended(world):
        start(world, origins)
        for _ in range(ROUNDS):
            kill_and_restart(world)
            restart(world)
        for number in range(ADOPTIONS):
            if number:
                kill_and_restart(world)
            become_kafka(world)
            become_cordwood(world)
        check_ledgers(world)
        lose_power(world)
        replace_records(world)
        yield world


@contextmanager
def ended(world: World) -> Iterator[None]:
    """Leave no process and no thread behind."""
    try:
        yield
    finally:
        for consumer in world.consumers.values():
            consumer.close()
        for sender in world.senders.values():
            sender.close()
        if world.admin is not None:
            world.admin.close()
        world.kafka.stop()
        if world.ours.is_launched:
            world.ours.kill()


def start(world: World, origins: Origins) -> None:
    world.ours.start()
    bootstrap = world.kafka.bootstrap
    world.admin = cordwood.Admin(bootstrap)
    for topic in (READ, SENT):
        world.admin.create_topic(topic, partitions=2)
    world.senders = {name: make(bootstrap) for name, make in SENDERS.items()}
    partitions = [TopicPartition(SENT, PartitionId(number)) for number in range(len(SENDERS))]
    world.ledgers = Ledgers(partitions, window=1 << 20)
    world.consumers = {
        name: make(origins, bootstrap, READ, 2) for name, make in LIVING_CONSUMERS.items()
    }
    world.expect(EVENTS[0], world.write(EVENTS[0], QUIET, OTHER))


def kill_and_restart(world: World) -> None:
    """The epoch that the kill has begun must not be forgotten by the clean restart."""
    world.burst()
    world.ours.kill()
    world.lost.unlink()
    world.ours.start()
    beat = world.write("after the kill", OTHER)
    for consumer in world.consumers.values():
        consumer.seen(beat, PATIENCE_S)
    world.burst()
    world.ours.stop()
    world.lost.unlink()
    world.ours.start()
    world.expect(EVENTS[1], world.write(EVENTS[1], QUIET))


def restart(world: World) -> None:
    world.burst()
    world.ours.stop()
    world.lost.unlink()
    world.ours.start()
    world.expect(EVENTS[2], world.write(EVENTS[2], QUIET, OTHER))


def become_kafka(world: World) -> None:
    world.burst()
    world.ours.stop()
    world.lost.unlink()
    set_kafka_metadata_aside(world)
    adopt = [*CORDWOOD, "log", "adopt", "--to-kafka", str(world.kafka.logs)]
    subprocess.run(adopt, check=True, timeout=PATIENCE_S)
    world.kafka.start()
    world.expect(EVENTS[3], world.write(EVENTS[3], QUIET, OTHER))


def set_kafka_metadata_aside(world: World) -> None:
    """Move the metadata of an earlier adoption away, as the error of `log adopt` recommends."""
    logs = world.kafka.logs
    for name in (METADATA_LOG, BOOTSTRAP):
        if (logs / name).exists():
            (logs / name).rename(Path(tempfile.mkdtemp(dir=logs.parent)) / name)


def become_cordwood(world: World) -> None:
    world.send_all()
    world.kafka.stop()
    world.ours.start()
    world.expect(EVENTS[4], world.write(EVENTS[4], QUIET, OTHER))


def check_ledgers(world: World) -> None:
    """Wait for the outcomes of all records, and compare them with the log."""
    while world.senders:
        world.senders.popitem()[1].close()
    for name, partition in zip(SENDERS, world.ledgers.of, strict=True):
        ledger = world.ledgers.of[partition]
        found = read_all(world.kafka.bootstrap, partition)
        world.differences[name] = [*ledger.compare(found), *_given_up(ledger)]


def _given_up(ledger: Ledger) -> list[str]:
    count = ledger.sent - len(ledger.acknowledged)
    return [f"{count} records were not acknowledged"] if count else []


def lose_records(world: World, lose: Callable[[], list[str]]) -> None:
    """Lose records that were acknowledged, read and not synced, and the broker with them."""
    world.ours.stop()  # syncs everything
    world.ours.start()
    logs = [log for each in (QUIET, OTHER) for log in world.partition(each).glob("*.log")]
    synced = [log.stat().st_size for log in logs]
    lost = lose()
    for consumer in world.consumers.values():
        consumer.seen(lost, PATIENCE_S)
    world.ours.kill()
    assert [log.stat().st_size for log in logs] > synced, "there is something to lose"
    for log, size in zip(logs, synced, strict=True):
        os.truncate(log, size)


def lose_power(world: World) -> None:
    """Consumers find shorter logs; later they have other records of the same producers."""
    senders = [make(world.kafka.bootstrap) for make in SENDERS.values()]
    try:
        lose_records(world, lambda: send(senders, "lost", RECORDS))
        world.ours.start()
        for name, event in REPORTS:
            if event == EVENTS[5]:
                world.consumers[name].seen(["its end"], PATIENCE_S)
        world.expect(EVENTS[5], send(senders, EVENTS[5], 2 * RECORDS))
    finally:
        for sender in senders:
            sender.close()


def send(senders: Sequence[Sender], name: str, records: int) -> list[str]:
    """Let each producer send records to a partition of its own; wait until all are there."""
    values = {
        partition: [f"{name} {partition}.{number}" for number in range(records)]
        for partition, _ in enumerate(senders)
    }
    is_done, outcomes = threading.Event(), list[int | None]()

    def keep(offset: int | None) -> None:
        outcomes.append(offset)
        if len(outcomes) == records * len(senders):
            is_done.set()

    for number, sender in enumerate(senders):
        for value in values[number]:
            sender.send(TopicPartition(READ, PartitionId(number)), value.encode(), keep)
    assert is_done.wait(PATIENCE_S), f"{len(outcomes)} outcomes"
    assert None not in outcomes
    return [value for each in values.values() for value in each]


def replace_records(world: World) -> None:
    """Consumers find a log that is long enough: only the leader epochs differ."""
    lose_records(world, lambda: world.write("lost", QUIET))
    address, world.ours.address = world.ours.address, "127.0.0.1:0"
    world.ours.start()
    wanted = world.write(EVENTS[6], QUIET, records=2 * RECORDS)
    world.ours.stop()
    world.ours.address = address
    world.ours.start()
    world.expect(EVENTS[6], wanted)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("name", LIVING_CONSUMERS)
def test_consumer_reads_on_after(event: str, name: str, world: World) -> None:
    wanted, seen = world.seen[event, name]

    if (name, event) in REPORTS:
        assert REPORTS[name, event] in seen.problem
    else:
        assert (seen.missing(wanted), seen.problem) == ([], "")


@pytest.mark.parametrize("event", EVENTS[5:])
@pytest.mark.parametrize("name", LIVING_CONSUMERS)
def test_consumer_returns_no_lost_record_after_those_that_replaced_it(
    event: str, name: str, world: World
) -> None:
    wanted, seen = world.seen[event, name]
    values = [value for number, value in seen.values if number == QUIET]

    at = values.index(wanted[0]) if wanted[0] in values else len(values)
    assert [value for value in values[at:] if value.startswith("lost ")] == []


@pytest.mark.parametrize("name", SENDERS)
def test_records_of_a_producer_are_there_once(name: str, world: World) -> None:
    assert world.differences[name] == []


@pytest.mark.parametrize("event", EVENTS)
def test_admin_client_lists_the_topics_after(event: str, world: World) -> None:
    assert {READ, SENT} <= {*world.listed[event]}
