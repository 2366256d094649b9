"""Answers and records of committed offsets are Kafka 4.3's, for seeded random requests.

Each seed has two groups, a consumer of either protocol, and two producers with transactions. A
running Kafka and a shard get the same requests in all versions. Times and ids of members are left
out. So is the order that Kafka takes from hash maps: of topics in a fetch of all, of tombstones.
"""

import os
import random
import time
from collections.abc import Sequence
from typing import Final, TypeVar

import pytest

from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.topic_view import TopicFacts
from cordwood.core.errors import KafkaError
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.codec import decode, encode, joined
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
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from cordwood.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from cordwood.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from cordwood.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from cordwood.protocol.schema import Request, Response
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.comparable_groups import (
    comparable_records,
    comparable_response,
    kafka_records,
)
from tests.interop.kafka_harness.metadata_lag import await_metadata
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.raw_producer import RawProducer
from tests.interop.kafka_harness.wire import ask
from tests.unit.coordination.shard_harness import LoggedRecord, ShardHarness

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SEEDS: Final = 2_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 100
REQUESTS: Final = 40
CLIENT: Final = "cordwood-interop"
UNKNOWN_ID: Final = Uuid(bytes(15) + b"\x09")
COUNTS: Final = {"offsets-a": 2, "offsets-b": 1}
NAMES: Final = (*COUNTS, "offsets-missing")
SUBSCRIPTION: Final = b"\0\0\0\0\0\1\0\x09offsets-a\xff\xff\xff\xff"

R = TypeVar("R", bound=Response)
Topics = dict[str, TopicFacts]


