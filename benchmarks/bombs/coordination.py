"""Groups, offsets and open transactions of a broker, and the most expensive requests about them.

    offsets        a group without members that has committed offsets of all partitions of a topic
    groups         groups of one offset each
    members        a classic group of a few members with much metadata, and one of KIP-848 of many
    transaction    open, of a producer that has left; it has the partitions and their offsets

Each partition has records of that producer, so that no request opens a log for the first time.
`CoordinationSite` makes all this; `coordination_bombs` yields the requests. A response repeats a
large group or transaction a few times only: brokers, Kafka as well, answer as often as they are
asked.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic, sleep
from typing import Final, NamedTuple

import cordwood
from benchmarks.bombs.asker import Asker, newest
from benchmarks.bombs.requests import Bomb, frame
from cordwood.client.network.in_flight_requests import api_of_kind
from cordwood.core.uuids import parse_uuid
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from cordwood.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest
from cordwood.protocol.messages.describe_groups import DescribeGroupsRequest
from cordwood.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from cordwood.protocol.messages.describe_transactions import DescribeTransactionsRequest
from cordwood.protocol.messages.end_txn import EndTxnRequest
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from cordwood.protocol.messages.list_groups import ListGroupsRequest
from cordwood.protocol.messages.list_transactions import ListTransactionsRequest
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
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from cordwood.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from cordwood.protocol.schema import Request

WIDE: Final = "wide"
OFFSETS: Final = "offsets"
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
WRITER: Final = "writer"
METADATA: Final = "m" * 100
#: A program of RE2 close to its limit, which matches all names of topics in the end.
COSTLY_PATTERN: Final = "([a-z]{0,20}){0,20}.*"
_CLASSIC_MEMBERS: Final = 8
_PROTOCOLS: Final = 20
_REPEATED: Final = 10
_AT_ONCE: Final = 500
_PATIENCE_S: Final = 120
#: Versions whose requests have names in place of ids, and of producers in place of brokers.
_COMMIT: Final = 9
_FETCH: Final = 9
_JOIN_WITHOUT_ID_ROUND: Final = 3
_ADD: Final = 3
_NEW: Final = ""


class Member(NamedTuple):
    """A member, its generation or epoch, and the connection of a classic one."""

    member_id: str
    epoch: int
    asker: Asker | None = None


class CoordinationSite:
    """A broker with groups, offsets and an open transaction."""

    def __init__(self, port: int, *, partitions: int, groups: int) -> None:
        self.port = port
        self.partitions = range(partitions)
        self.groups = [f"group-{number}" for number in range(groups)]
        asker = Asker(port)
        with cordwood.Admin(f"127.0.0.1:{port}") as admin:
            admin.create_topic(WIDE)
            for count in (*range(_AT_ONCE, partitions, _AT_ONCE), partitions):
                admin.create_partitions(WIDE, count)
            self.topic_id = parse_uuid(admin.describe_topics([WIDE])[0].topic_id)
            admin.alter_group_offsets(OFFSETS, {(WIDE, 0): 0})
        _commit_all(asker, self.partitions)
        for name in self.groups:
            asker.ask(_commit(name, range(1)), OffsetCommitResponse, _COMMIT)
        self.classic = _join_classic(port)
        self.consumers = [_join_consumer(asker, f"member-{number}") for number in range(groups)]
        with cordwood.Producer(f"127.0.0.1:{port}", transactional_id=WRITER) as producer:
            producer.begin()
            for sent in [producer.send(WIDE, b"used", partition=each) for each in self.partitions]:
                sent.result(_PATIENCE_S)
            producer.commit()
            producer.begin()
            producer.send(WIDE, b"left open", partition=0).result(_PATIENCE_S)
            self.handle = producer.detach()
        asker.close()

    def close(self) -> None:
        """Close the connections of the classic members."""
        for member in self.classic:
            if member.asker is not None:
                member.asker.close()


def coordination_bombs(site: CoordinationSite, elements: int) -> Iterator[Bomb]:
    """Yield the requests; the last ones delete what the others were about."""
    for part in (_of_offsets, _of_groups, _of_members, _of_transactions, _of_deletions):
        yield from part(site, elements)


def _bomb(request: Request, place: str, version: int | None = None) -> Bomb:
    api, version = api_of_kind(type(request)), newest(request) if version is None else version
    return Bomb(api.name, version, "coordinated", place, frame(request, version))


# State.


def _commit(group: str, partitions: range, *, metadata: str = METADATA) -> OffsetCommitRequest:
    committed = [
        OffsetCommitRequestPartition(
            partition_index=each, committed_offset=each, committed_metadata=metadata
        )
        for each in partitions
    ]
    topic = OffsetCommitRequestTopic(name=WIDE, partitions=committed)
    return OffsetCommitRequest(group_id=group, member_id=_NEW, topics=[topic])


def _commit_all(asker: Asker, partitions: range) -> None:
    """Commit an offset of each partition; Kafka refuses commits that exceed one batch."""
    for first in range(0, len(partitions), _AT_ONCE):
        _until_committed(asker, _commit(OFFSETS, partitions[first : first + _AT_ONCE]))


def _until_committed(asker: Asker, request: OffsetCommitRequest) -> None:
    end_s = monotonic() + _PATIENCE_S
    while True:
        response = asker.ask(request, OffsetCommitResponse, _COMMIT)
        codes = {each.error_code for topic in response.topics for each in topic.partitions}
        if codes == {0}:
            return
        if monotonic() > end_s:
            raise TimeoutError(f"the offsets are not committed: error codes {sorted(codes)}")
        sleep(0.1)


def _join(member_id: str, protocols: int = _PROTOCOLS, size: int = 1_000) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=CLASSIC,
        session_timeout_ms=1_000_000,
        rebalance_timeout_ms=1_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[
            JoinGroupRequestProtocol(name=f"protocol-{number}", metadata=bytes(size))
            for number in range(protocols)
        ],
    )


def _join_classic(port: int) -> list[Member]:
    """Return the members of a classic group that wait for their leader's assignment."""

    def join(asker: Asker) -> Member:
        joined_as = asker.ask(_join(_NEW), JoinGroupResponse, _JOIN_WITHOUT_ID_ROUND)
        return Member(joined_as.member_id, joined_as.generation_id, asker)

    askers = [Asker(port) for _ in range(_CLASSIC_MEMBERS)]
    with ThreadPoolExecutor(_CLASSIC_MEMBERS) as threads:
        return [*threads.map(join, askers)]


