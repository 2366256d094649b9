"""A shard that is loaded from the log has the answers of the live one, after any requests.

Requests of members, commits with and without transactions, deletions, expiry, changed topics and
rejected appends come in any order. After each of them a second shard is loaded from the bytes of
the log, and both are asked the same questions. A rebalance of a classic group is in no record, so
the state of such a group is not compared while it lasts.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import CoordinatorRecord, encode_record
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Ticket
from cordwood.coordination.topic_view import TopicFacts
from cordwood.core.errors import KafkaError, NotEnoughReplicasError
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest
from cordwood.protocol.messages.internal import OffsetCommitKey
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from cordwood.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from cordwood.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from cordwood.protocol.schema import Response
from tests.unit.coordination.shard_harness import ShardHarness

GROUPS = st.sampled_from(("a", "b"))
TOPICS = st.sampled_from(("orders", "payments"))
PARTITIONS = st.integers(0, 2)
OFFSETS = st.integers(0, 100)
PRODUCERS = st.integers(1, 2)
SUBSCRIPTION = b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"
RETENTION_MS = 300_000
RESTING = {"Empty", "Stable"}
PROBE = Ticket(-1)


class ShardMachine(RuleBasedStateMachine):
    """Sends requests to the live shard."""

    def __init__(self) -> None:
        super().__init__()
        self.topics = {
            name: TopicFacts(name, Uuid(bytes(15) + bytes((number,))), 2)
            for number, name in enumerate(("orders", "payments"), start=1)
        }
        self.harness = ShardHarness(
            self.topics.values(),
            GroupSettings(
                offsets_retention_ms=RETENTION_MS,
                offsets_retention_check_interval_ms=60_000,
                initial_rebalance_delay_ms=0,
                offset_metadata_max_bytes=3,
            ),
        )
        self.harness.reload()
        self.created = len(self.topics)
        #: The last classic member and its generation, and the epochs of consumer members.
        self.classic = dict[str, tuple[str, int]]()
        self.epochs = dict[tuple[str, str], int]()

    # -- offsets

    @rule(
        group=GROUPS,
        topic=TOPICS,
        partition=PARTITIONS,
        offset=OFFSETS,
        metadata=st.sampled_from(("", "abcd")),
        retention_ms=st.sampled_from((-1, 30_000)),
    )
    def commit(
        self,
        group: str,
        topic: str,
        *,
        partition: int,
        offset: int,
        metadata: str,
        retention_ms: int,
    ) -> None:
        member_id, generation = self.member(group)
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=partition,
                            committed_offset=offset,
                            committed_metadata=metadata,
                        )
                    ],
                )
            ],
        )
        ticket, now_ms = self.harness.ticket(), self.harness.now_ms
        client = self.harness.context(9)
        self.harness.run(self.shard.offset_commit(request, client, ticket=ticket, now_ms=now_ms))

    @rule(group=GROUPS, topic=TOPICS, partition=PARTITIONS, offset=OFFSETS, producer_id=PRODUCERS)
    def commit_transactional(
        self, group: str, topic: str, *, partition: int, offset: int, producer_id: int
    ) -> None:
        request = TxnOffsetCommitRequest(
            transactional_id="t",
            group_id=group,
            producer_id=producer_id,
            producer_epoch=0,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=partition,
                            committed_offset=offset,
                            committed_metadata=None,
                        )
                    ],
                )
            ],
        )
        ticket, now_ms = self.harness.ticket(), self.harness.now_ms
        client = self.harness.context(5)
        self.harness.run(
            self.shard.txn_offset_commit(request, client, ticket=ticket, now_ms=now_ms)
        )

    @rule(producer_id=PRODUCERS, is_commit=st.booleans())
    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        self.harness.end_transaction(producer_id, is_commit=is_commit)

    @rule(group=GROUPS, topic=TOPICS, partition=PARTITIONS)
    def delete_offset(self, group: str, topic: str, *, partition: int) -> None:
        request = OffsetDeleteRequest(
            group_id=group,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[OffsetDeleteRequestPartition(partition_index=partition)],
                )
            ],
        )
        ticket, now_ms = self.harness.ticket(), self.harness.now_ms
        client = self.harness.context(0)
        try:
            outcome = self.shard.offset_delete(request, client, ticket=ticket, now_ms=now_ms)
        except KafkaError:
            return
        self.harness.run(outcome)

    # -- members

    @rule(group=GROUPS)
    def join(self, group: str) -> None:
        self.accept_appends()
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=60_000,
            rebalance_timeout_ms=60_000,
            member_id=self.classic.get(group, ("", 0))[0],
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
        )
        ticket, now_ms = self.harness.ticket(), self.harness.now_ms
        client = self.harness.context(3)
        self.harness.run(self.shard.join_group(request, client, ticket=ticket, now_ms=now_ms))
        self.harness.advance(0)
        found = self.harness.answers.get(ticket)
        self.classic.pop(group, None)
        if isinstance(found, JoinGroupResponse) and not found.error_code:
            self.classic[group] = found.member_id, found.generation_id

    @rule(group=GROUPS)
    def sync(self, group: str) -> None:
        self.accept_appends()
        member_id, generation = self.classic.get(group, ("", 0))
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"x")],
        )
        ticket, now_ms = self.harness.ticket(), self.harness.now_ms
        client = self.harness.context(3)
        self.harness.run(self.shard.sync_group(request, client, ticket=ticket, now_ms=now_ms))

    @rule(group=GROUPS)
    def leave(self, group: str) -> None:
        self.accept_appends()
        member_id, _ = self.classic.pop(group, ("", 0))
        request = LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member_id)])
        ticket, now_ms = self.harness.ticket(), self.harness.now_ms
        client = self.harness.context(5)
        self.harness.run(self.shard.leave_group(request, client, ticket=ticket, now_ms=now_ms))

    @rule(group=GROUPS, member=st.sampled_from("mn"), is_leaving=st.booleans())
    def heartbeat(self, group: str, member: str, *, is_leaving: bool) -> None:
        epoch = -1 if is_leaving else self.epochs.get((group, member), 0)
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=-1 if epoch else 60_000,
            subscribed_topic_names=None if epoch else ["orders"],
            topic_partitions=None if epoch else [],
        )
        ticket, now_ms = self.harness.ticket(), self.harness.now_ms
        client = self.harness.context(1)
        self.harness.run(
            self.shard.consumer_group_heartbeat(request, client, ticket=ticket, now_ms=now_ms)
        )
        found = self.harness.answers[ticket]
        self.epochs.pop((group, member), None)
        if isinstance(found, ConsumerGroupHeartbeatResponse) and found.member_epoch > 0:
            self.epochs[group, member] = found.member_epoch

    # -- administrators, time, failures

    @rule(group=GROUPS)
    def delete_group(self, group: str) -> None:
        request = DeleteGroupsRequest(group_names=[group])
        ticket, now_ms = self.harness.ticket(), self.harness.now_ms
        client = self.harness.context(2)
        self.harness.run(self.shard.delete_groups(request, client, ticket=ticket, now_ms=now_ms))

    @rule(topic=TOPICS)
    def create_topic_again(self, topic: str) -> None:
        self.created += 1
        topic_id = Uuid(bytes(14) + self.created.to_bytes(2, "big"))
        self.topics[topic] = TopicFacts(topic, topic_id, 2)
        self.harness.set_topics(self.topics.values())

    @rule(delay_ms=st.sampled_from((1_000, 30_000, 61_000, RETENTION_MS)))
    def advance(self, delay_ms: int) -> None:
        self.accept_appends()
        self.harness.advance(delay_ms)

    @rule()
    def reject_next_append(self) -> None:
        self.harness.rejection = NotEnoughReplicasError()

    def accept_appends(self) -> None:
        """End a rejection: Kafka's classic groups go on without the record of an empty group."""
        self.harness.rejection = None

    @rule()
    def load_again(self) -> None:
        self.harness.reload()

    # -- both shards

    @invariant()
    def loaded_shard_has_the_same_answers(self) -> None:
        loaded = self.harness.loaded()
        self.compare_groups(loaded)
        self.compare_offsets(loaded)
        self.compare_expiration(loaded)

    def compare_offsets(self, loaded: GroupShard) -> None:
        now_ms = self.harness.now_ms
        groups = [OffsetFetchRequestGroup(group_id=each, topics=None) for each in "ab"]
        for is_stable in (False, True):
            request = OffsetFetchRequest(groups=groups, require_stable=is_stable)
            client = ClientContext(9)
            answers = [
                answer_of(
                    each.offset_fetch(request, client, ticket=PROBE, now_ms=now_ms).answers[0]
                )
                for each in (self.shard, loaded)
            ]
            assert answers[0] == answers[1]

    def compare_groups(self, loaded: GroupShard) -> None:
        live = self.resting_groups()

        assert {group_id: groups_of(loaded).get(group_id) for group_id in live} == live
        assert groups_of(loaded).keys() == groups_of(self.shard).keys()
        assert consumer_groups_of(loaded) == consumer_groups_of(self.shard)

    def compare_expiration(self, loaded: GroupShard) -> None:
        later_ms = self.harness.now_ms + RETENTION_MS // 2
        resting = self.resting_groups()
        expired = [
            [
                encode_record(record)
                for record in shard.on_timer(("offsets", "check"), later_ms).records
                if group_of(record) in resting
            ]
            for shard in (self.shard, loaded)
        ]
        assert sorted(expired[0], key=repr) == sorted(expired[1], key=repr)

    @property
    def shard(self) -> GroupShard:
        return self.harness.shard

    def member(self, group: str) -> tuple[str, int]:
        """Return the member that commits: a consumer, a classic one, or none."""
        epoch = self.epochs.get((group, "m"))
        return ("m", epoch) if epoch is not None else self.classic.get(group, ("", -1))

    def resting_groups(self) -> dict[str, tuple[str, str, str]]:
        """Return the groups without a rebalance that no record has."""
        return {
            group_id: group
            for group_id, group in groups_of(self.shard).items()
            if group[0] == "consumer" or group[1] in RESTING
        }


