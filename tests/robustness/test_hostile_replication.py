"""Brokers of a cluster on a hostile network: requests between them meet faults of seeded chance.

A proxy stands before the listener for brokers of each one: followers reach their leaders through
it, the controller the brokers, and leaders the controller. It refuses and cuts connections, cuts
responses in their middle, delays and loses them, and holds connections open without an answer.
Clients are not disturbed. A ledger compares the acknowledged records with the log.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import pytest

from cordwood.client.aio import Producer
from cordwood.client.producer.delivery import Delivery
from cordwood.cluster.partition.leader import LagCheck, Leader
from cordwood.storage.files.header_scan import headers
from cordwood.testing.proxy.network_faults import FaultRates
from cordwood.testing.proxy.network_proxy import NetworkProxy
from tests.hostile_network import read_all
from tests.interop.kafka_harness.brokers import free_port
from tests.robustness.ledger import Ledger
from tests.unit.node.cluster_samples import (
    Cluster,
    addresses,
    create_orders,
    high_watermark,
    in_sync,
    leader_of,
    until,
)
from tests.unit.node.node_samples import run

NODES: Final = (1, 2, 3)
SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
ROUNDS: Final = 40 if SOAK else 3
RECORDS: Final = 400 if SOAK else 120
SEED: Final = 22
#: Records in flight.
WINDOW: Final = 10
DELIVERY_TIMEOUT_MS: Final = 20_000
RATES: Final = FaultRates(
    refuse=0.1,
    hang=0.02,
    close=0.06,
    drop=0.01,
    swallow=0.01,
    delay=0.1,
    trickle=0.03,
    delay_ms=100,
)
#: The kinds that every run injects.
KINDS: Final = ("close", "delay", "refuse", "trickle")
SETTINGS: Final = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BROKERS:PLAINTEXT",
    "inter.broker.listener.name": "BROKERS",
    "replica.lag.time.max.ms": "600",
    "replica.socket.timeout.ms": "500",
    "replica.fetch.backoff.ms": "50",
    "replica.fetch.wait.max.ms": "50",
    "controller.socket.timeout.ms": "500",
    "request.timeout.ms": "500",
}

AddLine = Callable[[str], None]


class HostileCluster:
    """Three brokers, and the proxy before each of them."""

    def __init__(self) -> None:
        self.found = Cluster()
        self.proxies = dict[int, NetworkProxy]()
        self.counts = Counter[str]()
        self._given = dict[int, dict[str, str]]()

    async def open(self) -> None:
        for each in NODES:
            own, between = free_port(), free_port()
            proxy = NetworkProxy(f"127.0.0.1:{between}")
            await proxy.start()
            self.found.stack.push_async_callback(proxy.close)
            self.proxies[each] = proxy
            self._given[each] = {
                "listeners": f"PLAINTEXT://127.0.0.1:{own},BROKERS://127.0.0.1:{between}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{own},BROKERS://{proxy.bootstrap}",
                **SETTINGS,
            }
        for each in NODES:
            await self.start(each)
        await create_orders(self.found)
        await until(self.is_in_sync)

    async def start(self, node_id: int) -> None:
        await self.found.start(node_id, **self._given[node_id])

    @property
    def leader(self) -> int:
        return max(leader_of(self.found.brokers[each]) for each in self.found.nodes)

    def in_sync_of_leader(self) -> set[int]:
        return in_sync(self.found.brokers[self.leader])

    def is_in_sync(self) -> bool:
        """Return whether all replicas are in sync, up to the ends of their logs."""
        if len({leader_of(each) for each in self.found.brokers.values()}) > 1:
            return False
        if any(in_sync(each) != {*NODES} for each in self.found.brokers.values()):
            return False
        partitions = [each.partitions.get("orders", 0) for each in self.found.brokers.values()]
        ends = {each.log.bounds.log_end for each in partitions}
        marks = {high_watermark(self.found, each) for each in NODES}
        return len(ends) == 1 and ends == marks

    def logs(self) -> list[list[tuple[int, int, int]]]:
        """Return the batches of each replica: their offsets and leader epoch."""
        return [
            [
                (each.base_offset, each.last_offset, each.partition_leader_epoch)
                for segment in broker.partitions.get("orders", 0).log.segments
                for each in headers(segment.files.pread, 0, segment.size)
            ]
            for broker in self.found.brokers.values()
        ]


@asynccontextmanager
async def hostile_cluster() -> AsyncIterator[HostileCluster]:
    made = HostileCluster()
    async with made.found.stack:
        await made.open()
        yield made
        for each in made.proxies.values():
            made.counts += each.faults.counts


async def produce(made: HostileCluster, ledger: Ledger, count: int, chance: random.Random) -> None:
    """Send records, and wait for their outcomes."""
    producer: Producer[bytes, bytes] = Producer(
        addresses(made.found),
        acks="all",
        delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
        max_block_ms=DELIVERY_TIMEOUT_MS,
        request_timeout_ms=2_000,
        batch_size=4_000,
    )

    def record(number: int, done: Delivery) -> None:
        ledger.record_outcome(number, None if done.exception() else done.result().offset)

    async with producer:
        for _ in range(count):
            await until(lambda: pending(ledger) < WINDOW)
            number = ledger.sent
            delivery = await producer.send("orders", ledger.next_value(chance), partition=0)
            delivery.add_done_callback(partial(record, number))
        await producer.flush()


def pending(ledger: Ledger) -> int:
    return ledger.sent - len(ledger.acknowledged) - len(ledger.given_up)


async def lose_followers(made: HostileCluster, ledger: Ledger, chance: random.Random) -> None:
    """Cut the followers from their leader: they leave the in-sync set, and return."""
    leader = made.leader
    with made.proxies[leader].faults.on("Fetch", times=None).drop():
        # Followers of an idle leader have caught up, however long they are away.
        producing = asyncio.ensure_future(produce(made, ledger, 5, chance))
        await until(lambda: made.in_sync_of_leader() == {leader})
        made.counts["shrunk"] += 1
    await producing
    await until(made.is_in_sync)
    made.counts["grown"] += 1


async def move_leader(made: HostileCluster, ledger: Ledger, chance: random.Random) -> None:
    """Stop a leader whose followers are cut off, and start it again."""
    leader = made.leader
    # A fetch may be under way until the leader has stopped, so that none meets the fault.
    cut = made.proxies[leader].faults.on("Fetch", times=None).drop()
    acknowledged = len(ledger.acknowledged)
    producing = asyncio.ensure_future(produce(made, ledger, 20, chance))
    await until(lambda: pending(ledger) > 0 or len(ledger.acknowledged) > acknowledged)
    await made.found.stop(leader)
    cut.end()
    left = [made.found.brokers[each] for each in made.found.nodes]
    await until(lambda: all(leader_of(each) not in {leader, -1} for each in left))
    await producing
    await made.start(leader)
    made.counts["moved"] += 1


async def survive(seed: int, rounds: int) -> tuple[list[str], Ledger, Counter[str]]:
    """Return the findings, the ledger, and what has happened."""
    chance, ledger = random.Random(seed), Ledger()
    async with hostile_cluster() as made:
        for number in range(rounds):
            armed = [
                proxy.faults.at_random(RATES, seed=seed + number * 10 + node_id)
                for node_id, proxy in made.proxies.items()
            ]
            await produce(made, ledger, RECORDS, chance)
            await move_leader(made, ledger, chance)
            for each in armed:
                each.end()
            await until(made.is_in_sync)
            await lose_followers(made, ledger, chance)
        found = await read_all(addresses(made.found), "orders")
        findings = ledger.compare(found)
        first, *others = made.logs()
        if any(each != first for each in others):
            findings.append("the replicas differ")
    return findings, ledger, made.counts


@pytest.mark.timeout(3600 if SOAK else 170)
def test_no_acknowledged_record_is_lost_and_the_in_sync_sets_recover(report: AddLine) -> None:
    findings, ledger, counts = run(survive(SEED, ROUNDS))

    numbers = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    report(
        f"hostile network between brokers: {len(ledger.acknowledged)} acknowledged, "
        f"{len(ledger.given_up)} given up; {numbers}"
    )
    assert findings == []
    assert {kind for kind in KINDS if not counts[kind]} == set()
    assert (counts["shrunk"], counts["grown"], counts["moved"]) == (ROUNDS, ROUNDS, ROUNDS)
    assert len(ledger.acknowledged) > ledger.sent / 2


def own_end(self: Leader, min_insync: int, *, check: LagCheck | None) -> int:
    """Count records that no follower has."""
    return self.own_end


def test_record_that_counts_before_the_followers_have_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Leader, "committed_end", own_end)

    findings, _, _ = run(survive(SEED, 1))

    assert any("acknowledged records are missing" in each for each in findings)
