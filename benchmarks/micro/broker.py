"""What does a broker's work on a request cost, from its body to the chunks of its answer?

    python -m benchmarks.micro.broker

Everything but the socket: decoding, the handler, the log in the page cache, encoding. Processor
time of a request, on one partition unless the name states another number. The peer of a produce is
writing the same records to a plain file. A fetch does not read its records: the kernel sends them.
Fetches of a session in which nothing happens are what idle consumers cost. To compare two commits,
compare their values in turns on one machine, or their ratios.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from benchmarks.cpu_time import cpu_seconds
from benchmarks.figure import Figure
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.dispatch import Dispatch
from cordwood.broker.loop_turns import TurnQueue
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage, PartitionImage
from cordwood.broker.metadata.replica_changes import ReplicaChange, ReplicaChangeKind
from cordwood.broker.network.request_context import ConnectionInfo, RequestContext
from cordwood.broker.partitions.fetch_sessions import FetchSessionCache
from cordwood.broker.partitions.fetch_wakes import FetchWakes
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.partitions.partition_leader import PartitionResources
from cordwood.core.binary import Buffer
from cordwood.core.ports import Clock, LoopPorts, Scheduler
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.observability.metrics import Metrics
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from cordwood.protocol.primitives import Chunk
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.kernels import inspector
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from cordwood.storage.manager.log_directories import DirectoryOwner, open_directories
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager, ManagerOptions, ManagerSettings
from cordwood.storage.manager.log_startup import load_logs
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from cordwood.broker.services import BrokerServices

TOPIC: Final = "bench"
TOPIC_ID: Final = Uuid(b"a topic of bench")
PRODUCE: Final = (0, 13)
FETCH: Final = (1, 18)
KILOBYTE: Final = 1024
MEGABYTE: Final = 1024 * 1024
SLICES: Final = 5
_BYTES_A_CALL: Final = 100_000
_EPOCH: Final = 0


class _Parts(NamedTuple):
    """The parts of a broker that produce and fetch use."""

    clock: Clock
    scheduler: Scheduler
    configs: BrokerConfigs
    partitions: HostedPartitions
    sessions: FetchSessionCache
    metadata: MetadataCache
    logs: LogManager
    turns: TurnQueue
    controller: None = None


class _Bench(NamedTuple):
    """A broker's parts over real files in a folder that goes afterwards."""

    folder: str
    partitions: HostedPartitions
    dispatch: Dispatch
    context: RequestContext

    def ask(self, api: tuple[int, int], body: bytes | bytearray) -> list[Chunk]:
        """Answer one request, which may take several turns of a loop, but waits for nothing."""
        context = self.context._replace(api_key=api[0], api_version=api[1])
        request = self.dispatch.handle(context, memoryview(body)).__await__()
        try:
            # The begin of another turn yields None, a wait yields a future.
            while request.send(None) is None:
                pass
        except StopIteration as answered:
            return cast("list[Chunk]", answered.value)
        raise AssertionError("the request waits")