class Twins:
    """A running Kafka and a shard with the same groups."""

    def __init__(self, bootstrap: str, topics: Topics, seed: int) -> None:
        self._bootstrap = bootstrap
        self._topics = topics
        self.random = random.Random(seed)
        self.groups = (f"offsets-{seed}-a", f"offsets-{seed}-b")
        self.ours = ShardHarness(topics.values(), GroupSettings(initial_rebalance_delay_ms=0))
        self.ours.now_ms = int(time.time() * 1000)
        self.ours.reload()
        self.producers = [RawProducer(bootstrap, f"offsets-{seed}-{each}") for each in "xy"]
        #: The ids of the classic member at both, and its generation.
        self.members = dict[str, tuple[str, str, int]]()
        self.joined = set[str]()
        self.left = set[str]()
        self.lines = list[str]()

    def step(self) -> None:
        """Send one random request to both, and compare the answers."""
        names = ["commit"] * 6 + ["txn_commit"] * 4 + ["fetch"] * 6 + ["end"] * 3
        names += ["delete"] * 2 + ["delete_groups", "list_groups", "heartbeat", "join", "leave"]
        name = self.random.choice(names)
        kafka, ours = getattr(self, f"_{name}")()
        self.lines.append(f"{name}: {kafka}")
        assert kafka == ours, f"{self.text}\nours: {ours}"

    @property
    def text(self) -> str:
        text = "\n".join((*self.groups, *self.lines))
        return text.replace("é" * 4_096, "éé").replace("😀" * 2_049, "😀😀")

    # -- requests

    def _commit(self) -> tuple[object, object]:
        version, group = self.random.randint(2, 10), self._group()
        kafka_member, our_member, epoch = self._committer(group)
        topics = [
            OffsetCommitRequestTopic(
                name="" if version >= 10 else name,
                topic_id=id_of(name, self._topics) if version >= 10 else NO_UUID,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=self.random.randint(0, 100),
                        committed_leader_epoch=self.random.choice([-1, 3]) if version > 5 else -1,
                        committed_metadata=self._metadata(group),
                    )
                    for number in numbers
                ],
            )
            for name, numbers in partitions(self.random)
        ]
        retention_ms = self.random.choice([-1, 10_000_000]) if version < 5 else -1
        requests = [
            OffsetCommitRequest(
                group_id=group,
                generation_id_or_member_epoch=epoch,
                member_id=member_id,
                retention_time_ms=retention_ms,
                topics=topics,
            )
            for member_id in (kafka_member, our_member)
        ]
        self.lines.append(f"  v{version} {requests[1]}")
        return self._both(requests, version, answer=OffsetCommitResponse, method="offset_commit")

    def _txn_commit(self) -> tuple[object, object]:
        group, producer = self._group(), self.random.choice(self.producers)
        kafka_member, our_member, epoch = self._committer(group)
        topics = [
            TxnOffsetCommitRequestTopic(
                name=name,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=self.random.randint(0, 100),
                        committed_metadata=self._metadata(group),
                    )
                    for number in numbers
                ],
            )
            for name, numbers in partitions(self.random)
        ]
        requests = [
            TxnOffsetCommitRequest(
                transactional_id=producer.transactional_id,
                group_id=group,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                generation_id=epoch,
                member_id=member_id,
                topics=topics,
            )
            for member_id in (kafka_member, our_member)
        ]
        self.lines.append(f"  {requests[1]}")
        return self._both(requests, 5, answer=TxnOffsetCommitResponse, method="txn_offset_commit")

    def _end(self) -> tuple[object, object]:
        producer, is_commit = self.random.choice(self.producers), self.random.random() < 0.6
        producer_id = producer.producer_id
        if producer.end(is_commit=is_commit):
            self.ours.end_transaction(producer_id, is_commit=is_commit)
        return is_commit, is_commit

    def _fetch(self) -> tuple[object, object]:
        version, groups = self.random.randint(1, 10), list[list[OffsetFetchRequestGroup]]()
        for group in self.groups if version >= 8 else (self._group(),):
            topics = [
                OffsetFetchRequestTopic(
                    name="" if version >= 10 else name,
                    topic_id=id_of(name, self._topics) if version >= 10 else NO_UUID,
                    partition_indexes=numbers,
                )
                for name, numbers in partitions(self.random)
            ]
            is_all = version >= 2 and self.random.random() < 0.3
            kafka_member, our_member, epoch = self._committer(group)
            has_member = version >= 9 and self.random.random() < 0.5
            groups.append(
                [
                    OffsetFetchRequestGroup(
                        group_id=group,
                        member_id=member_id if has_member else None,
                        member_epoch=epoch if has_member else -1,
                        topics=None if is_all else topics,
                    )
                    for member_id in (kafka_member, our_member)
                ]
            )
        is_stable = version >= 7 and self.random.random() < 0.5
        requests = [
            OffsetFetchRequest(groups=[each[side] for each in groups], require_stable=is_stable)
            if version >= 8
            else OffsetFetchRequest(
                group_id=groups[0][side].group_id,
                topics=groups[0][side].topics,
                require_stable=is_stable,
            )
            for side in (0, 1)
        ]
        self.lines.append(f"  v{version} {requests[1]}")
        return self._both(requests, version, answer=OffsetFetchResponse, method="offset_fetch")

    def _delete(self) -> tuple[object, object]:
        request = OffsetDeleteRequest(
            group_id=self._group(),
            topics=[
                OffsetDeleteRequestTopic(
                    name=name,
                    partitions=[
                        OffsetDeleteRequestPartition(partition_index=each) for each in numbers
                    ],
                )
                for name, numbers in partitions(self.random)
            ],
        )
        self.lines.append(f"  {request}")
        return self._both(
            [request, request], 0, answer=OffsetDeleteResponse, method="offset_delete"
        )

    def _delete_groups(self) -> tuple[object, object]:
        request = DeleteGroupsRequest(group_names=[self._group(), "offsets-no-group"])
        return self._both(
            [request, request], 2, answer=DeleteGroupsResponse, method="delete_groups"
        )

    def _list_groups(self) -> tuple[object, object]:
        request = ListGroupsRequest(types_filter=self.random.choice([[], ["Consumer"]]))
        return self._both([request, request], 5, answer=ListGroupsResponse, method="list_groups")

    def _heartbeat(self) -> tuple[object, object]:
        """Let a consumer join its group once, and leave it once."""
        group = self.groups[0]
        is_leaving = group in self.joined
        if group in self.left or (not is_leaving and not self._is_free(group)):
            return None, None
        (self.left if is_leaving else self.joined).add(group)
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="m",
            member_epoch=-1 if is_leaving else 0,
            rebalance_timeout_ms=-1 if is_leaving else 60_000,
            subscribed_topic_names=None if is_leaving else ["offsets-a"],
            topic_partitions=None if is_leaving else [],
        )
        return self._both(
            [request, request],
            1,
            answer=ConsumerGroupHeartbeatResponse,
            method="consumer_group_heartbeat",
        )

    def _join(self) -> tuple[object, object]:
        """Let a classic member join a group without members, and get its assignment."""
        group = self.random.choice(self.groups)
        if not self._is_free(group):
            return None, None
        join = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            member_id="",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
        )
        kafka = ask(self._bootstrap, join, 3, answer=JoinGroupResponse)
        ours = self._ask_ours(join, 3, answer=JoinGroupResponse, method="join_group")
        assert (kafka.error_code, kafka.generation_id) == (ours.error_code, ours.generation_id), (
            self.text
        )
        self.members[group] = (kafka.member_id, ours.member_id, kafka.generation_id)
        requests = [
            SyncGroupRequest(
                group_id=group,
                generation_id=kafka.generation_id,
                member_id=member_id,
                assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"text")],
            )
            for member_id in (kafka.member_id, ours.member_id)
        ]
        if self.random.random() < 0.3:
            return "joined", "joined"
        return self._both(requests, 3, answer=SyncGroupResponse, method="sync_group")

    def _leave(self) -> tuple[object, object]:
        group = self.random.choice(self.groups)
        kafka_member, our_member, _ = self.members.pop(group, ("", "", 0))
        if not kafka_member:
            return None, None
        kafka, ours = self._both(
            [
                LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member_id)])
                for member_id in (kafka_member, our_member)
            ],
            4,
            answer=LeaveGroupResponse,
            method="leave_group",
        )
        return str(kafka).replace(kafka_member, "c"), str(ours).replace(our_member, "c")

    # -- parts of requests

    def _group(self) -> str:
        return self.random.choice(self.groups)

    def _is_free(self, group: str) -> bool:
        found = self.ours.shard.groups.by_id.get(group)
        return found is None or found.is_empty

    def _metadata(self, group: str) -> str:
        """Return metadata, which may be too large for a group that exists.

        Kafka makes a simple group of such a commit too, which then has no record.
        """
        text = self.random.choice(["", "", "m", "é" * 4_096, "😀" * 2_049])
        return text if group in self.ours.shard.groups.by_id else text[:1]

    def _committer(self, group: str) -> tuple[str, str, int]:
        """Return the member at Kafka and at ours with its epoch, at times an unknown one."""
        kind = self.random.random()
        if kind < 0.1:
            return "unknown", "unknown", self.random.choice([-1, 0, 1])
        if group in self.joined and group not in self.left and kind < 0.8:
            return "m", "m", self.random.choice([2, 2, 2, 1, 3])
        if group in self.members and kind < 0.8:
            kafka, ours, generation = self.members[group]
            return kafka, ours, generation + self.random.choice([0, 0, 0, -1, 1])
        return "", "", self.random.choice([-1, -1, -1, 0])

    # -- both sides

    def _both(
        self, requests: Sequence[Request], version: int, *, answer: type[R], method: str
    ) -> tuple[object, object]:
        kafka = ask(self._bootstrap, requests[0], version, answer=answer)
        ours = self._ask_ours(requests[1], version, answer=answer, method=method)
        return comparable_response(kafka, self.groups), comparable_response(ours, self.groups)

    def _ask_ours(self, request: Request, version: int, *, answer: type[R], method: str) -> R:
        """Ask the shard; both messages pass through their bytes."""
        harness = self.ours
        harness.now_ms = max(harness.now_ms, int(time.time() * 1000))
        sent = decode(type(request), joined(encode(request, version)), version)
        ticket = harness.ticket()
        client = harness.context(version, CLIENT)
        call = getattr(harness.shard, method)
        try:
            harness.run(call(sent, client, ticket=ticket, now_ms=harness.now_ms))
        except KafkaError as error:
            if answer is not OffsetDeleteResponse:
                raise
            failed = OffsetDeleteResponse(error_code=error.code, topics=[])
            return decode(answer, joined(encode(failed, version)), version)
        harness.advance(0)
        response = harness.answer(ticket, answer)
        return decode(answer, joined(encode(response, version)), version)


