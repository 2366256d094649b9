"""Fixtures of Kafka itself: its classes and its brokers, started once for the whole run.

A missing tool skips a test and names the tool; with CI=true it fails the test.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.kafka_harness.brokers import Broker, kraft_broker, running, zookeeper_broker
from tests.interop.kafka_harness.clients import Origins
from tests.interop.kafka_harness.conformance import Conformance
from tests.interop.kafka_harness.installed import kafka_jars, peer
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.opened_logs import OpenedLogs
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.our_broker import cordwood_broker
from tests.interop.kafka_harness.zookeepers import (
    RunningZooKeeper,
    kafka39_in,
    running_zookeeper,
)


def _ours(origins: Origins, folder: Path, more: str) -> Broker:
    return cordwood_broker(folder, origins.kafka43, more)


def _control(origins: Origins, folder: Path, more: str) -> Broker:
    return kraft_broker(origins.kafka43_jars, folder, origins.kafka43, more)


TARGETS: dict[str, Callable[[Origins, Path, str], Broker]] = {"cordwood": _ours}
if os.environ.get("CORDWOOD_SOAK"):
    # The same checks against Kafka itself prove the checks.
    TARGETS["kafka"] = _control


#: Members of the new protocol learn of an assignment with their next heartbeat.
QUICK_GROUPS = """group.consumer.min.heartbeat.interval.ms=100
group.consumer.heartbeat.interval.ms=100
"""


@pytest.fixture(scope="session")
def librdkafka() -> None:
    """The Python wheel of librdkafka is there."""
    peer("confluent_kafka")


@pytest.fixture(scope="session")
def kafka43_jars() -> Jars:
    """Kafka 4.3.0 from Maven, with our program compiled against it."""
    return kafka_jars("kafka-4.3.0")


@pytest.fixture(scope="module")
def opened_logs(kafka43_jars: Jars) -> Iterator[OpenedLogs]:
    """Kafka 4.3.0's `UnifiedLog` over directories."""
    with OpenedLogs(kafka43_jars) as opened:
        yield opened


@pytest.fixture(scope="session")
def kafka39_jars() -> Jars:
    """Kafka 3.9.1 from Maven, with our program compiled against it."""
    return kafka_jars("kafka-3.9.1")


@pytest.fixture(scope="session")
def kafka43(kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """Kafka 4.3.0's own classes."""
    yield from _oracle(kafka43_jars, tmp_path_factory.mktemp("kafka43-oracle"))


@pytest.fixture(scope="session")
def kafka39(kafka39_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """Kafka 3.9.1's own classes, the last with conversion between the formats."""
    yield from _oracle(kafka39_jars, tmp_path_factory.mktemp("kafka39-oracle"))


def _oracle(jars: Jars, folder: Path) -> Iterator[Oracle]:
    oracle = Oracle(jars, folder / "oracle.txt")
    yield oracle
    oracle.close()


@pytest.fixture(scope="session")
def broker43(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A running Kafka 4.3.0."""
    folder = tmp_path_factory.mktemp("kafka43-broker")
    with running(kraft_broker(kafka43_jars, folder, kafka43)) as broker:
        yield broker


@pytest.fixture(scope="session")
def broker39_v0(
    kafka39_jars: Jars, kafka39: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A running Kafka 3.9.1 whose logs hold v0 messages."""
    folder = tmp_path_factory.mktemp("kafka39-v0")
    with running(zookeeper_broker(kafka39_jars, folder, kafka39, "0.9.0")) as broker:
        yield broker


@pytest.fixture(scope="session")
def broker39_v1(
    kafka39_jars: Jars, kafka39: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A running Kafka 3.9.1 whose logs hold v1 messages."""
    folder = tmp_path_factory.mktemp("kafka39-v1")
    with running(zookeeper_broker(kafka39_jars, folder, kafka39, "0.10.0")) as broker:
        yield broker


@pytest.fixture(scope="session")
def zookeeper(
    kafka39_jars: Jars, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningZooKeeper]:
    """A running ZooKeeper of Kafka 3.9.1's jars."""
    with running_zookeeper(kafka39_jars, tmp_path_factory.mktemp("zookeeper")) as running_one:
        yield running_one


@pytest.fixture(scope="session")
def broker39(
    zookeeper: RunningZooKeeper,
    kafka39_jars: Jars,
    kafka39: Oracle,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Broker]:
    """A running Kafka 3.9.1 of the cluster `/kafka` in ZooKeeper, which is its controller."""
    folder = tmp_path_factory.mktemp("kafka39")
    broker = kafka39_in(zookeeper, "/kafka", jars=kafka39_jars, folder=folder, oracle=kafka39)
    with running(broker):
        yield broker


@pytest.fixture(scope="session")
def our_broker(kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running broker of ours, a process of its own."""
    with running(cordwood_broker(tmp_path_factory.mktemp("cordwood"), kafka43)) as broker:
        yield broker


@pytest.fixture(scope="session")
def origins(
    kafka43_jars: Jars,
    kafka43: Oracle,
    kafka39: Oracle,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Origins]:
    """The shared parts of the clients of the conformance page."""
    folder = tmp_path_factory.mktemp("clients")
    origins = Origins(kafka43_jars=kafka43_jars, kafka43=kafka43, kafka39=kafka39, folder=folder)
    yield origins
    origins.close()


@pytest.fixture(scope="session", params=TARGETS)
def conformance(
    request: pytest.FixtureRequest, origins: Origins, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Conformance]:
    """Every client and every feature at one target: our broker, or as a control Kafka's."""
    brokers = []
    with ExitStack() as stack:
        for creates in ("false", "true"):
            folder = tmp_path_factory.mktemp(request.param)
            more = f"auto.create.topics.enable={creates}\n{QUICK_GROUPS}"
            broker = TARGETS[request.param](origins, folder, more)
            brokers.append(stack.enter_context(running(broker)))
        conformance = Conformance(broker=brokers[0], creating_broker=brokers[1], origins=origins)
        stack.callback(conformance.close)
        yield conformance
