"""Fake broker that also coordinates the group of one member, classic or with KIP-848.

The member gets all partitions of the topics that it subscribes. A test may script other answers.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from cordwood.client.consumer.consumer import Consumer
from cordwood.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from cordwood.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from cordwood.protocol.schema import Request, Response
from tests.unit.client.fake_broker import NODE, FakeBroker, listening

MEMBER = "member-1"


class FakeCoordinator(FakeBroker):
    """One broker with the group `g`; `committed` has its offsets."""

    def __init__(self, topics: dict[str, int]) -> None:
        super().__init__(topics)
        self.committed: dict[tuple[str, int], tuple[int, str | None]] = {}
        self.generation = 0

    async def _made(self, request: Request) -> Response | None:
        makers: dict[type[Request], Callable[..., Response]] = {
            FindCoordinatorRequest: self.found,
            JoinGroupRequest: self.joined,
            SyncGroupRequest: self._synced,
            HeartbeatRequest: lambda _: HeartbeatResponse(error_code=0),
            LeaveGroupRequest: lambda _: LeaveGroupResponse(error_code=0),
            ConsumerGroupHeartbeatRequest: self.beaten,
            OffsetCommitRequest: self.commit,
            OffsetFetchRequest: self.fetch_offsets,
        }
        maker = makers.get(type(request))
        return maker(request) if maker else await super()._made(request)

    def found(self, request: FindCoordinatorRequest, error_code: int = 0) -> Response:
        host, port = self.address.split(":")
        key = request.coordinator_keys[0]
        coordinator = Coordinator(
            key=key,
            node_id=NODE,
            host=host,
            port=int(port),
            error_code=error_code,
            error_message=None,
        )
        return FindCoordinatorResponse(coordinators=[coordinator])

    def joined(self, request: JoinGroupRequest) -> Response:
        self.generation += 1
        first = request.protocols[0]
        member = JoinGroupResponseMember(member_id=MEMBER, metadata=bytes(first.metadata))
        return JoinGroupResponse(
            error_code=0,
            generation_id=self.generation,
            protocol_name=first.name,
            leader=MEMBER,
            member_id=MEMBER,
            members=[member],
        )

    def _synced(self, request: SyncGroupRequest) -> Response:
        return SyncGroupResponse(error_code=0, assignment=bytes(request.assignments[0].assignment))

    def beaten(self, request: ConsumerGroupHeartbeatRequest) -> Response:
        names = request.subscribed_topic_names
        target = [
            TopicPartitions(topic_id=self._id(name), partitions=list(range(self.topics[name])))
            for name in names or ()
        ]
        return ConsumerGroupHeartbeatResponse(
            error_code=0,
            member_id=request.member_id,
            member_epoch=max(request.member_epoch, 1),
            heartbeat_interval_ms=50,
            assignment=Assignment(topic_partitions=target) if names else None,
        )

    def commit(self, request: OffsetCommitRequest, error_code: int = 0) -> Response:
        results = []
        for topic in request.topics:
            name = self._name(topic.name, topic.topic_id)
            for each in topic.partitions:
                if not error_code:
                    place = (each.committed_offset, each.committed_metadata)
                    self.committed[name, each.partition_index] = place
            partitions = [
                OffsetCommitResponsePartition(
                    partition_index=each.partition_index, error_code=error_code
                )
                for each in topic.partitions
            ]
            results.append(
                OffsetCommitResponseTopic(name=name, topic_id=topic.topic_id, partitions=partitions)
            )
        return OffsetCommitResponse(topics=results)

    def fetch_offsets(self, request: OffsetFetchRequest, error_code: int = 0) -> Response:
        (group,) = request.groups
        topics = []
        for topic in group.topics or ():
            name = self._name(topic.name, topic.topic_id)
            partitions = []
            for each in topic.partition_indexes:
                offset, metadata = self.committed.get((name, each), (-1, ""))
                partitions.append(
                    OffsetFetchResponsePartition(
                        partition_index=each,
                        committed_offset=offset,
                        metadata=metadata,
                        error_code=0,
                    )
                )
            topics.append(
                OffsetFetchResponseTopic(name=name, topic_id=topic.topic_id, partitions=partitions)
            )
        answered = OffsetFetchResponseGroup(
            group_id=group.group_id, topics=topics, error_code=error_code
        )
        return OffsetFetchResponse(groups=[answered])


@asynccontextmanager
async def coordinator(**topics: int) -> AsyncIterator[FakeCoordinator]:
    """Yield a coordinator with topics of these partition counts; clean up afterwards."""
    fake = FakeCoordinator(topics)
    async with listening(fake):
        yield fake


def member(fake: FakeCoordinator, **options: object) -> Consumer[bytes, bytes]:
    """Return a consumer with the group `g`, which commits on request alone."""
    quick: dict[str, object] = {
        "group": "g",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "fetch_max_wait_ms": 5,
        "heartbeat_interval_ms": 20,
        "retry_backoff_ms": 1,
    }
    return Consumer(fake.address, **{**quick, **options})  # type: ignore[arg-type]  # by name


async def until(fake: FakeCoordinator, is_done: Callable[[], bool]) -> None:
    """Return when a request has made the condition true."""
    while not is_done():
        await fake.next_request()
