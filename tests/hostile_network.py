"""Scenes of clients on a hostile network, in front of any broker, and the findings about them.

    produce     an idempotent producer: a ledger compares its outcomes with the log
    consume     a consumer: it returns every record once and in order
    damage      a consumer whose responses have a turned bit: it loses no record in silence
    call        other calls, on a network that hangs

Faults come by seeded chance. The clients and the proxy are on virtual time, which advances a little
in each turn of the loop; each call must end within its own limit of that time. A finding is a
sentence; a scene without findings has passed.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar, cast

from cordwood.client.aio import Admin, Consumer, Producer
from cordwood.client.network.runtime import ClientRuntime
from cordwood.client.producer.delivery import Delivery
from cordwood.client.settings import ClientOptions
from cordwood.core.errors import CordwoodError, CorruptMessageError
from cordwood.protocol.schema import Response
from cordwood.records.batch_stream import batches
from cordwood.records.record_batch import HEADER_SIZE
from cordwood.testing.proxy.network_faults import FaultRates
from cordwood.testing.proxy.network_proxy import NetworkProxy
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.network_time import until
from tests.robustness.ledger import NUMBER_LENGTH, UNKNOWN_OFFSET, Found, Ledger

if TYPE_CHECKING:
    from cordwood.protocol.messages.fetch import FetchResponse

T = TypeVar("T")

STEP_MS: Final = 4
#: The step of a broker's clock.
ADVANCE_MS: Final = 5 * STEP_MS
#: Bits of a batch header that the checksum covers: from the attributes on.
HEADER_BITS: Final = range(8 * 21, 8 * HEADER_SIZE)
#: Those of the last offset delta.
LAST_OFFSET_DELTA: Final = range(8 * 23, 8 * 27)
REQUEST_TIMEOUT_MS: Final = 1_000
DELIVERY_TIMEOUT_MS: Final = 8_000
#: Shorter than a request timeout, so that the limit of a call is not that of its request.
CALL_LIMIT_MS: Final = 600
#: Turns of the loop between a timer and the end of its call, as virtual time.
A_LITTLE_MS: Final = 50 * STEP_MS
#: Records of the producer in flight.
WINDOW: Final = 40
#: One of this number of callbacks raises an error.
RAISING: Final = 7

RATES: Final = FaultRates(
    refuse=0.1,
    hang=0.03,
    close=0.05,
    drop=0.015,
    swallow=0.02,
    delay=0.05,
    trickle=0.02,
    delay_ms=400,
)
SILENCE: Final = FaultRates(hang=0.5, drop=0.4, delay=0.1, delay_ms=5_000)

OPTIONS: Final[ClientOptions] = {
    "request_timeout_ms": REQUEST_TIMEOUT_MS,
    "default_api_timeout_ms": CALL_LIMIT_MS,
    "socket_connection_setup_timeout_ms": REQUEST_TIMEOUT_MS,
    "retry_backoff_max_ms": 200,
}


@dataclass
class Report:
    """Findings of a scene, the injected faults by kind, and the longest time of each call."""

    findings: list[str] = field(default_factory=list)
    injected: Counter[str] = field(default_factory=Counter)
    longest_ms: dict[str, float] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        parts = (self.done, self.injected)
        numbers = "; ".join(", ".join(f"{n} {each}" for each, n in part.items()) for part in parts)
        longest = ", ".join(f"{each} {ms:.0f} ms" for each, ms in self.longest_ms.items())
        return f"{numbers}; longest: {longest}"

    def add_call(self, name: str, took_ms: float, limit_ms: float) -> None:
        """Compare the time of a call with its limit."""
        self.longest_ms[name] = max(took_ms, self.longest_ms.get(name, 0))
        if took_ms > limit_ms + A_LITTLE_MS:
            self.findings.append(f"{name} took {took_ms:.0f} ms, and its limit is {limit_ms} ms")


class Network:
    """A proxy and the virtual time of its clients."""

    def __init__(self, proxy: NetworkProxy, clock: VirtualClock) -> None:
        self.proxy = proxy
        self.clock = clock
        self.report = Report()

    def runtime(self) -> ClientRuntime:
        return ClientRuntime(self.clock, self.clock, SeededRandom(1))

    async def call(
        self, name: str, work: Coroutine[object, object, T], *, limit_ms: float = CALL_LIMIT_MS
    ) -> T | None:
        """Return the result of a call, None for an error; note a call beyond its limit."""
        started_ms = self.clock.monotonic_ms()
        task = asyncio.ensure_future(work)
        latest_ms = started_ms + limit_ms + 2 * A_LITTLE_MS
        await until(lambda: task.done() or self.clock.monotonic_ms() > latest_ms)
        self.report.add_call(name, self.clock.monotonic_ms() - started_ms, limit_ms)
        self.report.done[name] += 1
        task.cancel()
        try:
            return await task
        except CorruptMessageError:
            self.report.done["errors"] += 1
        except (CordwoodError, asyncio.CancelledError):
            pass
        return None


async def _tick(clock: VirtualClock, advance: Callable[[float], object] | None) -> None:
    """Let the virtual time run, and that of a broker with it."""
    if advance is None:
        await until(lambda: False, clock=clock, step_ms=STEP_MS)
    while advance is not None:
        end_ms = clock.monotonic_ms() + ADVANCE_MS
        await until(partial(_is_after, clock, end_ms), clock=clock, step_ms=STEP_MS)
        await asyncio.to_thread(advance, ADVANCE_MS)


def _is_after(clock: VirtualClock, end_ms: float) -> bool:
    return clock.monotonic_ms() >= end_ms


@asynccontextmanager
async def network_to(
    target: str, *, advance: Callable[[float], object] | None = None
) -> AsyncIterator[Network]:
    """Yield a proxy to a cluster; the virtual time runs until the end.

    `advance` moves the clock of a broker by as many milliseconds.
    """
    clock = VirtualClock()
    runtime = ClientRuntime(clock, clock, SeededRandom(1))
    async with NetworkProxy(target, runtime=lambda: runtime) as proxy:
        network = Network(proxy, clock)
        ticking = asyncio.ensure_future(_tick(clock, advance))
        try:
            yield network
        finally:
            network.report.injected = proxy.faults.counts
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)


async def produce(
    target: str, topic: str, *, records: int, seed: int, codec: str = "none"
) -> Report:
    """Send records of random sizes, and compare the log with the outcomes."""
    chance, ledger = random.Random(seed), Ledger()
    async with network_to(target) as network:
        producer: Producer[bytes, bytes] = Producer(
            network.proxy.bootstrap,
            runtime=network.runtime,
            batch_size=2_000,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            max_block_ms=DELIVERY_TIMEOUT_MS,
            compression_type=codec,
            **OPTIONS,
        )
        await producer.start()
        await _warm_up(producer, topic)
        faults = network.proxy.faults.at_random(RATES, seed=seed)
        for _ in range(records):
            await until(lambda: _pending(ledger) < WINDOW)
            number = ledger.sent
            value = ledger.next_value(chance)
            send = producer.send(topic, value, partition=0)
            delivery = await network.call("send", send, limit_ms=DELIVERY_TIMEOUT_MS)
            if delivery is None:
                ledger.record_outcome(number, None)
            else:
                _record(delivery, number, network=network, ledger=ledger)
        await network.call("flush", producer.flush(), limit_ms=DELIVERY_TIMEOUT_MS)
        faults.end()
        await network.call("close", producer.close(), limit_ms=DELIVERY_TIMEOUT_MS)
    report = network.report
    found = await read_all(target, topic)
    report.findings += ledger.compare(found)
    report.done["acknowledged"] = len(ledger.acknowledged)
    report.done["given up"] = len(ledger.given_up)
    if _pending(ledger):
        report.findings.append(f"{_pending(ledger)} records have no outcome")
    return report


def _pending(ledger: Ledger) -> int:
    return ledger.sent - len(ledger.acknowledged) - len(ledger.given_up)


async def _warm_up(producer: Producer[bytes, bytes], topic: str) -> None:
    """Let the broker create its state: Kafka's first answers take longer."""
    delivery = await producer.send(topic, None, partition=0)
    await until(delivery.done)