def answer_of(answer: object) -> object:
    assert isinstance(answer, tuple)
    return answer[1]


def groups_of(shard: GroupShard) -> dict[str, tuple[str, str, str]]:
    """Return type, state and protocol type of all groups."""
    outcome = shard.list_groups(ListGroupsRequest(), ClientContext(5), ticket=PROBE, now_ms=0)
    response = outcome.answers[0].response
    assert isinstance(response, ListGroupsResponse)
    return {
        each.group_id: (each.group_type, each.group_state, each.protocol_type)
        for each in response.groups
    }


def consumer_groups_of(shard: GroupShard) -> Response | KafkaError:
    """Return the descriptions of all consumer groups."""
    request = ConsumerGroupDescribeRequest(
        group_ids=["a", "b"], include_authorized_operations=False
    )
    outcome = shard.consumer_group_describe(request, ClientContext(1), ticket=PROBE, now_ms=0)
    return outcome.answers[0].response


def group_of(record: CoordinatorRecord) -> str:
    """Return the group of a record."""
    key = record.key
    if isinstance(key, OffsetCommitKey):
        return key.group
    found = getattr(key, "group", None) or getattr(key, "group_id", "")
    return str(found)


class PlantedMachine(ShardMachine):
    """A shard with a group that no record has."""

    @rule(group=GROUPS)
    def plant_group(self, group: str) -> None:
        self.shard.groups.put(ClassicGroup(f"planted {group}"))


def test_state_without_a_record_is_found() -> None:
    bounds = settings(max_examples=50, stateful_step_count=10, derandomize=True, database=None)

    with pytest.raises(AssertionError):
        run_state_machine_as_test(PlantedMachine, settings=bounds)


TestLoadedGroupShard = ShardMachine.TestCase
TestLoadedGroupShard.settings = settings(stateful_step_count=30)
