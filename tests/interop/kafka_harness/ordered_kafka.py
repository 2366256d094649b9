"""A running Kafka 4.3 that processes the requests of all connections in the order of their sending.

It has one network thread and one request thread. A barrier consists of two requests of the control
connection, one after the other. The first one is read with all requests that were sent before it,
or after them. The second one is processed after them. So all of them have reached the coordinator
when it is answered. The coordinator processes the requests of a partition one at a time.

No two topics have ids in the same bucket of a Java hash map: their order would be that of their
insertion, and Kafka's assignors depend on it.
"""

import struct
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final, TypeVar

from cordwood.coordination.topic_view import TopicFacts
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from cordwood.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataResponse
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from cordwood.protocol.schema import Request, Response
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.group_log import GroupLog
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.wire import Connection

#: The members that a group of either protocol can have.
MAX_SIZE: Final = 6
SHORTEST_SESSION_MS: Final = 100
SHORTEST_HEARTBEAT_MS: Final = 50
SETTINGS: Final = f"""
num.io.threads=1
num.network.threads=1
connections.max.idle.ms=86400000
group.max.size={MAX_SIZE}
group.consumer.max.size={MAX_SIZE}
group.consumer.assignment.interval.ms=0
group.coordinator.append.linger.ms=0
group.min.session.timeout.ms={SHORTEST_SESSION_MS}
group.consumer.min.session.timeout.ms={SHORTEST_SESSION_MS}
group.consumer.min.heartbeat.interval.ms={SHORTEST_HEARTBEAT_MS}
"""
COUNTS: Final = {"groups-foo": 6, "groups-bar": 3, "groups-qux": 1}

R = TypeVar("R", bound=Response)

_LANES: Final = 12
_NO_GROUP: Final = "no-group"
_OF_TRANSACTIONS: Final = "__transaction_state"
_GROUP_ID_NOT_FOUND: Final = 69


class OrderedKafka:
    """Connections to a broker with `SETTINGS`, its topics, and the log of its groups."""

    def __init__(self, broker: Broker) -> None:
        self.bootstrap = broker.bootstrap
        self._connections = list[Connection]()
        self._control = self._connection()
        self._probes = count()
        self._lanes = deque(self._connection() for _ in range(_LANES))
        self._wait_for_coordinator()
        self.topics = self._created_topics()
        while len({bucket_of(each.topic_id) for each in self.topics}) < len(self.topics):
            self._delete_topics()
            self._wait_for_coordinator()
            self.topics = self._created_topics()
        self.wait_for_topics([each for each in self.topics if each.name in COUNTS])
        self.log = GroupLog(broker)

    def ask(self, request: Request, version: int, *, answer: type[R]) -> R:
        """Send a request about no group, and return its answer."""
        return self._control.ask(request, version, answer=answer)

    def take_lane(self) -> Connection:
        """Return a connection whose requests are all answered."""
        return self._lanes.popleft() if self._lanes else self._connection()

    def give_back(self, lane: Connection) -> None:
        """Return a connection that is of use again."""
        self._lanes.append(lane)

    def pass_barrier(self) -> None:
        """Wait until all requests that were sent have reached the coordinator."""
        for _ in range(2):
            self._control.ask(ApiVersionsRequest(), 0, answer=ApiVersionsResponse)

    def commit_log(self) -> None:
        """Wait until all records that the log has are committed."""
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=0, committed_metadata=""
        )
        topic = OffsetCommitRequestTopic(name=next(iter(COUNTS)), partitions=[partition])
        request = OffsetCommitRequest(group_id="barrier", member_id="", topics=[topic])
        found = self._control.ask(request, 8, answer=OffsetCommitResponse)
        assert not found.topics[0].partitions[0].error_code, found

    def close(self) -> None:
        """Close all connections."""
        for each in self._connections:
            each.close()

    def _connection(self) -> Connection:
        """Return a connection that a network thread has."""
        made = Connection(self.bootstrap)
        self._connections.append(made)
        made.ask(ApiVersionsRequest(), 0, answer=ApiVersionsResponse)
        return made

    def _created_topics(self) -> list[TopicFacts]:
        """Create the topics of the tests; return all topics."""
        topics = [
            CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=1,
                assignments=[],
                configs=[],
            )
            for name, partitions in COUNTS.items()
        ]
        request = CreateTopicsRequest(topics=topics, timeout_ms=30_000)
        created = self._control.ask(request, 7, answer=CreateTopicsResponse).topics
        ids = {each.topic_id for each in created if not each.error_code}
        return self._listed_topics(
            lambda topics: (
                ids <= {each.topic_id for each in topics}
                and _OF_TRANSACTIONS in {each.name for each in topics}
            )
        )

    def _delete_topics(self) -> None:
        """Delete the topics of the tests, and that of transactions: two internal topics in one
        bucket would stay there.
        """
        names = {*COUNTS, _OF_TRANSACTIONS}
        request = DeleteTopicsRequest(topic_names=sorted(names), timeout_ms=30_000)
        self._control.ask(request, 5, answer=DeleteTopicsResponse)
        self._listed_topics(lambda topics: names.isdisjoint(each.name for each in topics))

    def _listed_topics(self, is_awaited: Callable[[list[TopicFacts]], bool]) -> list[TopicFacts]:
        """Return all topics, once they are as awaited."""
        end = time.monotonic() + PATIENCE_S
        while True:
            found = self._control.ask(MetadataRequest(topics=None), 12, answer=MetadataResponse)
            topics = [
                TopicFacts(each.name or "", each.topic_id, len(each.partitions))
                for each in found.topics
            ]
            if is_awaited(topics):
                return topics
            assert time.monotonic() < end, found
            time.sleep(0.1)

    def wait_for_topics(self, topics: Sequence[TopicFacts]) -> None:
        """Wait until the coordinator assigns the topics, which it sees after the broker does.

        One without partitions does not exist.
        """
        expected = {each.topic_id: {*range(each.partitions)} for each in topics if each.partitions}
        end = time.monotonic() + PATIENCE_S
        for number in self._probes:
            request = ConsumerGroupHeartbeatRequest(
                group_id=f"probe-{number}",
                member_id="m",
                member_epoch=0,
                rebalance_timeout_ms=1_000,
                subscribed_topic_names=[each.name for each in topics],
                topic_partitions=[],
            )
            found = self._control.ask(request, 1, answer=ConsumerGroupHeartbeatResponse)
            assignment = found.assignment.topic_partitions if found.assignment is not None else []
            if {each.topic_id: {*each.partitions} for each in assignment} == expected:
                return
            assert time.monotonic() < end, found
            time.sleep(0.02)

    def _wait_for_coordinator(self) -> None:
        end = time.monotonic() + PATIENCE_S
        # Both internal topics exist before the topics of the tests are listed.
        for key_type in (0, 1):
            find = FindCoordinatorRequest(key=_NO_GROUP, key_type=key_type)
            while self._control.ask(find, 3, answer=FindCoordinatorResponse).error_code:
                assert time.monotonic() < end
                time.sleep(0.1)
        delete = DeleteGroupsRequest(group_names=[_NO_GROUP])
        while True:
            found = self._control.ask(delete, 2, answer=DeleteGroupsResponse).results[0]
            if found.error_code == _GROUP_ID_NOT_FOUND:
                return
            assert time.monotonic() < end, found
            time.sleep(0.1)


def bucket_of(topic_id: Uuid) -> int:
    """Return the bucket of an id in Java's smallest hash map."""
    first, second, third, fourth = struct.unpack(">4I", topic_id)
    value: int = first ^ second ^ third ^ fourth
    return (value ^ value >> 16) % 16
