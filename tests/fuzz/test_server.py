"""A server among clients that send random bytes, disconnect at any moment or stay silent.

One healthy client gets every response, and the right one; memory does not grow. The endings of the
connections are counted by kind, and a kind that never happened fails, since it would prove no
property.
"""

import asyncio
import logging
import os
import random
import resource
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cordwood.broker.dispatch import ROUTES, Dispatch
from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.core.system import LoopScheduler, SystemClock
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import api_of
from tests.fuzz.mutations import left_damaged
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.broker.server_samples import Peer, ServerHarness, request, serving

FRAMES = 1_000_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 20_000
IDLE = 1_000
AT_ONCE = 16
ALLOWED_GROWTH_KB = 100_000
SEED = 20

FLEXIBLE = b"\0\0\0\x12\0\x12\0\x03\0\0\0\x01\xff\xff\0\x02a\x02b\0"
SAMPLES = (
    request(1),
    FLEXIBLE,
    request(1) * 5,
    request(2, bytes(40_000)),
    struct.pack(">i", 5_000_000) + bytes(20_000),
)
RIGHT_ANSWER = struct.pack(">hi", 0, len(ROUTES)) + b"".join(
    struct.pack(">hhh", key, api_of(key).first, api_of(key).last) for key in sorted(ROUTES)
)


def resident_kb() -> int:
    """The memory of this process."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize() // 1024


class CountedEvents(logging.Handler):
    """Counts log lines and keeps none: a million of them would be most of the memory."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


@contextmanager
def counted_events() -> Iterator[CountedEvents]:
    """Count the package's log events, and hide them from other handlers."""
    logger, events = logging.getLogger("cordwood"), CountedEvents()
    logger.addHandler(events)
    logger.propagate = False
    try:
        yield events
    finally:
        logger.removeHandler(events)
        logger.propagate = True


async def work(peer: Peer, is_over: asyncio.Event) -> int:
    """Ask until it is over, and see that each answer is the one to what was asked."""
    answers = 0
    while not is_over.is_set():
        for number in range(5):
            peer.send(request(answers + number))
        for number in range(5):
            correlation_id, body = await peer.answer()
            assert correlation_id == answers + number
            assert body == RIGHT_ANSWER
        answers += 5
    return answers


async def attack(harness: ServerHarness, chance: random.Random, frames: int) -> None:
    """Send damaged frames, a few a connection, and leave in one of many ways."""
    while frames > 0:
        address = harness.addresses["PLAINTEXT"]
        peer = Peer(*await asyncio.open_connection(address.host, address.port))
        for _ in range(chance.randint(1, 5)):
            peer.send(bytes(left_damaged(chance, SAMPLES)))
            frames -= 1
        leaving = chance.random()
        if leaving < 0.3:
            peer.reset()
        elif leaving < 0.6:
            peer.writer.write_eof()
            await peer.end()
        await peer.close()


async def besieged(report: Callable[[str], None]) -> dict[str, float]:
    loop, clock, metrics = asyncio.get_running_loop(), SystemClock(), Metrics()
    scheduler = LoopScheduler(loop, clock)
    dispatch = Dispatch(replace(BrokerHarness().broker, clock=clock, scheduler=scheduler), metrics)
    settings = SocketServerSettings(request_max_bytes=10_000_000, queued_max_bytes=20_000_000)
    async with serving(dispatch.handle, settings) as harness:
        worker = await harness.connect()
        for _ in range(IDLE):
            await harness.connect()
        await harness.until_open(IDLE + 1)
        is_over = asyncio.Event()
        before_kb = resident_kb()
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work(worker, is_over))
            chances = [random.Random(SEED * AT_ONCE + number) for number in range(AT_ONCE)]
            await asyncio.gather(
                *(attack(harness, chance, FRAMES // AT_ONCE) for chance in chances)
            )
            is_over.set()
        await harness.until_open(IDLE + 1)
        grown_kb = resident_kb() - before_kb
        ends = {each: harness.ended(each) for each in ("close", "disconnect", "refusal", "failure")}
        report(
            f"server: {FRAMES} frames, {IDLE} idle beside {working.result()} right answers; "
            f"memory {before_kb} KB, {grown_kb} KB more; ends {ends}"
        )
        assert grown_kb < ALLOWED_GROWTH_KB
        return ends


def test_working_client_is_not_affected_by_invalid_input_of_others(
    report: Callable[[str], None],
) -> None:
    with counted_events() as events:
        ends = asyncio.run(besieged(report))

    # All clients have one address, and the clock stands still: one line for all of them.
    assert events.count == 1
    assert ends["refusal"] > 1
    assert ends.pop("failure") == 0
    assert all(ends.values()), ends
