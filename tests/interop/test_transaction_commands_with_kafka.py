"""`cordwood transactions` lists, describes and aborts transactions of Kafka 4.3.

A hanging transaction is made by a producer that does not add its partition, while the broker does
not verify that. Kafka's tool prints the same about it, on both brokers.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

import cordwood
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.raw_producer import RawProducer
from tests.interop.kafka_harness.wire import ask
from tests.unit.cli.commands import CommandResult, run

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.fixture
def call(
    broker43: Broker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., CommandResult]:
    def made(*words: str) -> CommandResult:
        arguments = ("transactions", *words, "--bootstrap-server", broker43.bootstrap)
        return run(arguments, monkeypatch, capfd)

    return made


@pytest.fixture
def detached(broker43: Broker) -> Iterator[TransactionHandle]:
    """An open transaction of topic `commanded`."""
    topic = "commanded"
    broker43.create_topics({topic: {}} if topic not in broker43.topics else {})
    broker43.topics.add(topic)
    with cordwood.Producer(broker43.bootstrap, transactional_id=topic) as producer:
        producer.begin()
        producer.send(topic, b"plank").result()  # made before the coordinator's transaction
        handle = producer.detach()
    yield handle
    with cordwood.Admin(broker43.bootstrap) as admin:
        admin.fence_producers([topic])


def test_open_transaction_is_listed(
    call: Callable[..., CommandResult], detached: TransactionHandle
) -> None:
    words = ("--transactional-id-pattern", "command.*")

    title, row = call("list", *words).out.splitlines()

    assert title.split() == ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]
    assert row.split() == ["commanded", "1", str(detached.producer_id), "Ongoing"]
    assert call("list", *words, "--running-longer-than", "100000000", "--json").out == ""


def test_open_transaction_is_described(
    call: Callable[..., CommandResult], detached: TransactionHandle
) -> None:
    found = json.loads(call("describe", "--transactional-id", "commanded", "--json").out)

    assert found["producer_epoch"] == detached.epoch
    assert (found["transaction_state"], found["topic_partitions"]) == ("Ongoing", "commanded-0")


def test_unknown_id_is_an_error(call: Callable[..., CommandResult]) -> None:
    result = call("describe", "--transactional-id", "no-such-id")

    assert result.code == 1
    assert "check the name" in result.err


def test_ongoing_transaction_does_not_hang(
    call: Callable[..., CommandResult], detached: TransactionHandle
) -> None:
    result = call("find-hanging", "--topic", "commanded", "--max-transaction-timeout", "0")

    assert detached.transaction_version == 2
    assert len(result.out.splitlines()) == 1


def test_transaction_is_aborted_by_its_start(
    broker43: Broker, call: Callable[..., CommandResult], detached: TransactionHandle
) -> None:
    with cordwood.Admin(broker43.bootstrap) as admin:
        (producers,) = admin.describe_producers([("commanded", 0)]).values()
        (start,) = [
            each.transaction_start for each in producers if each.transaction_start is not None
        ]
    place = ("--topic", "commanded", "--partition", "0", "--start-offset", str(start))

    first, second = call("abort", *place), call("abort", *place)

    assert detached.epoch >= 0
    assert (first.code, first.out) == (0, "")
    assert second.code == 1
    assert "no open transaction begins at offset" in second.err


HANGING: Final = ("--topic", "hanging", "--partition", "0")
VERIFICATION: Final = "transaction.partition.verification.enable"


@pytest.fixture(params=("broker43", "our_broker"))
def hanging(request: pytest.FixtureRequest) -> Iterator[tuple[Broker, RawProducer]]:
    """A broker, and the producer of a hanging transaction of topic `hanging`."""
    broker: Broker = request.getfixturevalue(request.param)
    broker.create_topics({"hanging": {}})
    with cordwood.Admin(broker.bootstrap) as admin:
        admin.alter_configs(("broker", ""), change={VERIFICATION: "false"})
        admin.fence_producers(["hanging"])  # creates the topic of transactions
        producer = RawProducer(broker.bootstrap, "hanging")
        _write_unverified(broker.bootstrap, producer)
        admin.alter_configs(("broker", ""), reset=[VERIFICATION])
        yield broker, producer
        admin.delete_topic("hanging")


def _write_unverified(bootstrap: str, producer: RawProducer) -> None:
    """Write a record of a transaction; a broker of Kafka takes a moment to stop to verify."""
    fields = BatchFields(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=0,
        is_transactional=True,
    )
    builder = BatchBuilder(fields)
    builder.append(None, b"plank", timestamp=int(time.time() * 1000) - 60_000)
    partition = PartitionProduceData(index=0, records=builder.build())
    request = ProduceRequest(
        transactional_id=producer.transactional_id,
        acks=-1,
        timeout_ms=PATIENCE_S * 1000,
        topics=[TopicProduceData(name="hanging", partitions=[partition])],
    )
    end = time.monotonic() + PATIENCE_S
    code = -1
    while code and time.monotonic() < end:
        answer = ask(bootstrap, request, 7, answer=ProduceResponse)
        code = answer.responses[0].partitions[0].error_code
    assert code == 0


def test_hanging_transaction_is_found_and_aborted_as_by_kafkas_tool(
    hanging: tuple[Broker, RawProducer],
    kafka43_jars: Jars,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    broker, producer = hanging

    def rows(*words: str) -> list[list[str]]:
        arguments = ("transactions", *words, "--bootstrap-server", broker.bootstrap)
        result = run(arguments, monkeypatch, capfd)
        assert result.code == 0, result.err
        return _rows(result.out)

    search = ("find-hanging", *HANGING, "--max-transaction-timeout", "0")
    found, producers = rows(*search), rows("describe-producers", *HANGING)

    assert found == _kafkas(kafka43_jars, broker, *search)
    assert producers == _kafkas(kafka43_jars, broker, "describe-producers", *HANGING)
    assert [row[2] for row in found[1:]] == [str(producer.producer_id)]
    assert rows("abort", *HANGING, "--producer-id", str(producer.producer_id)) == []
    assert len(rows(*search)) == 1
    assert rows("describe-producers", *HANGING)[1][-1] == "-"


def _kafkas(jars: Jars, broker: Broker, *words: str) -> list[list[str]]:
    name = "org.apache.kafka.tools.TransactionsCommand"
    command = jars.command(name, "--bootstrap-server", broker.bootstrap, *words)
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=PATIENCE_S)
    return _rows(done.stdout)


def _rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]