def _record(delivery: Delivery, number: int, *, network: Network, ledger: Ledger) -> None:
    """Record the outcome of a delivery; some of the callbacks raise an error afterwards."""
    sent_ms = network.clock.monotonic_ms()

    def record(done: Delivery) -> None:
        took_ms = network.clock.monotonic_ms() - sent_ms
        network.report.add_call("delivery", took_ms, DELIVERY_TIMEOUT_MS)
        offset = None if done.exception() else done.result().offset
        ledger.record_outcome(number, UNKNOWN_OFFSET if offset == -1 else offset)
        if number % RAISING == 0:
            raise ValueError("an error of a callback")

    delivery.add_done_callback(record)


async def consume(target: str, topic: str, *, seed: int) -> Report:
    """Read a topic through the hostile network, and compare with a read without it."""
    expected = await read_all(target, topic)
    async with network_to(target) as network, _consumer(network, fetched=1_000) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek_to_beginning()
        with network.proxy.faults.at_random(RATES, seed=seed):
            found = await _polled(network, consumer, expected[-1].offset)
    if found != expected:
        network.report.findings.append(f"{len(found)} of {len(expected)} records, or another order")
    return network.report


async def damage(target: str, topic: str, *, bits: Iterable[int]) -> Report:
    """Turn bits of a batch header in fetch responses, one at a time."""
    expected = await read_all(target, topic)
    middle = len(expected) // 2
    wanted = expected[middle : middle + 15]
    async with network_to(target) as network, _consumer(network) as consumer:
        consumer.assign([(topic, 0)])
        for bit in bits:
            turned = TurnedBit(bit, wanted[0].offset)
            with network.proxy.faults.on("Fetch", times=None).rewrite(turned.change):
                consumer.seek((topic, 0), wanted[0].offset)
                found = await _polled(network, consumer, wanted[-1].offset)
            network.report.done["turned bits"] += turned.is_done
            if found[: len(wanted)] != wanted:
                network.report.findings.append(f"records are missing after bit {bit} was turned")
    return network.report


