"""Fake broker for tests: it leads every partition and keeps appended batches in memory.

A test may script its responses. All requests are recorded in `asked`.
"""

import asyncio
import struct
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Final, TypeAlias, TypeVar, cast

from cordwood.client.loop_thread import LoopThread
from cordwood.core.binary import Buffer
from cordwood.core.uuids import Uuid
from cordwood.protocol.apis import API_VERSIONS, APIS, Api, api_of
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.header import ResponseHeader, append_response_header, read_request_header
from cordwood.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from cordwood.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from cordwood.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from cordwood.protocol.schema import Request, Response
from cordwood.records.record_batch import RecordBatch

Q = TypeVar("Q", bound=Request)
T = TypeVar("T")
Answer: TypeAlias = Callable[[Request], Response | None]

NODE = 1
UNKNOWN_TOPIC = 3
FENCED_LEADER_EPOCH = 74
UNKNOWN_LEADER_EPOCH = 75
UNKNOWN_TOPIC_ID = 100


#: A broker closes the connection of a larger frame, as `socket.request.max.bytes` states.
MOST_BYTES: Final = 100 << 20


class Hangup(Exception):  # noqa: N818 - a signal of a script, not an error
    """Raised by a script to close the connection without a response."""


def topic_id(name: str) -> Uuid:
    return Uuid(name.encode().ljust(16, b"."))


def partition_answer(index: int = 0, *, error_code: int = 0, **more: object) -> Response:
    """Return a produce response of the leader of one partition of topic t."""
    response = PartitionProduceResponse(index=index, error_code=error_code, base_offset=-1, **more)  # type: ignore[arg-type]  # by name
    topic = TopicProduceResponse(name="t", topic_id=topic_id("t"), partitions=[response])
    return ProduceResponse(responses=[topic])


