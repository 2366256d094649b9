"""Transactions of our producer on Kafka 4.3 (transaction version 2) and 3.9 (the older one)."""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import TypeVar

import pytest

from cordwood import aio
from cordwood.client.group_offset import GroupOffset
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import InvalidTxnStateError, ProducerFencedError
from tests.interop.kafka_harness.brokers import Broker, running, zookeeper_broker
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

T = TypeVar("T")


@pytest.fixture(scope="module")
def broker39(
    kafka39_jars: Jars, kafka39: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A running Kafka 3.9.1 whose logs hold v2 batches, as transactions need."""
    folder = tmp_path_factory.mktemp("kafka39-v2")
    with running(zookeeper_broker(kafka39_jars, folder, kafka39, "2.8")) as broker:
        yield broker


@pytest.fixture(params=("broker43", "broker39"))
def broker(request: pytest.FixtureRequest) -> Broker:
    found: Broker = request.getfixturevalue(request.param)
    return found


def run(scene: Coroutine[object, object, T]) -> T:
    return asyncio.run(asyncio.wait_for(scene, 100))


def committed(broker: Broker, topic: str) -> list[bytes | None]:
    records = broker.oracle.consume(broker.bootstrap, topic, "read_committed")
    return [each.value for each in records]


def topic_of(broker: Broker, name: str) -> str:
    broker.create_topics({name: {}})
    return name


def producer(broker: Broker, name: str) -> "aio.Producer[bytes, bytes]":
    return aio.Producer(broker.bootstrap, transactional_id=name)


def test_committed_transactions_are_read_and_aborted_ones_are_not(broker: Broker) -> None:
    topic = topic_of(broker, "our-transactions")

    async def scene() -> None:
        async with producer(broker, topic) as sending:
            for number in range(6):
                await sending.begin()
                await sending.send(topic, b"%d" % number)
                await sending.send(topic, b"more")
                await (sending.commit() if number % 3 else sending.abort())

    run(scene())

    assert committed(broker, topic) == [b"1", b"more", b"2", b"more", b"4", b"more", b"5", b"more"]


def test_empty_transactions_send_no_request(broker: Broker) -> None:
    topic = topic_of(broker, "our-empty-transactions")

    async def scene() -> None:
        async with producer(broker, topic) as sending, aio.Admin(broker.bootstrap) as admin:
            for end in (sending.commit, sending.abort):
                await sending.begin()
                await end()
            (found,) = await admin.describe_transactions([topic])
            assert found.state == "Empty"

    run(scene())


def test_offsets_of_a_group_are_committed_with_the_transaction(broker: Broker) -> None:
    topic = group = topic_of(broker, "our-offsets")

    async def scene() -> None:
        async with producer(broker, topic) as sending, aio.Admin(broker.bootstrap) as admin:
            for number, end in ((1, sending.commit), (2, sending.abort), (3, sending.commit)):
                await sending.begin()
                await sending.send_offsets({(topic, 0): GroupOffset(number, "note")}, group)
                await end()
                found = await admin.list_group_offsets(group, [(topic, 0)], require_stable=True)
                assert next(iter(found.values()))[:2] == (1 if number == 2 else number, "note")

    run(scene())


@pytest.mark.parametrize("commit", (True, False))
def test_detached_transaction_is_ended_by_its_handle(broker: Broker, *, commit: bool) -> None:
    topic = topic_of(broker, f"our-detached-{commit}")

    async def scene() -> str:
        async with producer(broker, topic) as sending:
            await sending.begin()
            await sending.send(topic, b"plank")
            return (await sending.detach()).to_json()

    async def end(text: str) -> None:
        handle = TransactionHandle.from_json(text)
        async with aio.Admin(broker.bootstrap) as admin:
            (found,) = await admin.describe_transactions([topic])
            assert (found.state, found.epoch) == ("Ongoing", handle.epoch)
            await admin.end_transaction(handle, commit=commit)
            await admin.end_transaction(handle, commit=commit)

    text = run(scene())
    assert committed(broker, topic) == []
    run(end(text))

    assert committed(broker, topic) == [b"plank"] * commit


def test_fenced_producer_fails_for_good(broker: Broker) -> None:
    topic = topic_of(broker, "our-fenced-producer")

    async def scene() -> None:
        async with producer(broker, topic) as first, producer(broker, topic) as second:
            await first.begin()
            await first.send(topic, b"old")
            await first.flush()
            await second.begin()
            await second.send(topic, b"new")
            with pytest.raises(ProducerFencedError, match="a later producer with this"):
                await first.commit()
            with pytest.raises(ProducerFencedError, match="create another one"):
                await first.begin()
            await second.commit()

    run(scene())

    assert committed(broker, topic) == [b"new"]


def test_record_that_is_rejected_makes_the_transaction_abortable(broker: Broker) -> None:
    topic = "our-abortable"
    broker.create_topics({topic: {"max.message.bytes": "200"}})

    async def scene() -> None:
        async with producer(broker, topic) as sending:
            await sending.begin()
            await sending.send(topic, b"fits")
            await sending.flush()
            await sending.send(topic, b"x" * 1000)
            with pytest.raises(Exception, match="call `abort`, then begin again"):
                await sending.commit()
            await sending.abort()
            await sending.begin()
            await sending.send(topic, b"again")
            await sending.commit()

    run(scene())

    assert committed(broker, topic) == [b"again"]


def test_closed_producer_aborts_its_transaction(broker: Broker) -> None:
    topic = topic_of(broker, "our-closed-producer")

    async def scene() -> None:
        async with producer(broker, topic) as sending:
            await sending.begin()
            await sending.send(topic, b"plank")
            await sending.flush()
        async with aio.Admin(broker.bootstrap) as admin:
            (found,) = await admin.describe_transactions([topic])
            assert found.state in {"PrepareAbort", "CompleteAbort"}

    run(scene())

    assert committed(broker, topic) == []


def test_calls_in_a_wrong_state_name_the_remedy(broker: Broker) -> None:
    topic = topic_of(broker, "our-wrong-state")

    async def scene() -> None:
        async with producer(broker, topic) as sending:
            with pytest.raises(InvalidTxnStateError, match="call `begin` first"):
                await sending.send(topic, b"early")
            await sending.begin()
            with pytest.raises(InvalidTxnStateError, match="commit or abort the open"):
                await sending.begin()
            with pytest.raises(InvalidTxnStateError, match="nothing was sent"):
                await sending.detach()

    run(scene())