def figures(size: int = 256 * MEGABYTE) -> list[Figure]:
    """Measure every request, as many times as would move `size` bytes."""
    calls = max(2, size // _BYTES_A_CALL // SLICES)
    return [
        _produce("produce of 1 KB", KILOBYTE, calls),
        _produce("produce of 16 KB", 16 * KILOBYTE, calls),
        _fetch("fetch of 1 KB", KILOBYTE, calls),
        _fetch("fetch of 1 MB", MEGABYTE, calls),
        _idle("fetch of an idle session, 1 partition", 1, calls),
        _idle("fetch of an idle session, 100 partitions", 100, max(2, calls // 10)),
    ]


def _produce(name: str, size: int, calls: int) -> Figure:
    """Return the time of a produce request, with a plain write of its records as the peer."""
    records = _batch(size)
    body = joined(encode(_produce_request(records), PRODUCE[1]))
    with _bench(1) as bench, Path(f"{bench.folder}/plain").open("wb", buffering=0) as plain:
        ours, theirs = [], []
        for _ in range(SLICES):
            ours.append(cpu_seconds(lambda: bench.ask(PRODUCE, bytearray(body)), calls))
            theirs.append(cpu_seconds(lambda: plain.write(records), calls))
    return _figure(name, min(ours), "write to a plain file", min(theirs), calls=calls)


def _fetch(name: str, size: int, calls: int) -> Figure:
    """Return the time of a fetch that finds `size` bytes, without sending them."""
    records = _batch(min(size, 16 * KILOBYTE))
    count = max(1, size // len(records))
    with _bench(1) as bench:
        partition = bench.partitions.get(TOPIC, 0)
        firsts = [
            partition.append(memoryview(bytearray(records))).result().result.first_offset
            for _ in range(3 * count)
        ]
        request = _fetch_request([firsts[count]], max_bytes=size)
        body = joined(encode(request, FETCH[1]))

        def ask() -> None:
            for chunk in bench.ask(FETCH, body):
                if not isinstance(chunk, Buffer):
                    chunk.release()

        seconds = min(cpu_seconds(ask, calls) for _ in range(SLICES))
    return Figure(name=name, value=seconds / calls * 1e6, unit="us")


def _idle(name: str, partitions: int, calls: int) -> Figure:
    """Return the time of a fetch of a session in which nothing has happened."""
    with _bench(partitions) as bench:
        opened = joined(bench.ask(FETCH, _first_of_session(partitions)))
        session_id = decode(FetchResponse, opened, FETCH[1]).session_id
        bodies = iter(
            [_next_of_session(session_id, epoch) for epoch in range(1, SLICES * calls + 1)]
        )
        seconds = min(
            cpu_seconds(lambda: bench.ask(FETCH, next(bodies)), calls) for _ in range(SLICES)
        )
    return Figure(name=name, value=seconds / calls * 1e6, unit="us")


def _first_of_session(partitions: int) -> bytes:
    return joined(encode(_fetch_request([0] * partitions, session=(0, 0)), FETCH[1]))


def _next_of_session(session_id: int, epoch: int) -> bytes:
    return joined(encode(_fetch_request([], session=(session_id, epoch)), FETCH[1]))


def _figure(name: str, ours: float, peer: str, theirs: float, *, calls: int) -> Figure:
    return Figure(
        name=name,
        value=ours / calls * 1e6,
        unit="us",
        peer=peer,
        peer_value=theirs / calls * 1e6,
        ratio=theirs / ours,
    )


def _produce_request(records: bytes) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=records)]
    topics = [TopicProduceData(topic_id=TOPIC_ID, partitions=data)]
    return ProduceRequest(acks=-1, timeout_ms=30_000, topics=topics)


def _fetch_request(
    offsets: list[int], *, max_bytes: int = MEGABYTE, session: tuple[int, int] = (0, -1)
) -> FetchRequest:
    partitions = [
        FetchPartition(partition=index, fetch_offset=each, partition_max_bytes=max_bytes)
        for index, each in enumerate(offsets)
    ]
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=partitions)] if offsets else [],
    )


def _batch(size: int) -> bytes:
    """Return a batch of about `size` bytes in records of 100."""
    builder = BatchBuilder(BatchFields())
    while builder.count == 0 or builder.uncompressed_size + 130 < size:
        builder.append(b"key-%08d" % builder.count, bytes(88), timestamp=SystemClock().now_ms())
    return bytes(builder.build())


@contextmanager
def _bench(partitions: int) -> Iterator[_Bench]:
    """Make a broker with one topic."""
    with tempfile.TemporaryDirectory() as folder:
        manager = _manager(folder)
        for index in range(partitions):
            name = TopicPartition(TopicName(TOPIC), PartitionId(index))
            log_creation.create(manager, name, topic_id=TOPIC_ID, is_new=True)
        reader = inspector()
        clock = VirtualClock()
        resources = PartitionResources(
            node_id=1,
            manager=manager,
            flusher=LogFlusher(manager),
            inspector=lambda: reader,
            clock=clock,
            scheduler=clock,
            wakes=FetchWakes(manager.options.call_soon),
        )
        hosted = HostedPartitions(resources)
        state = PartitionImage((1,), (1,), 1, _EPOCH)
        for index in range(partitions):
            hosted.apply(ReplicaChange(ReplicaChangeKind.HOST, TOPIC, TOPIC_ID, index, state))
        parts = _Parts(
            clock,
            clock,
            BrokerConfigs(1, []),
            hosted,
            FetchSessionCache(SystemRandom(), 10),
            MetadataCache(ClusterImage(cluster_id="bench", controller_id=1, brokers={})),
            manager,
            TurnQueue(clock, call_soon=lambda call: call()),
        )
        connection = ConnectionInfo(id=1, host="::1", port=1, listener="PLAINTEXT", is_secure=False)
        context = RequestContext(0, 0, 1, "bench", connection)
        yield _Bench(folder, hosted, Dispatch(cast("BrokerServices", parts), Metrics()), context)
        manager.close()


def _manager(folder: str) -> LogManager:
    files, clock = SystemFiles(), SystemClock()
    owner = DirectoryOwner(cluster_id="bench", node_id=1, random=SystemRandom(), on_event=_ignore)
    ports = LoopPorts(
        files=files,
        clock=clock,
        random=SystemRandom(),
        scheduler=VirtualClock(),
        worker=InlineWorker(),
    )
    options = ManagerOptions(
        open_files=OpenFileCache(files, 1000),
        call_soon=lambda call: call(),
        on_event=_ignore,
    )
    settings = ManagerSettings(config_for=lambda _: LogConfig())
    manager = LogManager(
        open_directories(files, [f"{folder}/logs"], owner=owner), ports, settings, options
    )
    load_logs(manager)
    return manager


def _ignore(_: str) -> None:
    """Ignore an event."""


if __name__ == "__main__":
    for figure in figures():
        print(figure)