def id_of(name: str, topics: Topics) -> Uuid:
    return topics[name].topic_id if name in topics else UNKNOWN_ID


def partitions(source: random.Random) -> list[tuple[str, list[int]]]:
    """Return partitions of some topics; some do not exist."""
    return [
        (name, sorted(source.sample(range(3), source.randint(1, 2))))
        for name in NAMES
        if source.random() < 0.5
    ]


@pytest.fixture(scope="module")
def topics(broker43: Broker) -> Topics:
    """Topics of a running Kafka, whose coordinators serve."""
    address = broker43.bootstrap
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[]
            )
            for name, count in COUNTS.items()
        ],
        timeout_ms=30_000,
    )
    created = ask(address, request, 7, answer=CreateTopicsResponse)
    await_metadata(address)
    end = time.monotonic() + PATIENCE_S
    for key_type in (0, 1):
        find = FindCoordinatorRequest(key="offsets", key_type=key_type)
        while ask(address, find, 3, answer=FindCoordinatorResponse).error_code:
            assert time.monotonic() < end
            time.sleep(0.1)
    begin = InitProducerIdRequest(transactional_id="offsets", transaction_timeout_ms=1_000)
    while ask(address, begin, 5, answer=InitProducerIdResponse).error_code:
        assert time.monotonic() < end
        time.sleep(0.1)
    delete = DeleteGroupsRequest(group_names=["offsets"])
    while ask(address, delete, 2, answer=DeleteGroupsResponse).results[0].error_code != 69:
        assert time.monotonic() < end
        time.sleep(0.1)
    return {
        each.name: TopicFacts(each.name, each.topic_id, COUNTS[each.name])
        for each in created.topics
    }


@pytest.mark.parametrize("seed", range(SEEDS))
def test_answers_and_records_are_kafkas(broker43: Broker, topics: Topics, seed: int) -> None:
    twins = Twins(broker43.bootstrap, topics, seed)

    for _ in range(REQUESTS):
        twins.step()

    ours = [each.record() for each in twins.ours.log if isinstance(each, LoggedRecord)]
    assert comparable_records(kafka_records(broker43, twins.groups)) == comparable_records(ours), (
        twins.text
    )
