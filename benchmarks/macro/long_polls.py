"""The cost of long polls: of a produce in vain, of a ping when they end, and of idle ones.

    python -m benchmarks.macro.long_polls [--kafka]

N connections send one Fetch each. In vain: `min_bytes` is not reached, and one record after the
other is produced; the figure is the median from the request to its response. Woken: `min_bytes` is
1, and one record ends all polls; the figure is the longest ping of another connection meanwhile,
each sent after the previous response. The machine's other work is in both.

Idle: fetch sessions of many partitions in which nothing happens, each of which polls again as soon
as it is answered; the figure is the processor time of the broker's process.

`--kafka` measures Kafka 4.3 in the same run, which Maven fetches.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Final, NamedTuple

import cordwood
from benchmarks.figure import Bound, Figure
from benchmarks.kafka.peers import KAFKA, Peer, kafka, ours
from benchmarks.results import keep
from benchmarks.stalls.wire import (
    PRODUCE_VERSION,
    Wire,
    answer,
    frame_of,
    produce,
    produce_frame,
)
from cordwood.core.system import SystemClock
from cordwood.protocol.codec import decode
from cordwood.protocol.messages.api_versions import ApiVersionsRequest
from cordwood.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from cordwood.protocol.messages.produce import ProduceResponse
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from tests.interop.kafka_harness.jars import fetch

#: The last version of Fetch whose headers are not flexible.
_FETCH_VERSION: Final = 11
_TOPIC: Final = "polled"
_IDLE_TOPIC: Final = "idle"
_WAIT_MS: Final = 60_000
_IDLE_WAIT_MS: Final = 500
_FIRST_POLLS: Final = 2
_MOST_BYTES: Final = 1 << 30
_PING_S: Final = 1.0


class Sessions(NamedTuple):
    """Idle fetch sessions: their number, the partitions of each, and the polls of each."""

    number: int
    partitions: int
    polls: int


class Size(NamedTuple):
    """The numbers of polls, with the bound of a produce in ms, and the number of produces."""

    polls: tuple[tuple[int, float], ...]
    produces: int
    sessions: Sessions


FULL: Final = Size(((0, 3), (1_000, 3), (5_000, 5)), 100, Sessions(200, 100, 20))
SMALL: Final = Size(((0, 3), (20, 3)), 5, Sessions(2, 10, 1))
_WOKEN_MOST_MS: Final = 50.0
#: Before every poll of an idle session read only what has changed, it was 58 % of a core.
_IDLE_MOST_PERCENT: Final = 15.0


def figures(size: int = 256 << 20) -> Iterator[Figure]:
    """Measure a broker alone; less than 16 MB means small numbers."""
    yield from measure(FULL if size >= 16 << 20 else SMALL)


def measure(size: Size, *, has_kafka: bool = False) -> Iterator[Figure]:
    """Yield a figure for each number of polls, with Kafka's as its peer if there is one."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        peers = [ours(folder / "ours")]
        if has_kafka:
            peers.append(kafka(fetch("kafka-4.3.0"), folder / "kafka"))
        for peer in peers:
            stack.callback(peer.end, is_killed=True)
            peer.start()
            with cordwood.Admin(peer.bootstrap) as admin:
                admin.create_topic(_TOPIC, partitions=1)
                admin.create_topic(_IDLE_TOPIC, partitions=size.sessions.partitions)
            _in_vain(peer, 0, size.produces)
        for polls, most_ms in size.polls:
            values = [_in_vain(peer, polls, size.produces) for peer in peers]
            yield _figure(f"produce, {polls:,} long polls in vain", values, most_ms)
        for polls, _ in size.polls[1:]:
            values = [_woken(peer, polls) for peer in peers]
            yield _figure(f"longest ping, {polls:,} long polls woken", values, _WOKEN_MOST_MS)
        values = [_idle(peer, size.sessions) for peer in peers]
        name = f"{size.sessions.number} idle sessions of {size.sessions.partitions} partitions"
        yield _figure(f"processor, {name}", values, _IDLE_MOST_PERCENT, unit="% of a core")


def _figure(name: str, values: list[float], most: float, *, unit: str = "ms") -> Figure:
    value, *others = values
    return Figure(
        name=name,
        value=value,
        unit=unit,
        peer=KAFKA if others else None,
        peer_value=others[0] if others else None,
        ratio=others[0] / value if others else None,
        goal=most,
        bound=Bound.MOST,
    )


