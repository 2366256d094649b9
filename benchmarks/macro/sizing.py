"""How much memory does `cordwood serve` need for a connection, a partition, a session, a producer?

    python -m benchmarks.macro.sizing

Each figure is the growth of the resident memory of a broker, divided by the number of added items.
A connection has sent one request. A partition has an empty log. A fetch session has 10 partitions,
and a producer id one batch. `docs/operations.md` quotes the figures.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import sleep
from typing import Final, NamedTuple

import cordwood
from benchmarks.figure import Figure
from benchmarks.kafka.peers import Peer, ours
from benchmarks.results import keep
from benchmarks.stalls.wire import Wire, frame_of, produce, produce_frame
from cordwood.core.system import SystemClock
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from cordwood.records.batch_builder import BatchBuilder, BatchFields

#: The last version of Fetch whose headers are not flexible.
_FETCH_VERSION: Final = 11
_TOPIC: Final = "sized"
_SESSION_PARTITIONS: Final = 10
_KIB_A_MIB: Final = 1024
_SETTLED_S: Final = 2


class Size(NamedTuple):
    """How many of each are added."""

    connections: int
    partitions: int
    sessions: int
    producers: int


FULL: Final = Size(connections=2_000, partitions=2_000, sessions=900, producers=10_000)
SMALL: Final = Size(connections=20, partitions=20, sessions=5, producers=500)


def figures(size: int = 256 << 20) -> Iterator[Figure]:
    """Measure a broker; less than 16 MB means small numbers."""
    return measure(FULL if size >= 16 << 20 else SMALL)


def measure(size: Size) -> Iterator[Figure]:
    """Yield the resident memory of an idle broker, then that of each thing."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        broker = ours(Path(folder) / "ours")
        stack.callback(broker.end, is_killed=True)
        broker.start()
        _create(broker, _TOPIC, _SESSION_PARTITIONS)
        _add_producers(broker, 1)
        _wait_until_settled(broker)
        yield Figure(name="memory, idle broker", value=broker.resident_mib(), unit="MiB")
        # The first ones take the memory that the start has freed.
        _connect(broker, size.connections, stack)
        for name, count, add in (
            ("connection", size.connections, lambda: _connect(broker, size.connections, stack)),
            ("partition", size.partitions, lambda: _create(broker, "many", size.partitions)),
            ("fetch session of 10", size.sessions, lambda: _add_sessions(broker, size.sessions)),
            ("producer id", size.producers, lambda: _add_producers(broker, size.producers)),
        ):
            yield _figure(name, broker, count, add)


def _wait_until_settled(broker: Peer) -> None:
    """Wait until the memory does not grow."""
    before = 0.0
    while broker.resident_mib() - before > 1:
        before = broker.resident_mib()
        sleep(_SETTLED_S)


def _figure(name: str, broker: Peer, count: int, add: Callable[[], None]) -> Figure:
    before = broker.resident_mib()
    add()
    grown = max(0.0, broker.resident_mib() - before)
    return Figure(name=f"memory, {name}", value=grown * _KIB_A_MIB / count, unit="KiB")


def _connect(broker: Peer, count: int, stack: ExitStack) -> None:
    frame = frame_of(ApiVersionsRequest(), 0)
    for _ in range(count):
        stack.enter_context(closing(Wire(broker.port))).ask(frame)


def _create(broker: Peer, topic: str, partitions: int) -> None:
    with cordwood.Admin(broker.bootstrap) as admin:
        admin.create_topic(topic, partitions=partitions)


def _add_sessions(broker: Peer, count: int) -> None:
    partitions = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1)
        for index in range(_SESSION_PARTITIONS)
    ]
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        session_epoch=0,
        topics=[FetchTopic(topic=_TOPIC, partitions=partitions)],
    )
    frame = frame_of(request, _FETCH_VERSION)
    with closing(Wire(broker.port)) as wire:
        for _ in range(count):
            wire.ask(frame)


def _add_producers(broker: Peer, count: int) -> None:
    """Append a batch of each of `count` idempotent producers."""
    now_ms = SystemClock().now_ms()
    with closing(Wire(broker.port)) as wire:
        for number in range(count):
            fields = BatchFields(producer_id=number, producer_epoch=0, base_sequence=0)
            builder = BatchBuilder(fields)
            builder.append(None, b"x", timestamp=now_ms)
            produce(wire, produce_frame(_TOPIC, [1], bytes(builder.build())))


if __name__ == "__main__":
    keep(measure(SMALL if "--small" in sys.argv else FULL))