class FakeBroker:
    """One broker."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.topics = topics
        self.leader = NODE
        self.leader_epoch = 0
        self.asked: list[Request] = []
        self.logs: dict[tuple[str, int], list[bytes]] = defaultdict(list)
        self.ends: dict[tuple[str, int], int] = defaultdict(int)
        self.address = ""
        self._ids: dict[str, Uuid] = {}
        self._sequences: dict[tuple[str, int, int, int], int] = defaultdict(int)
        self._scripts: dict[type[Request], deque[Answer]] = defaultdict(deque)
        self._arrivals: list[asyncio.Future[Request]] = []

    def script(self, kind: type[Q], *answers: Callable[[Q], Response | None]) -> None:
        """Answer the next requests of a class with these functions."""
        self._scripts[kind].extend(cast("tuple[Answer, ...]", answers))

    def requests(self, kind: type[Q]) -> list[Q]:
        return [each for each in self.asked if isinstance(each, kind)]

    async def next_request(self) -> Request:
        """Wait for a request."""
        self._arrivals.append(asyncio.get_running_loop().create_future())
        return await self._arrivals[-1]

    def append(self, topic: str, data: bytes | bytearray, partition: int = 0) -> int:
        """Append a batch to a log and return its first offset."""
        end = self.ends[topic, partition]
        batch = RecordBatch(bytearray(data))
        batch.set_base_offset(end)
        batch.set_partition_leader_epoch(self.leader_epoch)
        self.logs[topic, partition].append(bytes(batch.data))
        self.ends[topic, partition] = batch.next_offset
        return end

    def truncate(self, topic: str, end: int, partition: int = 0) -> None:
        """Lose the batches from an offset on."""
        key = (topic, partition)
        self.logs[key] = [each for each in self.logs[key] if RecordBatch(each).base_offset < end]
        self.ends[key] = end

    def recreate(self, topic: str) -> None:
        """Delete a topic, and create it again: with another id, and from leader epoch 0 on."""
        self._ids[topic] = Uuid(topic.encode().ljust(16, b"'"))
        self.leader_epoch = 0
        for number in range(self.topics[topic]):
            self.truncate(topic, 0, number)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                if size > MOST_BYTES:  # such as the first bytes of a TLS handshake
                    break
                frame = await reader.readexactly(size)
                answer = await self._answer(memoryview(frame))
                if answer is not None:
                    writer.write(struct.pack(">i", len(answer)) + answer)
        except (asyncio.IncompleteReadError, ConnectionError, Hangup):
            pass
        writer.close()

    async def _answer(self, frame: memoryview) -> bytes | None:
        header, at = read_request_header(frame)
        api, version = api_of(header.request_api_key), header.request_api_version
        request = decode(api.request(), frame[at:], version)
        self.asked.append(request)
        while self._arrivals:
            self._arrivals.pop().set_result(request)
        scripted = self._scripts[type(request)]
        made = scripted.popleft()(request) if scripted else await self._made(request)
        if made is None:
            return None
        out = bytearray()
        response = ResponseHeader(correlation_id=header.correlation_id)
        append_response_header(out, response, api=api, version=version)
        return bytes(out) + joined(encode(made, _version_of(made, api, version)))

    async def _made(self, request: Request) -> Response | None:
        if isinstance(request, FetchRequest):
            return await self._fetched(request)
        makers: dict[type[Request], Callable[..., Response | None]] = {
            ApiVersionsRequest: lambda _: versions(),
            MetadataRequest: self.metadata,
            InitProducerIdRequest: lambda _: InitProducerIdResponse(
                error_code=0, producer_id=7, producer_epoch=0
            ),
            ProduceRequest: self._produced,
            ListOffsetsRequest: self.listed,
            OffsetForLeaderEpochRequest: self.ended,
        }
        return makers[type(request)](request)

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        names = list(self.topics)
        if request.topics is not None:
            names = [self._name(each.name or "", each.topic_id) for each in request.topics]
        host, port = self.address.split(":")
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=NODE, host=host, port=int(port))],
            cluster_id="fake",
            controller_id=NODE,
            topics=[self._topic(name) for name in names],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        partitions = [
            MetadataResponsePartition(
                error_code=0,
                partition_index=each,
                leader_id=self.leader,
                leader_epoch=self.leader_epoch,
                replica_nodes=[NODE],
                isr_nodes=[NODE],
            )
            for each in range(self.topics.get(name, 0))
        ]
        code = 0 if name in self.topics else UNKNOWN_TOPIC
        return MetadataResponseTopic(
            error_code=code, name=name, topic_id=self._id(name), partitions=partitions
        )

    def _id(self, name: str) -> Uuid:
        return self._ids.get(name, topic_id(name))

    def _name(self, name: str, identity: Uuid) -> str:
        return name or next((each for each in self.topics if self._id(each) == identity), "")

    def _epoch_error(self, epoch: int) -> int:
        if epoch in {-1, self.leader_epoch}:
            return 0
        return UNKNOWN_LEADER_EPOCH if epoch > self.leader_epoch else FENCED_LEADER_EPOCH

    def _produced(self, request: ProduceRequest) -> Response | None:
        responses = []
        for topic in request.topics:
            name = self._name(topic.name, topic.topic_id)
            response = [self._produce(name, each) for each in topic.partitions]
            responses.append(
                TopicProduceResponse(name=name, topic_id=topic.topic_id, partitions=response)
            )
        return ProduceResponse(responses=responses) if request.acks else None

    def _produce(self, name: str, data: PartitionProduceData) -> PartitionProduceResponse:
        assert isinstance(data.records, Buffer), "what was read is a view"
        if not self._follows(RecordBatch(data.records), (name, data.index)):
            return PartitionProduceResponse(index=data.index, error_code=45, base_offset=-1)
        offset = self.append(name, bytes(data.records), data.index)
        return PartitionProduceResponse(index=data.index, error_code=0, base_offset=offset)

    def _follows(self, batch: RecordBatch, partition: tuple[str, int]) -> bool:
        """Return whether a batch is the next one of its producer, as a leader checks it."""
        key = (*partition, batch.producer_id, batch.producer_epoch)
        if batch.has_producer_id and batch.base_sequence != self._sequences[key]:
            return False
        self._sequences[key] = batch.last_sequence + 1
        return True

    async def _fetched(self, request: FetchRequest) -> FetchResponse:
        topics = []
        for topic in request.topics:
            name = self._name(topic.topic, topic.topic_id)
            response = [self._read(name, each) for each in topic.partitions]
            topics.append(
                FetchableTopicResponse(topic=name, topic_id=topic.topic_id, partitions=response)
            )
        if not any(
            each.records or each.error_code for topic in topics for each in topic.partitions
        ):
            loop = asyncio.get_running_loop()
            waited = loop.create_future()
            loop.call_later(request.max_wait_ms / 1000, waited.set_result, None)
            await waited
        return FetchResponse(responses=topics)

    def _read(self, name: str, asked: FetchPartition) -> PartitionData:
        key = (name, asked.partition)
        error_code = self._epoch_error(asked.current_leader_epoch)
        if not name or error_code:
            return PartitionData(
                partition_index=asked.partition,
                error_code=error_code if name else UNKNOWN_TOPIC_ID,
                high_watermark=-1,
                aborted_transactions=None,
                records=None,
            )
        found = b"".join(
            each for each in self.logs[key] if RecordBatch(each).next_offset > asked.fetch_offset
        )
        return PartitionData(
            partition_index=asked.partition,
            error_code=1 if asked.fetch_offset > self.ends[key] else 0,
            high_watermark=self.ends[key],
            aborted_transactions=None,
            records=found,
        )

    def listed(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=each.partition_index,
                            error_code=0,
                            offset=0
                            if each.timestamp == -2
                            else self.ends[topic.name, each.partition_index],
                            leader_epoch=self.leader_epoch,
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def ended(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[self._end(topic.topic, each) for each in topic.partitions],
                )
                for topic in request.topics
            ]
        )

    def _end(self, name: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        """Return the largest epoch of the log that is not above the one asked for, and its end."""
        key, wanted = (name, asked.partition), asked.leader_epoch
        batches = [RecordBatch(each) for each in self.logs[key]]
        epochs = {each.partition_leader_epoch: each.next_offset for each in batches}
        epochs[self.leader_epoch] = self.ends[key]
        found = max((each for each in epochs if each <= wanted), default=-1)
        is_known = wanted <= max(epochs) and found >= 0
        return EpochEndOffset(
            error_code=self._epoch_error(asked.current_leader_epoch),
            partition=asked.partition,
            leader_epoch=found if is_known else -1,
            end_offset=epochs[found] if is_known else -1,
        )


def versions(**only: tuple[int, int]) -> ApiVersionsResponse:
    """Return an ApiVersions response: all of our versions, or other ones for the named APIs."""
    ranges = {api.name: (api.first, api.last) for api in APIS.values()} | only
    return ApiVersionsResponse(
        error_code=0,
        api_keys=[
            ApiVersion(api_key=api.key, min_version=first, max_version=last)
            for api in APIS.values()
            for first, last in [ranges[api.name]]
        ],
    )


def _version_of(made: Response, api: Api, version: int) -> int:
    """Return the version of a response: 0 for a rejected ApiVersions request."""
    is_refusal = api is API_VERSIONS and getattr(made, "error_code", 0) == 35
    return 0 if is_refusal else version


@asynccontextmanager
async def broker(**topics: int) -> AsyncIterator[FakeBroker]:
    """Yield a broker with topics of these partition counts; clean up afterwards."""
    async with listening(FakeBroker(topics)) as fake:
        yield fake


@asynccontextmanager
async def listening(fake: FakeBroker) -> AsyncIterator[FakeBroker]:
    """Let a broker listen; clean up afterwards."""
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    fake.address = f"{host}:{port}"
    async with server:
        yield fake
    await _until_quiet()


async def _until_quiet() -> None:
    """Let connections detect that their peers are closed."""
    loop = asyncio.get_running_loop()
    while len(asyncio.all_tasks()) > 1:
        turn = loop.create_future()
        loop.call_later(0.001, partial(turn.set_result, None))
        await turn


def run(scene: Coroutine[object, object, T]) -> T:
    """Run a coroutine on its own loop."""
    return asyncio.run(scene)


@contextmanager
def served(**topics: int) -> Iterator[FakeBroker]:
    """Yield a broker on its own thread."""
    thread = LoopThread("broker")
    serving = broker(**topics)
    try:
        yield thread.run(serving.__aenter__())
    finally:
        thread.run(_closed(serving))
        thread.end(_nothing)


async def _closed(serving: object) -> None:
    await serving.__aexit__(None, None, None)  # type: ignore[attr-defined]  # a context manager


async def _nothing() -> None:
    pass