class TurnedBit:
    """Turns one bit of the second batch in a response to a fetch from an offset, once."""

    def __init__(self, bit: int, offset: int) -> None:
        self.is_done = False
        self._bit = bit
        self._offset = offset

    def change(self, response: Response) -> None:
        fetched = cast("FetchResponse", response)
        for part in (each for topic in fetched.responses for each in topic.partitions):
            data = bytearray(cast("bytes", part.records or b""))
            found = list(islice(batches(bytes(data)), 2))
            is_wanted = len(found) == 2 and found[0].next_offset > self._offset
            if not self.is_done and is_wanted and found[0].base_offset <= self._offset:
                data[found[0].end + self._bit // 8] ^= 1 << self._bit % 8
                part.records = bytes(data)
                self.is_done = True


async def call(target: str, topic: str, *, rounds: int, seed: int) -> Report:
    """Make the calls of an admin client and a consumer while most of the network hangs."""
    async with (
        network_to(target) as network,
        Admin(network.proxy.bootstrap, runtime=network.runtime, **OPTIONS) as admin,
        _consumer(network) as consumer,
    ):
        consumer.assign([(topic, 0)])
        calls: dict[str, Callable[[], Coroutine[object, object, object]]] = {
            "list_topics": admin.list_topics,
            "describe_topics": partial(admin.describe_topics, [topic]),
            "describe_configs": partial(admin.describe_configs, ("topic", topic)),
            "describe_cluster": admin.describe_cluster,
            "end_offsets": partial(consumer.end_offsets, [(topic, 0)]),
            "position": partial(consumer.position, (topic, 0)),
            "poll": partial(consumer.poll, CALL_LIMIT_MS),
        }
        with network.proxy.faults.at_random(SILENCE, seed=seed):
            for name, made in rounds * tuple(calls.items()):
                await network.call(name, made())
    return network.report


async def read_all(target: str, topic: str) -> list[Found]:
    """Return all records with a number, read without the proxy."""
    found: list[Found] = []
    async with Consumer[bytes, bytes](target) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek_to_beginning()
        (end,) = (await consumer.end_offsets([(topic, 0)])).values()
        while await consumer.position((topic, 0)) < end:
            found += [_found(each.offset, each.value) for each in await consumer.poll()]
    return [each for each in found if each.number >= 0]


async def _polled(network: Network, consumer: Consumer[bytes, bytes], last: int) -> list[Found]:
    """Poll up to an offset, or until nothing comes within many limits."""
    found: list[Found] = []
    empty = 0
    while empty < 30 and not (found and found[-1].offset >= last):
        records = await network.call("poll", consumer.poll(CALL_LIMIT_MS)) or []
        empty = 0 if records else empty + 1
        found += [_found(each.offset, each.value) for each in records]
    return [each for each in found if each.number >= 0]


def _found(offset: int, value: bytes | None) -> Found:
    return Found(offset, -1 if value is None else int.from_bytes(value[:NUMBER_LENGTH], "big"))


def _consumer(network: Network, *, fetched: int = 8_000) -> Consumer[bytes, bytes]:
    return Consumer(
        network.proxy.bootstrap,
        runtime=network.runtime,
        max_partition_fetch_bytes=fetched,
        fetch_max_wait_ms=10,
        max_poll_records=10,
        **OPTIONS,
    )
