"""Loads of a broker that tend to block its event loop, in a process of their own.

    python -m benchmarks.stalls.loads PORT TLS_PORT CERTIFICATE FULL LOAD...

Each load prepares its topics. Then `ready` is printed. A line on the standard input starts the
loads, each in a thread, and the next line ends them. The last line of output has the number of
steps of each load. The process has a low priority: a load must not take the processor from the
broker or from the bystander. After each step a load pauses for as long as the step took: a loop
that has always more to do than it can has no latency but the length of its queue.
"""

import os
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from itertools import count
from random import Random
from time import monotonic, sleep
from types import MappingProxyType
from typing import Final, NamedTuple

import cordwood
from benchmarks.stalls.coordination_loads import GroupLoad, TransactionLoad
from benchmarks.stalls.wire import Wire, answer, frame_of, produce, produce_frame
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from cordwood.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec

_FIRST_MS: Final = 1_700_000_000_000
_LIST_OFFSETS: Final = 5
_FETCH: Final = 8
_DESCRIBE: Final = 3
_METADATA: Final = 8
_NICE: Final = 10
_SEGMENT_BYTES: Final = "1048576"

Step = Callable[[], object]


class Site(NamedTuple):
    """The broker, and the size of the loads."""

    port: int
    tls_port: int
    certificate: str
    is_full: bool

    def wire(self) -> Wire:
        return Wire(self.port)

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        """Create a topic; the names of its configs have underscores for dots."""
        texts = {key.replace("_", "."): value for key, value in configs.items()}
        with cordwood.Admin(f"127.0.0.1:{self.port}") as admin:
            admin.create_topic(topic, partitions=partitions, configs=texts)


def batch(
    value_bytes: int, size: int, *, codec: Codec = Codec.NONE, keys: int = 0, seed: int = 1
) -> bytes:
    """Return a batch with `size` bytes of records, some of which have equal keys."""
    chance, builder = Random(seed), BatchBuilder(BatchFields(codec=codec))
    for offset in count():
        if builder.uncompressed_size >= size:
            return bytes(builder.build())
        key = b"%d" % chance.randrange(keys) if keys else None
        value = chance.randbytes(value_bytes // 2).hex().encode()
        builder.append(key, value, timestamp=_FIRST_MS + offset)
    raise AssertionError


def time_lookups(site: Site) -> Step:
    """ListOffsets by time of partitions with batches of 800 KB."""
    partitions = 20 if site.is_full else 4
    site.create("times", partitions)
    wire, records = site.wire(), batch(100, 800_000)
    for index in range(partitions):
        produce(wire, produce_frame("times", [index], records))
    frames = [_lookup_frame(partitions, ms) for ms in (6_000, 3_000, 10, 5_500)]
    turns = count()

    def step() -> None:
        frame = frames[next(turns) % len(frames)]
        found = answer(wire, frame, ListOffsetsResponse, _LIST_OFFSETS)
        assert {each.error_code for each in found.topics[0].partitions} == {0}

    return step


def _lookup_frame(partitions: int, ms: int) -> bytes:
    wanted = [
        ListOffsetsPartition(partition_index=index, timestamp=_FIRST_MS + ms)
        for index in range(partitions)
    ]
    topics = [ListOffsetsTopic(name="times", partitions=wanted)]
    return frame_of(ListOffsetsRequest(replica_id=-1, topics=topics), _LIST_OFFSETS)


def compressed(site: Site) -> Step:
    """Produce of 1 MB in zstd, and of tiny records in zstd."""
    site.create("compressed", 2)
    wire = site.wire()
    frames = [
        produce_frame("compressed", [0], batch(1_000, 1 << 20, codec=Codec.ZSTD)),
        produce_frame("compressed", [1], batch(2, 1 << 20, codec=Codec.ZSTD)),
    ]
    return _in_turns(wire, frames)


def recompressed(site: Site) -> Step:
    """Produce of 1 MB to a topic with another codec."""
    for name in ("gzip", "zstd"):
        site.create(f"to-{name}", compression_type=name)
    wire, records = site.wire(), batch(200, 1_000_000, codec=Codec.LZ4)
    frames = [produce_frame(f"to-{name}", [0], records) for name in ("gzip", "zstd")]
    return _in_turns(wire, frames)


def flushed(site: Site) -> Step:
    """Produce that waits for an fsync, to many partitions."""
    site.create("flushed", 20, flush_messages="1")
    return _in_turns(site.wire(), [produce_frame("flushed", range(20), batch(100, 1_000))])


def creation(site: Site) -> Step:
    """CreateTopics, 20 partitions at a time."""
    admin, names = cordwood.Admin(f"127.0.0.1:{site.port}"), count()
    return lambda: admin.create_topic(f"new-{next(names)}", partitions=20)


def deletion(site: Site) -> Step:
    """DeleteRecords and DeleteTopics of topics with 10 partitions."""
    topics = 20 if site.is_full else 2
    wire, records, admin = site.wire(), batch(100, 5_000), cordwood.Admin(f"127.0.0.1:{site.port}")
    for number in range(topics):
        site.create(f"old-{number}", 10)
        produce(wire, produce_frame(f"old-{number}", range(10), records))
    names = (f"old-{number}" for number in range(topics))

    def step() -> None:
        name = next(names, None)
        if name is None:
            raise StopIteration
        admin.delete_records({(name, index): 5 for index in range(10)})
        admin.delete_topic(name)

    return step


def retention(site: Site) -> Step:
    """Produce to a topic of which retention deletes most segments."""
    site.create("short", 4, retention_bytes="2097152", segment_bytes=_SEGMENT_BYTES)
    return _in_turns(site.wire(), [produce_frame("short", range(4), batch(1_000, 400_000))])


def cleaning(site: Site) -> Step:
    """Produce to a compacted topic that is always dirty."""
    site.create(
        "stock",
        cleanup_policy="compact",
        min_cleanable_dirty_ratio="0.01",
        segment_bytes=_SEGMENT_BYTES,
    )
    frames = [
        produce_frame("stock", [0], batch(100, 300_000, keys=1_000, seed=seed)) for seed in range(4)
    ]
    return _in_turns(site.wire(), frames)


def tls_consumers(site: Site) -> Step:
    """Fetch of 5 MB at a time over TLS."""
    site.create("read", 5)
    wire, records = site.wire(), batch(1_000, 1_000_000)
    produce_all = produce_frame("read", range(5), records)
    for _ in range(10 if site.is_full else 2):
        produce(wire, produce_all)
    wanted = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
        for index in range(5)
    ]
    topics = [FetchTopic(topic="read", partitions=wanted)]
    frame = frame_of(FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics), _FETCH)
    tls = ssl.create_default_context(cafile=site.certificate)
    reader = Wire(site.tls_port, tls)
    return lambda: reader.ask(frame)


