"""Scenes of groups and transactions on a hostile network, in front of any broker.

    consume_in_group    members of one group, of which one comes and goes, commit what they read
    transact            members consume, and produce in transactions that commit their offsets

The network and the time are those of `tests.hostile_network`. An observer without faults reads the
committed offsets all the time. Afterwards the faults end, and the group has to reach the end of its
topic within a limit.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypedDict

from cordwood.client.aio import Admin, Consumer, Producer
from cordwood.client.consumer.completed_fetch import ConsumedRecord
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.errors import (
    CordwoodError,
    InvalidRequestError,
    KafkaError,
    RequestTimedOutError,
    UnstableOffsetCommitError,
)
from cordwood.core.types import TopicPartition
from cordwood.testing.seeded_random import SeededRandom
from tests.hostile_network import (
    CALL_LIMIT_MS,
    DELIVERY_TIMEOUT_MS,
    OPTIONS,
    RATES,
    Network,
    Report,
    network_to,
)
from tests.network_time import until

Records = list[ConsumedRecord[bytes, bytes]]
Offsets = dict[tuple[str, int], int]

PARTITIONS: Final = 4
_OBSERVED_EVERY_MS: Final = 40
#: The shortest session that Kafka allows.
_SESSION_MS: Final = 6_000
_HEARTBEAT_MS: Final = 500
#: A commit ends with the flush of its records and the wait for its coordinator.
_COMMIT_LIMIT_MS: Final = 2 * DELIVERY_TIMEOUT_MS
_CLOSE_MS: Final = 2_000
#: Time in which a group without faults reaches the end: several sessions.
_CALM_MS: Final = 400_000
_POLLS_OF_VISITOR: Final = 8
_ABORTED_EVERY: Final = 6


class _Sessions(TypedDict, total=False):
    """Options of a classic member."""

    session_timeout_ms: int
    heartbeat_interval_ms: int


class Site(NamedTuple):
    """A broker, and a topic of PARTITIONS partitions; `advance` moves the broker's own clock."""

    target: str
    topic: str
    group_protocol: str
    advance: Callable[[float], object] | None = None

    @property
    def group(self) -> str:
        return f"{self.topic}-{self.group_protocol}"

    @property
    def output(self) -> str:
        return f"{self.group}-output"