def _in_vain(peer: Peer, polls: int, produces: int) -> float:
    """Return the median time of a produce in ms."""
    with _polling(peer, polls, min_bytes=_MOST_BYTES), closing(Wire(peer.port)) as wire:
        frame, took_s = _record(), list[float]()
        for _ in range(produces):
            began_s = monotonic()
            produce(wire, frame)
            took_s.append(monotonic() - began_s)
        return median(took_s) * 1e3


def _woken(peer: Peer, polls: int) -> float:
    """Return the longest ping in ms after a produce that ends all polls."""
    ping, longest_s = frame_of(ApiVersionsRequest(), 0), 0.0
    with (
        _polling(peer, polls, min_bytes=1),
        closing(Wire(peer.port)) as wire,
        closing(Wire(peer.port)) as producer,
    ):
        wire.ask(ping)
        end_s = monotonic() + _PING_S
        producer.send(_record())
        while (began_s := monotonic()) < end_s:
            wire.ask(ping)
            longest_s = max(longest_s, monotonic() - began_s)
    return longest_s * 1e3


def _idle(peer: Peer, sessions: Sessions) -> float:
    """Return the processor time of idle sessions, in percent of a core."""
    with ExitStack() as stack:
        wires = [stack.enter_context(closing(Wire(peer.port))) for _ in range(sessions.number)]
        full = _session_frame((0, 0), partitions=sessions.partitions)
        ids = [answer(each, full, FetchResponse, _FETCH_VERSION).session_id for each in wires]
        # Not measured: a partition of Kafka may have had no leader yet, and ours are read again.
        for epoch in range(1, _FIRST_POLLS + 1):
            _poll_all(wires, ids, epoch=epoch)
        began_s, used_s = monotonic(), peer.processor_seconds()
        for epoch in range(_FIRST_POLLS + 1, _FIRST_POLLS + sessions.polls + 1):
            if _poll_all(wires, ids, epoch=epoch):
                raise RuntimeError("a session is not idle")
        return peer.processor_seconds_since(used_s) / (monotonic() - began_s) * 100


def _poll_all(wires: Sequence[Wire], ids: Sequence[int], *, epoch: int) -> int:
    """Let every session wait once; return the number of responses that are not empty."""
    for wire, session_id in zip(wires, ids, strict=True):
        wire.send(_session_frame((session_id, epoch)))
    responses = [decode(FetchResponse, wire.receive(), _FETCH_VERSION) for wire in wires]
    return sum(bool(each.error_code or each.responses) for each in responses)


def _session_frame(session: tuple[int, int], *, partitions: int = 0) -> bytes:
    """Return a Fetch of a session, with the partitions that it adds."""
    added = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=_MOST_BYTES)
        for index in range(partitions)
    ]
    request = FetchRequest(
        max_wait_ms=_IDLE_WAIT_MS,
        min_bytes=1,
        max_bytes=_MOST_BYTES,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic=_IDLE_TOPIC, partitions=added)] if added else [],
    )
    return frame_of(request, _FETCH_VERSION)


@contextmanager
def _polling(peer: Peer, polls: int, *, min_bytes: int) -> Iterator[None]:
    """Keep connections, each of which has sent a Fetch from the log end."""
    with closing(Wire(peer.port)) as wire:
        response = answer(wire, _record(), ProduceResponse, PRODUCE_VERSION)
    end = response.responses[0].partitions[0].base_offset + 1
    request = FetchRequest(
        max_wait_ms=_WAIT_MS,
        min_bytes=min_bytes,
        max_bytes=_MOST_BYTES,
        session_epoch=-1,
        topics=[
            FetchTopic(
                topic=_TOPIC,
                partitions=[
                    FetchPartition(partition=0, fetch_offset=end, partition_max_bytes=_MOST_BYTES)
                ],
            )
        ],
    )
    frame = frame_of(request, _FETCH_VERSION)
    with ExitStack() as stack:
        for _ in range(polls):
            stack.enter_context(closing(Wire(peer.port))).send(frame)
        sleep(0.5 + polls / 2_000)
        yield


def _record() -> bytes:
    builder = BatchBuilder(BatchFields())
    builder.append(None, bytes(1_000), timestamp=SystemClock().now_ms())
    return produce_frame(_TOPIC, [0], bytes(builder.build()))


if __name__ == "__main__":
    keep(measure(FULL, has_kafka="--kafka" in sys.argv))
