"""`cordwood transactions` lists, describes and aborts transactions of Kafka 4.3."""

import json
from collections.abc import Callable, Iterator

import pytest

import cordwood
from cordwood.client.transaction_handle import TransactionHandle
from tests.interop.kafka_harness.brokers import Broker
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
        for value in (b"plank", b"beam"):  # the second one is newer than the transaction
            producer.send(topic, value).result()
        handle = producer.detach()
    yield handle
    with cordwood.Admin(broker43.bootstrap) as admin:
        admin.fence_producers([topic])


def test_open_transaction_is_listed(
    call: Callable[..., CommandResult], detached: TransactionHandle
) -> None:
    words = ("--transactional-id-pattern", "command.*")

    title, row = call("list", *words).out.splitlines()

    assert title.split() == ["TransactionalId", "ProducerId", "TransactionState"]
    assert row.split() == ["commanded", str(detached.producer_id), "Ongoing"]
    assert call("list", *words, "--running-longer-than", "100000000", "--json").out == ""


def test_open_transaction_is_described(
    call: Callable[..., CommandResult], detached: TransactionHandle
) -> None:
    found = json.loads(call("describe", "--transactional-id", "commanded", "--json").out)

    assert found["ProducerEpoch"] == detached.epoch
    assert (found["TransactionState"], found["TopicPartitions"]) == ("Ongoing", "commanded-0")


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
