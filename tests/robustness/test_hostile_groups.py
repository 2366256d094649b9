"""Groups and transactions on a hostile network; planted mistakes prove the scenes.

The broker's clock moves with that of the clients. `tests/interop/test_hostile_network.py` has the
same scenes with Apache Kafka.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from itertools import chain, repeat
from typing import Final, TypeVar

import pytest

from cordwood.client.group.group_offsets import GroupOffsets
from cordwood.client.group_offset import GroupOffset
from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.coordinator_call import CoordinatorAttempt, CoordinatorKey
from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.producer.transactional_requests import CoordinatorRequests
from cordwood.core.types import TopicPartition
from cordwood.testing.kafka_fixture import Kafka
from tests.hostile_groups import Site, consume_in_group, fill, transact
from tests.hostile_network import Report

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
RECORDS: Final = 3_000 if SOAK else 200
TOPIC: Final = "hostile"

T = TypeVar("T")
AddLine = Callable[[str], None]

pytestmark = pytest.mark.timeout(7200 if SOAK else 300)
BOTH: Final = pytest.mark.parametrize("group_protocol", ("classic", "consumer"))
CLASSIC: Final = pytest.mark.parametrize("group_protocol", ("classic",))


def run(scene: Coroutine[object, object, T]) -> T:
    return asyncio.run(scene)


#: A member of KIP-848 whose leave is lost keeps its partitions for as long as a classic one.
SESSIONS: Final = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}


@pytest.fixture
def site(kafka_broker: Callable[..., Kafka], group_protocol: str) -> Iterator[Site]:
    kafka = kafka_broker(config=SESSIONS)
    made = Site(
        kafka.bootstrap, TOPIC, group_protocol, advance=lambda ms: kafka.clock.advance(ms=ms)
    )
    run(fill(made, RECORDS))
    kafka.clock.freeze()
    yield made
    kafka.clock.run()


def ensure_injected(report: Report) -> None:
    """Fail if the network was calm.

    A run has 100 requests or more. Their number depends on the threads, and a rare kind of fault
    may be missing.
    """
    assert len(report.injected) >= 3


@BOTH
def test_committed_offset_never_goes_back(site: Site, report: AddLine) -> None:
    found = run(consume_in_group(site, seed=1))

    report(f"hostile network, {site.group_protocol} group: {found}")
    assert found.findings == []
    ensure_injected(found)


@BOTH
def test_committed_transaction_is_read_once(site: Site, report: AddLine) -> None:
    found = run(transact(site, seed=2))

    report(f"hostile network, transactions, {site.group_protocol} group: {found}")
    assert found.findings == []
    ensure_injected(found)


# Planted mistakes.

COMMIT, END = GroupOffsets.commit, CoordinatorRequests.end


def commit_without_an_answer() -> Callable[..., Coroutine[object, object, None]]:
    """Return a commit that takes 30 requests in a row for done, all of which are lost."""
    sent = chain([1] * 10, [0] * 30, repeat(1))

    async def commit(
        self: GroupOffsets,
        offsets: Mapping[TopicPartition, GroupOffset],
        *,
        timeout_ms: float | None,
    ) -> None:
        if next(sent):
            await COMMIT(self, offsets, timeout_ms=timeout_ms)

    return commit


async def end_without_the_epoch_of_a_retry(
    self: CoordinatorRequests, *, commit: bool
) -> ProducerIdentity | None:
    """Forget the epoch of the next transaction, if the first answer was lost."""
    attempts, call = 0, CoordinatorRequests._call  # noqa: SLF001 - the mistake is in this class

    async def counted(attempt: CoordinatorAttempt[T], key: CoordinatorKey | None = None) -> T:
        async def next_attempt(connection: BrokerConnection) -> T:
            nonlocal attempts
            attempts += 1
            return await attempt(connection)

        return await call(self, next_attempt, key)

    vars(self)["_call"] = counted
    try:
        made = await END(self, commit=commit)
    finally:
        del vars(self)["_call"]
    return made if attempts == 1 else None


@CLASSIC
def test_commit_without_an_answer_is_found(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupOffsets, "commit", commit_without_an_answer())

    found = run(consume_in_group(site, seed=1))

    assert any("is committed after" in each for each in found.findings)


@CLASSIC
def test_forgotten_epoch_of_a_retry_is_found(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoordinatorRequests, "end", end_without_the_epoch_of_a_retry)

    found = run(transact(site, seed=2))

    assert any("a producer alone is rejected" in each for each in found.findings)