def descriptions(site: Site) -> Step:
    """DescribeConfigs and Metadata of many topics."""
    names = [f"described-{number}" for number in range(100 if site.is_full else 5)]
    for name in names:
        site.create(name)
    topics = [
        DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
        for name in names
    ]
    frames = [
        frame_of(DescribeConfigsRequest(resources=topics, include_synonyms=True), _DESCRIBE),
        frame_of(
            MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names]), _METADATA
        ),
    ]
    wire, turns = site.wire(), count()
    return lambda: wire.ask(frames[next(turns) % len(frames)])


def groups(site: Site) -> Step:
    """ConsumerGroupHeartbeat of many members, a member that comes and goes, and commits."""
    return GroupLoad(site.port, members=200 if site.is_full else 20).step


def transactions(site: Site) -> Step:
    """Transactions of a producer, with the offsets of a group."""
    return TransactionLoad(site.port).step


LOADS: Final[Mapping[str, Callable[[Site], Step]]] = MappingProxyType(
    {
        "time lookups": time_lookups,
        "compressed produce": compressed,
        "recompressed produce": recompressed,
        "flushed produce": flushed,
        "topic creation": creation,
        "deletion": deletion,
        "retention": retention,
        "cleaning": cleaning,
        "TLS consumers": tls_consumers,
        "descriptions": descriptions,
        "groups": groups,
        "transactions": transactions,
    }
)


def _in_turns(wire: Wire, frames: list[bytes]) -> Step:
    turns = count()
    return lambda: produce(wire, frames[next(turns) % len(frames)])


def main(site: Site, names: list[str]) -> None:
    """Prepare the loads, run them until a line arrives, and print their steps."""
    os.nice(_NICE)
    steps = {name: LOADS[name](site) for name in names}
    print("ready", flush=True)
    sys.stdin.readline()
    done = dict.fromkeys(names, 0)

    def run(name: str) -> None:
        while True:
            began_s = monotonic()
            try:
                steps[name]()
            except StopIteration:
                return
            done[name] += 1
            sleep(monotonic() - began_s)

    for name in names:
        threading.Thread(target=run, args=(name,)).start()
    sys.stdin.readline()
    print(", ".join(f"{name} {number}" for name, number in done.items()), flush=True)
    os._exit(0)  # open clients and connections end with the process


if __name__ == "__main__":
    main(Site(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "True"), sys.argv[5:])
