"""What does a request cost before a handler sees it, and an answer until it can be sent?

    python -m benchmarks.micro.protocol

Messages that brokers live on, read from the same bytes and written from the same content as kio
(whose readers are Rust) and kafka-python do it, in turns, by process CPU time. A record set is not
copied by us, neither way, and is by both of them. Sizes are the same in every run: a larger
one repeats more. To compare two commits, compare their ratios.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from io import BytesIO
from typing import Final, NamedTuple

from benchmarks.cpu_time import cpu_seconds
from benchmarks.figure import Bound, Figure
from cordwood.core.uuids import Uuid
from cordwood.protocol.apis import Api, api_of
from cordwood.protocol.codec import encode, joined, reader, writer
from cordwood.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from cordwood.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from cordwood.protocol.schema import Message, Request

KILOBYTE: Final = 1024
MEGABYTE: Final = 1024 * 1024
SLICES: Final = 5
_BYTES_A_CALL: Final = 300_000

Call = Callable[[], object]


class Case(NamedTuple):
    """A message in one version, and at most how many microseconds to read or to write it."""

    name: str
    message: Message
    version: int
    read_us: float | None = None
    write_us: float | None = None


def figures(size: int = 256 * MEGABYTE) -> list[Figure]:
    """Measure every case next to both peers; the calls are as many as would move `size` bytes."""
    calls = max(2, size // _BYTES_A_CALL // SLICES)
    return [figure for case in _cases() for figure in _measure(case, calls)]


def _cases() -> list[Case]:
    return [
        Case("ProduceRequest v9, 1 MB", _produce(MEGABYTE), 9, read_us=7.0),
        Case("ProduceRequest v9, 1 KB", _produce(KILOBYTE), 9, read_us=6.6),
        Case("FetchRequest v12, 10 x 10", _fetch(), 12, read_us=123),
        Case("MetadataResponse v12, 50 x 10", _metadata(), 12, read_us=1_198, write_us=1_387),
        Case("FetchResponse v12, 1 MB", _fetched(), 12, write_us=6.2),
    ]


def _produce(size: int) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=bytes(size))]
    topics = [TopicProduceData(name="topic-000", partitions=data)]
    return ProduceRequest(acks=-1, timeout_ms=30_000, topics=topics)


def _fetch() -> FetchRequest:
    partitions = [
        FetchPartition(partition=each, fetch_offset=1_000 * each, partition_max_bytes=MEGABYTE)
        for each in range(10)
    ]
    topics = [FetchTopic(topic=f"topic-{each:03}", partitions=partitions) for each in range(10)]
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=topics)


def _fetched() -> FetchResponse:
    data = PartitionData(
        partition_index=0,
        error_code=0,
        high_watermark=1_000,
        last_stable_offset=1_000,
        aborted_transactions=None,
        records=bytes(MEGABYTE),
    )
    return FetchResponse(responses=[FetchableTopicResponse(topic="topic-000", partitions=[data])])


def _metadata() -> MetadataResponse:
    brokers = [
        MetadataResponseBroker(node_id=each, host=f"broker-{each}.example.com", port=9092)
        for each in range(3)
    ]
    partitions = [
        MetadataResponsePartition(
            error_code=0,
            partition_index=each,
            leader_id=each % 3,
            leader_epoch=4,
            replica_nodes=[0, 1, 2],
            isr_nodes=[0, 1, 2],
        )
        for each in range(10)
    ]
    topics = [
        MetadataResponseTopic(
            error_code=0,
            name=f"topic-{each:03}",
            topic_id=Uuid(bytes(15) + bytes([each])),
            partitions=partitions,
        )
        for each in range(50)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="bench", controller_id=1, topics=topics)


def _measure(case: Case, calls: int) -> Iterator[Figure]:
    """Yield a figure for each peer and direction; the goal belongs to the faster peer."""
    data = joined(encode(case.message, case.version))
    view, kind = memoryview(data), type(case.message)
    read, write = reader(kind, case.version), writer(kind, case.version)
    for peer, make, has_goal in (("kio", _kio, True), ("kafka-python", _kafka_python, False)):
        peer_read, peer_write = make(case, data)
        sides = (
            ("read", case.read_us, lambda: read(view, 0), peer_read),
            ("write", case.write_us, lambda: write(case.message, bytearray()), peer_write),
        )
        for verb, most_us, ours, theirs in sides:
            if most_us is not None:
                ours_us, theirs_us = _microseconds(ours, theirs, calls)
                yield Figure(
                    name=f"{verb} {case.name} ({peer})",
                    value=ours_us,
                    unit="us",
                    peer=peer,
                    peer_value=theirs_us,
                    ratio=theirs_us / ours_us,
                    goal=most_us if has_goal else None,
                    bound=Bound.MOST,
                )


def _kio(case: Case, data: bytes) -> tuple[Call, Call]:
    """Return calls of kio that read `data`, and write what it has read."""
    index, serial = import_module("kio.index"), import_module("kio.serial")
    is_request = isinstance(case.message, Request)
    load = index.load_request_schema if is_request else index.load_response_schema
    entity = load(_api(case).key, case.version)
    read, write = serial.entity_reader(entity), serial.entity_writer(entity)
    message = read(data, 0)[0]
    return lambda: read(data, 0), lambda: write(BytesIO(), message)


def _kafka_python(case: Case, data: bytes) -> tuple[Call, Call]:
    """Return calls of kafka-python that read `data`, and write what it has read."""
    areas = {"Produce": "producer.produce", "Fetch": "consumer.fetch", "Metadata": "metadata"}
    module = import_module(f"kafka.protocol.{areas[_api(case).name]}")
    kind = getattr(module, type(case.message).__name__)
    message = kind.decode(data, version=case.version)
    message._header = None  # noqa: SLF001 - what it has read it cannot write otherwise
    return (
        lambda: kind.decode(data, version=case.version),
        lambda: message.encode(version=case.version),
    )


def _api(case: Case) -> Api:
    key = type(case.message).__schema__.api_key
    assert key is not None, "these cases are requests and answers"
    return api_of(key)


def _microseconds(ours: Call, theirs: Call, calls: int) -> tuple[float, float]:
    """Return the CPU time of a call of each side, the best slice of those run in turns."""
    slices = [(cpu_seconds(ours, calls), cpu_seconds(theirs, calls)) for _ in range(SLICES)]
    return tuple(min(side) / calls * 1e6 for side in zip(*slices, strict=True))


if __name__ == "__main__":
    for figure in figures():
        print(figure)