def _join_consumer(asker: Asker, member_id: str) -> Member:
    request = ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER,
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[WIDE],
        topic_partitions=[],
    )
    response = asker.ask(request, ConsumerGroupHeartbeatResponse)
    if response.error_code:
        raise RuntimeError(f"{member_id} does not join: error code {response.error_code}")
    return Member(member_id, response.member_epoch)


# Bombs.


def _of_offsets(site: CoordinationSite, _: int) -> Iterator[Bomb]:
    named = OffsetFetchRequestTopic(name=WIDE, partition_indexes=[*site.partitions])
    every = OffsetFetchRequestGroup(group_id=OFFSETS, topics=None)
    each = OffsetFetchRequestGroup(group_id=OFFSETS, topics=[named])
    yield _bomb(_commit("more offsets", site.partitions), "partitions", _COMMIT)
    yield _bomb(_commit(OFFSETS, site.partitions, metadata="n" * 1_000), "metadata", _COMMIT)
    yield _bomb(OffsetFetchRequest(groups=[each]), "partitions", _FETCH)
    yield _bomb(OffsetFetchRequest(groups=[every]), "all", _FETCH)
    many = OffsetFetchRequest(groups=[every] * _REPEATED, require_stable=True)
    yield _bomb(many, "all of several groups", _FETCH)


def _of_groups(site: CoordinationSite, elements: int) -> Iterator[Bomb]:
    names = [*site.groups, CLASSIC, CONSUMER]
    keys = [f"key-{number}" for number in range(elements)]
    yield _bomb(ListGroupsRequest(), "all")
    yield _bomb(ListGroupsRequest(states_filter=["Empty"], types_filter=["classic"]), "filtered")
    yield _bomb(DescribeGroupsRequest(groups=names, include_authorized_operations=True), "groups")
    yield _bomb(DescribeGroupsRequest(groups=[CLASSIC] * _REPEATED), "members")
    for place, described in (("groups", names), ("members", [CONSUMER] * _REPEATED)):
        request = ConsumerGroupDescribeRequest(
            group_ids=described, include_authorized_operations=True
        )
        yield _bomb(request, place)
    for kind in (0, 1):
        yield _bomb(FindCoordinatorRequest(key_type=kind, coordinator_keys=keys), f"type {kind}")