@dataclass
class CommitLedger:
    """Delivered records, acknowledged commits, and what the observer has read of them."""

    delivered: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    acknowledged: dict[int, int] = field(default_factory=dict)
    observed: dict[int, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def deliver(self, records: Records) -> None:
        """Store the records of a poll."""
        for each in records:
            self.delivered[each.partition].add(each.offset)

    def acknowledge(self, offsets: Offsets) -> None:
        """Store the offsets of a commit that has succeeded."""
        for (_, partition), offset in offsets.items():
            self.acknowledged[partition] = max(offset, self.acknowledged.get(partition, 0))

    def observe(self, floor: Mapping[int, int], found: Mapping[int, int]) -> None:
        """Compare committed offsets with those that were acknowledged before they were read."""
        for partition, offset in found.items():
            least = max(floor.get(partition, 0), self.observed.get(partition, 0))
            if offset < least:
                self.findings.append(f"partition {partition}: {offset} is committed after {least}")
            missing = set(range(offset)) - self.delivered[partition]
            if missing:
                self.findings.append(
                    f"partition {partition}: {offset} is committed, and {min(missing)} is not read"
                )
        self.observed.update(found)


class _Scene:
    """The network of a scene, its ledger, and the end of the topic."""

    def __init__(self, site: Site, network: Network, ends: Mapping[int, int]) -> None:
        self.site = site
        self.network = network
        self.ledger = CommitLedger()
        self.ends = ends
        self.is_calm = False
        self.is_failed = False
        self._runtimes = 0

    @property
    def is_over(self) -> bool:
        return self.is_failed or (self.is_calm and self.ledger.observed == self.ends)

    def runtime(self) -> ClientRuntime:
        """Return the runtime of one client, whose chance makes its member id."""
        self._runtimes += 1
        clock = self.network.clock
        return ClientRuntime(clock, clock, SeededRandom(self._runtimes))

    def consumer(self) -> Consumer[bytes, bytes]:
        sessions: _Sessions = {}
        if self.site.group_protocol == "classic":
            sessions = {"session_timeout_ms": _SESSION_MS, "heartbeat_interval_ms": _HEARTBEAT_MS}
        return Consumer(
            self.network.proxy.bootstrap,
            runtime=self.runtime,
            group=self.site.group,
            group_protocol=self.site.group_protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            fetch_max_wait_ms=10,
            max_partition_fetch_bytes=1_000,
            max_poll_records=10,
            **sessions,
            **OPTIONS,
        )

    @asynccontextmanager
    async def member(self) -> AsyncIterator[Consumer[bytes, bytes]]:
        """Yield a consumer that joins the group, and leaves it."""
        consumer = self.consumer()
        await consumer.start()
        done = self.network.report.done

        def count(_: list[TopicPartition]) -> None:
            done["assignments"] += 1

        consumer.subscribe([self.site.topic], on_assigned=count)
        try:
            yield consumer
        finally:
            closing = consumer.close(timeout_ms=_CLOSE_MS)
            await self.call("close of a consumer", closing, limit_ms=_CLOSE_MS + CALL_LIMIT_MS)

    async def call(
        self, name: str, work: Coroutine[object, object, object], *, limit_ms: float = CALL_LIMIT_MS
    ) -> CordwoodError | None:
        """Make a call; return its error."""
        found = await self.network.call(name, _outcome(work), limit_ms=limit_ms)
        if found is None:
            return CordwoodError(f"{name} has not ended")
        if isinstance(found, CordwoodError):
            self.network.report.done[f"{name}: {type(found).__name__}"] += 1
            return found
        return None

    async def poll(self, consumer: Consumer[bytes, bytes]) -> Records:
        found = await self.network.call("poll", consumer.poll(CALL_LIMIT_MS)) or []
        self.ledger.deliver(found)
        return found

    async def observe(self) -> None:
        """Read the committed offsets until the scene is over.

        An offset of a committed transaction can be read once its marker is written, which a read of
        stable offsets waits for.
        """
        names = [(self.site.topic, index) for index in range(PARTITIONS)]
        reader = Consumer[bytes, bytes](
            self.site.target,
            runtime=self.runtime,
            group=self.site.group,
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        async with reader:
            while not self.is_over:
                floor = self.ledger.acknowledged.copy()
                with suppress(RequestTimedOutError, UnstableOffsetCommitError):
                    found = await reader.committed(names)
                    known = {int(key.partition): each.offset for key, each in found.items() if each}
                    self.ledger.observe(floor, known)
                await self.network.runtime().sleep_ms(_OBSERVED_EVERY_MS)

    async def run(self, members: Iterable[Coroutine[object, object, None]], *, seed: int) -> Report:
        """Run members, with faults until half of the topic is committed."""
        report = self.network.report
        faults = self.network.proxy.faults.at_random(RATES, seed=seed)
        tasks = [asyncio.ensure_future(each) for each in (self.observe(), *members)]
        half = sum(self.ends.values()) // 2
        try:
            if not await self._until(lambda: self.is_failed or self._observed() >= half):
                report.findings.append("half of the topic was not read with faults")
            faults.end()
            self.is_calm = True
            if not await self._until(lambda: self.is_over):
                report.findings.append(
                    f"{self.ledger.observed} of {self.ends} is committed {_CALM_MS} ms later"
                )
        finally:
            self.is_failed = not self.is_over
            await asyncio.gather(*tasks)
        report.findings += self.ledger.findings
        return report

    def _observed(self) -> int:
        return sum(self.ledger.observed.values())

    async def _until(self, condition: Callable[[], bool]) -> bool:
        latest_ms = self.network.clock.monotonic_ms() + _CALM_MS
        await until(lambda: condition() or self.network.clock.monotonic_ms() > latest_ms)
        return condition()


async def _outcome(work: Coroutine[object, object, object]) -> CordwoodError | bool:
    try:
        await work
    except CordwoodError as error:
        return error
    return True


async def fill(site: Site, records: int) -> None:
    """Create the topics, and write records to each partition, without faults."""
    async with Admin(site.target) as admin:
        for topic in (site.topic, site.output):
            await admin.create_topic(topic, partitions=PARTITIONS)
    async with Producer[bytes, bytes](site.target, batch_size=500) as producer:
        for number in range(records):
            for partition in range(PARTITIONS):
                await producer.send(site.topic, b"%d-%d" % (partition, number), partition=partition)


@asynccontextmanager
async def _scene_of(site: Site) -> AsyncIterator[_Scene]:
    async with Consumer[bytes, bytes](site.target) as consumer:
        found = await consumer.end_offsets([(site.topic, index) for index in range(PARTITIONS)])
    ends = {int(key.partition): offset for key, offset in found.items()}
    async with network_to(site.target, advance=site.advance) as network:
        yield _Scene(site, network, ends)


async def consume_in_group(site: Site, *, seed: int) -> Report:
    """Let two members that stay and one that comes and goes read a topic."""
    async with _scene_of(site) as scene:
        return await scene.run((_stay(scene), _stay(scene), _come_and_go(scene)), seed=seed)


async def _stay(scene: _Scene) -> None:
    async with scene.member() as consumer:
        while not scene.is_over:
            await _read_and_commit(scene, consumer)


async def _come_and_go(scene: _Scene) -> None:
    while not scene.is_calm:
        async with scene.member() as consumer:
            for _ in range(_POLLS_OF_VISITOR):
                await _read_and_commit(scene, consumer)
        scene.network.report.done["visits"] += 1


async def _read_and_commit(scene: _Scene, consumer: Consumer[bytes, bytes]) -> None:
    records = await scene.poll(consumer)
    if records and await scene.call("commit", consumer.commit(offsets := _next(records))) is None:
        scene.ledger.acknowledge(offsets)


def _next(records: Records) -> Offsets:
    return {(each.topic, each.partition): each.offset + 1 for each in records}


# Transactions.


@dataclass
class TransactionLedger:
    """The records of each transaction, and which were committed and aborted."""

    records: dict[int, list[bytes]] = field(default_factory=dict)
    committed: set[int] = field(default_factory=set)
    aborted: set[int] = field(default_factory=set)

    def compare(
        self, site: Site, output: Mapping[int, list[bytes]], ends: Mapping[int, int]
    ) -> list[str]:
        """Return the differences between the input, the transactions, and the output."""
        findings = []
        values = [value for part in output.values() for value in part]
        for number, records in self.records.items():
            count = sum(values.count(each) for each in records)
            if number in self.committed and count != len(records):
                findings.append(f"{count} of {len(records)} records of committed {number}")
            if number in self.aborted and count:
                findings.append(f"{count} of {len(records)} records of aborted {number}")
        for partition, end in ends.items():
            inputs = [int(each.split(b"-")[1]) for each in output.get(partition, [])]
            if inputs != [*range(end)]:
                lost = len({*range(end)} - {*inputs})
                findings.append(
                    f"{site.output} {partition}: {lost} records lost, of {len(inputs)} "
                    f"{len(inputs) - len({*inputs})} doubled, or another order"
                )
        return findings


class _Pipeline:
    """A member that copies its partitions in transactions."""

    def __init__(self, scene: _Scene, ledger: TransactionLedger, name: str) -> None:
        self._scene = scene
        self._ledger = ledger
        self._producer: Producer[bytes, bytes] = Producer(
            scene.network.proxy.bootstrap,
            runtime=scene.runtime,
            transactional_id=name,
            linger_ms=0,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            max_block_ms=DELIVERY_TIMEOUT_MS,
            **OPTIONS,
        )

    async def run(self, polls: int | None = None) -> None:
        """Copy records for a number of polls, by default until the scene is over."""
        await self._producer.start()
        done = 0
        async with self._scene.member() as consumer:
            while not self._scene.is_over and done != polls:
                done += 1
                records = await self._scene.poll(consumer)
                if records and not await self._copy(consumer, records):
                    await self._rewind(consumer)
        await self._scene.call(
            "close of a producer", self._producer.close(), limit_ms=DELIVERY_TIMEOUT_MS
        )

    async def _copy(self, consumer: Consumer[bytes, bytes], records: Records) -> bool:
        """Write records and their offsets in one transaction; return whether it is committed."""
        number = len(self._ledger.records)
        values = [b"%s-%d" % (each.value, number) for each in records]
        self._ledger.records[number] = values
        if await self._call("begin", self._producer.begin(), DELIVERY_TIMEOUT_MS) is not None:
            return False
        offsets = _next(records)
        work = self._write(records, values)
        error = await self._call("send", work, DELIVERY_TIMEOUT_MS)
        if error is None:
            sent = self._producer.send_offsets(offsets, consumer.group_metadata())
            error = await self._call("send_offsets", sent, 2 * DELIVERY_TIMEOUT_MS)
        is_chosen = number % _ABORTED_EVERY > 0
        if error is None and is_chosen and await self._end("commit", self._producer.commit):
            self._ledger.committed.add(number)
            self._scene.ledger.acknowledge(offsets)
            return True
        if await self._end("abort", self._producer.abort):
            self._ledger.aborted.add(number)
        return False

    async def _write(self, records: Records, values: list[bytes]) -> None:
        for each, value in zip(records, values, strict=True):
            await self._producer.send(self._scene.site.output, value, partition=each.partition)

    async def _end(self, name: str, end: Callable[[], Coroutine[object, object, None]]) -> bool:
        """End the transaction; after a timeout its outcome is not known, so repeat the call."""
        while True:
            error = await self._call(name, end(), _COMMIT_LIMIT_MS)
            if not (isinstance(error, KafkaError) and error.retriable):
                return error is None

    async def _call(
        self, name: str, work: Coroutine[object, object, None], limit_ms: float
    ) -> CordwoodError | None:
        error = await self._scene.call(name, work, limit_ms=limit_ms)
        if type(error).__name__ in _FENCED:
            self._scene.is_failed = True
            self._scene.ledger.findings.append(f"a producer alone is rejected by {name}: {error}")
        return error

    async def _rewind(self, consumer: Consumer[bytes, bytes]) -> None:
        """Go back to the committed offsets, for the records of an aborted transaction."""
        found: dict[TopicPartition, int] = {}

        async def read() -> None:
            committed = await consumer.committed(consumer.assignment())
            found.update({key: each.offset if each else 0 for key, each in committed.items()})

        while not self._scene.is_failed and await self._scene.call("committed", read()) is not None:
            found.clear()
        for partition, offset in found.items():
            try:
                consumer.seek(partition, offset)
            except InvalidRequestError:  # it is another member's by now
                self._scene.network.report.done["lost partitions"] += 1


_FENCED: Final = frozenset(
    ["ProducerFencedError", "InvalidProducerEpochError", "InvalidTxnStateError"]
)


async def transact(site: Site, *, seed: int) -> Report:
    """Let two members that stay and one that comes and goes copy a topic in transactions."""
    ledger = TransactionLedger()
    async with _scene_of(site) as scene:
        ends = scene.ends
        members = [_Pipeline(scene, ledger, f"{site.group}-{name}").run() for name in "ab"]
        report = await scene.run((*members, _copy_and_go(scene, ledger)), seed=seed)
    report.done["committed"] = len(ledger.committed)
    report.done["aborted"] = len(ledger.aborted)
    report.findings += ledger.compare(site, await read_committed(site), ends)
    return report


async def _copy_and_go(scene: _Scene, ledger: TransactionLedger) -> None:
    while not scene.is_calm:
        await _Pipeline(scene, ledger, f"{scene.site.group}-c").run(_POLLS_OF_VISITOR)
        scene.network.report.done["visits"] += 1


async def read_committed(site: Site) -> dict[int, list[bytes]]:
    """Return the committed records of the output, by partition."""
    names = [(site.output, index) for index in range(PARTITIONS)]
    found = defaultdict[int, list[bytes]](list)
    async with Consumer[bytes, bytes](
        site.target, isolation_level="read_committed", fetch_max_wait_ms=10
    ) as consumer:
        consumer.assign(names)
        consumer.seek_to_beginning()
        ends = await consumer.end_offsets(names)
        while any([await consumer.position(key) < end for key, end in ends.items()]):
            for each in await consumer.poll():
                found[each.partition].append(each.value or b"")
    return found
