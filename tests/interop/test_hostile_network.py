"""Clients on a hostile network, with Apache Kafka and with our broker as a process."""

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.hostile_groups import Site, consume_in_group, fill, transact
from tests.hostile_network import (
    HEADER_BITS,
    LAST_OFFSET_DELTA,
    Report,
    call,
    consume,
    damage,
    produce,
)
from tests.interop.kafka_harness.brokers import Broker, kraft_broker, running
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
RECORDS: Final = 20_000 if SOAK else 300
ROUNDS: Final = 50 if SOAK else 2
BITS: Final = HEADER_BITS if SOAK else LAST_OFFSET_DELTA[-10:]
RECORDS_OF_GROUPS: Final = 2_000 if SOAK else 60
BROKERS: Final = ("broker43", "broker39", "our_broker")
#: Kafka 3.9 has the consumer protocol as a preview alone.
GROUPS: Final = (("broker43", "consumer"), ("broker39", "classic"), ("our_broker", "classic"))

AddLine = Callable[[str], None]

pytestmark = [pytest.mark.interop, pytest.mark.timeout(7200 if SOAK else 600)]


@pytest.fixture(scope="module")
def broker39(
    kafka39_jars: Jars, kafka39: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A running Kafka 3.9.1 with its metadata in KRaft."""
    folder = tmp_path_factory.mktemp("kafka39-kraft")
    with running(kraft_broker(kafka39_jars, folder, kafka39)) as broker:
        yield broker


@pytest.mark.parametrize("name", BROKERS)
@pytest.mark.parametrize("codec", ("none", "lz4"))
def test_no_record_is_lost_doubled_or_moved(
    name: str, codec: str, request: pytest.FixtureRequest, report: AddLine
) -> None:
    broker: Broker = request.getfixturevalue(name)
    topic = f"hostile-{codec}"
    broker.create_topics({topic: {}})

    async def scene() -> list[Report]:
        return [
            await produce(broker.bootstrap, topic, records=RECORDS, seed=7, codec=codec),
            await consume(broker.bootstrap, topic, seed=7),
        ]

    produced, consumed = asyncio.run(scene())

    report(f"hostile network, {name}, {codec}, producer: {produced}")
    report(f"hostile network, {name}, {codec}, consumer: {consumed}")
    assert (produced.findings, consumed.findings) == ([], [])
    assert produced.done["acknowledged"] > RECORDS / 2
    assert produced.injected.total() > RECORDS / 20


@pytest.mark.parametrize("name", BROKERS)
def test_damage_is_reported_and_calls_end_in_time(
    name: str, request: pytest.FixtureRequest, report: AddLine
) -> None:
    broker: Broker = request.getfixturevalue(name)
    topic = "hostile-calls"
    broker.create_topics({topic: {}})

    async def scene() -> list[Report]:
        await produce(broker.bootstrap, topic, records=200, seed=7)
        return [
            await damage(broker.bootstrap, topic, bits=BITS),
            await call(broker.bootstrap, topic, rounds=ROUNDS, seed=7),
        ]

    damaged, called = asyncio.run(scene())

    report(f"hostile network, {name}, damage: {damaged}")
    report(f"hostile network, {name}, calls: {called}")
    assert (damaged.findings, called.findings) == ([], [])
    assert damaged.done["turned bits"] == len(BITS)


@pytest.mark.parametrize(("name", "group_protocol"), GROUPS)
def test_no_offset_goes_back_and_no_transaction_is_lost_or_doubled(
    name: str, group_protocol: str, request: pytest.FixtureRequest, report: AddLine
) -> None:
    broker: Broker = request.getfixturevalue(name)
    grouped, copied = (
        Site(broker.bootstrap, topic, group_protocol) for topic in ("grouped", "copied")
    )

    async def scene() -> list[Report]:
        for site in (grouped, copied):
            await fill(site, RECORDS_OF_GROUPS)
        return [await consume_in_group(grouped, seed=7), await transact(copied, seed=7)]

    consumed, transacted = asyncio.run(scene())

    report(f"hostile network, {name}, {group_protocol} group: {consumed}")
    report(f"hostile network, {name}, {group_protocol} group, transactions: {transacted}")
    assert (consumed.findings, transacted.findings) == ([], [])
    assert transacted.done["committed"] > 0
    assert consumed.injected.total() > 0