def _of_members(site: CoordinationSite, elements: int) -> Iterator[Bomb]:
    leader, member = site.classic[0], site.consumers[0]
    assignments = [
        SyncGroupRequestAssignment(
            member_id=site.classic[number % len(site.classic)].member_id, assignment=bytes(100)
        )
        for number in range(elements)
    ]
    synced = SyncGroupRequest(
        group_id=CLASSIC,
        generation_id=leader.epoch,
        member_id=leader.member_id,
        assignments=assignments,
    )
    yield _bomb(synced, "assignments", 3)
    yield _bomb(_join(_NEW, elements // 2, 100), "protocols")
    yield _bomb(_join(_NEW, _PROTOCOLS, elements * 20), "metadata")
    yield _bomb(_join(leader.member_id, elements // 2, 100), "protocols of a member")
    beat = partial(
        ConsumerGroupHeartbeatRequest,
        group_id=CONSUMER,
        member_id=member.member_id,
        member_epoch=member.epoch,
        rebalance_timeout_ms=60_000,
    )
    owned = [TopicPartitions(topic_id=site.topic_id, partitions=[*site.partitions])]
    names = [f"unknown-{number}" for number in range(elements - 10)]
    yield _bomb(beat(topic_partitions=owned, subscribed_topic_names=[WIDE]), "owned")
    yield _bomb(
        beat(
            member_id="of many", member_epoch=0, topic_partitions=[], subscribed_topic_names=names
        ),
        "names",
    )
    yield _bomb(
        beat(
            member_id="of a pattern",
            member_epoch=0,
            topic_partitions=[],
            subscribed_topic_names=[],
            subscribed_topic_regex=COSTLY_PATTERN,
        ),
        "pattern",
    )


def _of_transactions(site: CoordinationSite, _: int) -> Iterator[Bomb]:
    handle = site.handle
    topic = AddPartitionsToTxnTopic(name=WIDE, partitions=[*site.partitions])
    added = AddPartitionsToTxnRequest(
        transactional_id=WRITER,
        producer_id=handle.producer_id,
        producer_epoch=handle.epoch,
        topics=[topic],
    )
    yield _bomb(added, "partitions", _ADD)
    committed = [
        TxnOffsetCommitRequestPartition(
            partition_index=each, committed_offset=1, committed_metadata=METADATA
        )
        for each in site.partitions
    ]
    yield _bomb(
        TxnOffsetCommitRequest(
            transactional_id=WRITER,
            group_id=OFFSETS,
            producer_id=handle.producer_id,
            producer_epoch=handle.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=WIDE, partitions=committed)],
        ),
        "partitions",
    )
    every = OffsetFetchRequestGroup(group_id=OFFSETS, topics=None)
    yield _bomb(OffsetFetchRequest(groups=[every], require_stable=True), "unstable", _FETCH)
    listed = ListTransactionsRequest(
        state_filters=[], producer_id_filters=[], transactional_id_pattern=COSTLY_PATTERN
    )
    yield _bomb(listed, "pattern")
    yield _bomb(DescribeTransactionsRequest(transactional_ids=[WRITER] * _REPEATED), "partitions")
    asked = TopicRequest(name=WIDE, partition_indexes=[*site.partitions])
    yield _bomb(DescribeProducersRequest(topics=[asked]), "partitions")
    yield _bomb(_markers(site), "partitions")
    ended = EndTxnRequest(
        transactional_id=WRITER,
        producer_id=handle.producer_id,
        producer_epoch=handle.epoch,
        committed=True,
    )
    yield _bomb(ended, "partitions")


def _markers(site: CoordinationSite) -> WriteTxnMarkersRequest:
    """Return markers of a producer that the partitions do not know."""
    topic = WritableTxnMarkerTopic(name=WIDE, partition_indexes=[*site.partitions])
    marker = WritableTxnMarker(
        producer_id=1_000_000,
        producer_epoch=0,
        transaction_result=False,
        topics=[topic],
        coordinator_epoch=0,
    )
    return WriteTxnMarkersRequest(markers=[marker])


def _of_deletions(site: CoordinationSite, elements: int) -> Iterator[Bomb]:
    deleted = [OffsetDeleteRequestPartition(partition_index=each) for each in site.partitions]
    topic = OffsetDeleteRequestTopic(name=WIDE, partitions=deleted)
    yield _bomb(OffsetDeleteRequest(group_id="more offsets", topics=[topic]), "partitions")
    members = [MemberIdentity(member_id=each.member_id) for each in site.classic]
    unknown = [MemberIdentity(member_id=f"unknown-{number}") for number in range(elements - 100)]
    yield _bomb(LeaveGroupRequest(group_id=CLASSIC, members=[*unknown, *members]), "members")
    yield _bomb(DeleteGroupsRequest(group_names=[OFFSETS, *site.groups]), "groups")
