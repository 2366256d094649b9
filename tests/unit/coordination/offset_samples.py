"""Offsets of a shard under test, with a list of records in the place of the log."""

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    StoredMarker,
    StoredRecord,
)
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_member import (
    ClassicGroupMember,
    MemberProtocol,
)
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.offsets.offset_metadata_manager import OffsetMetadataManager
from cordwood.coordination.outcome import Outcome, Ticket
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.core.errors import KafkaError
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.internal import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
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
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

ORDERS_ID = Uuid(bytes(15) + b"\x01")
PAYMENTS_ID = Uuid(bytes(15) + b"\x02")
UNKNOWN_ID = Uuid(bytes(15) + b"\x09")
ORDERS = TopicFacts("orders", ORDERS_ID, 4)
PAYMENTS = TopicFacts("payments", PAYMENTS_ID, 2)
IDS = {"orders": ORDERS_ID, "payments": PAYMENTS_ID}
LATEST_COMMIT = 10
LATEST_TXN_COMMIT = 5


def commit_request(
    *offsets: tuple[str, int, int], group_id: str = "g", epoch: int = -1, **fields: object
) -> OffsetCommitRequest:
    """Return a commit of (topic, partition, offset)."""
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=epoch,
        member_id=str(fields.get("member_id", "")),
        retention_time_ms=int(str(fields.get("retention_ms", -1))),
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=IDS.get(topic, UNKNOWN_ID),
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=offset,
                        committed_metadata=str(fields.get("metadata", "")),
                    )
                ],
            )
            for topic, partition, offset in offsets
        ],
    )


def txn_request(
    *offsets: tuple[str, int, int], producer_id: int = 7, group_id: str = "g", epoch: int = -1
) -> TxnOffsetCommitRequest:
    """Return a commit of (topic, partition, offset) in the transaction of a producer."""
    return TxnOffsetCommitRequest(
        transactional_id="t",
        group_id=group_id,
        producer_id=producer_id,
        producer_epoch=0,
        generation_id=epoch,
        topics=[
            TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=offset, committed_metadata=None
                    )
                ],
            )
            for topic, partition, offset in offsets
        ],
    )


def commit_value(offset: int, *, at_ms: int = 0, topic_id: Uuid = ORDERS_ID) -> OffsetCommitValue:
    """Return the value of a committed offset."""
    return OffsetCommitValue(offset=offset, metadata="", commit_timestamp=at_ms, topic_id=topic_id)


def stored(
    offset: int,
    value: OffsetCommitValue | None,
    *,
    producer_id: int = -1,
    group_id: str = "g",
    partition: int = 0,
) -> StoredRecord:
    """Return the record of a commit in the topic `orders`, at an offset of the log."""
    key = OffsetCommitKey(group=group_id, topic="orders", partition=partition)
    return StoredRecord(CoordinatorRecord(1, key, value, 4), offset, producer_id, 0)


def consumers(group_id: str = "g", *topics: str) -> ClassicGroup:
    """Return a stable group of one consumer, `m`, in its generation 1."""
    group = ClassicGroup(group_id, 0)
    group.protocol_type, group.protocol_name, group.generation = "consumer", "range", 1
    subscription = b"\x00\x00" + len(topics).to_bytes(4, "big")
    subscription += b"".join(len(each).to_bytes(2, "big") + each.encode() for each in topics)
    protocol = MemberProtocol("range", subscription + b"\xff\xff\xff\xff")
    group.add(
        ClassicGroupMember(
            member_id="m",
            instance_id=None,
            client_id="c",
            client_host="/127.0.0.1",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            protocols=(protocol,),
        )
    )
    group.state = ClassicGroupState.STABLE
    group.refresh_topics()
    return group


class OffsetsUnderTest:
    """The offsets of a shard; `g` and other groups are simple unless they are put before."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.groups = GroupRegistry()
        self.manager = OffsetMetadataManager(self.groups, settings or GroupSettings())
        self.manager.on_topics(Topics((ORDERS, PAYMENTS)), 0)
        self.next_offset = 0
        self.now_ms = 0

    def apply(self, outcome: Outcome) -> Outcome:
        """Append the records of an outcome."""
        producer = (-1, -1) if outcome.producer is None else outcome.producer
        for record in outcome.records:
            self._replay(StoredRecord(record, self.next_offset, *producer))
            self.next_offset += 1
        return outcome

    def _replay(self, stored: StoredRecord) -> None:
        key, value = stored.record.key, stored.record.value
        if isinstance(key, GroupMetadataKey):
            self.groups.remove(self.groups.get(key.group))
            return
        assert isinstance(key, OffsetCommitKey)
        if value is not None and key.group not in self.groups.by_id:
            self.groups.put(ClassicGroup(key.group, self.now_ms))
        self.manager.replay(stored)

    def commit(self, request: OffsetCommitRequest, version: int = LATEST_COMMIT) -> Outcome:
        """Commit outside of a transaction."""
        client = ClientContext(version)
        return self.apply(
            self.manager.commit(request, client, ticket=Ticket(1), now_ms=self.now_ms)
        )

    def commit_transactional(
        self, request: TxnOffsetCommitRequest, version: int = LATEST_TXN_COMMIT
    ) -> Outcome:
        """Commit in a transaction."""
        client = ClientContext(version)
        return self.apply(
            self.manager.commit_transactional(request, client, ticket=Ticket(1), now_ms=self.now_ms)
        )

    def end(self, producer_id: int, *, is_commit: bool) -> None:
        """Append a marker."""
        self.manager.replay_marker(StoredMarker(producer_id, 0, self.next_offset, is_commit))
        self.next_offset += 1

    def delete(self, *partitions: tuple[str, int], group_id: str = "g") -> Outcome:
        """Delete offsets of (topic, partition)."""
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[OffsetDeleteRequestPartition(partition_index=partition)],
                )
                for topic, partition in partitions
            ],
        )
        return self.apply(self.manager.delete(request, ticket=Ticket(1)))

    def fetch(
        self, *partitions: tuple[str, int], version: int = 9, is_stable: bool = False
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return offset and error of (topic, partition) of `g`, of all without an argument."""
        topics = [
            OffsetFetchRequestTopic(
                name=topic, topic_id=IDS.get(topic, UNKNOWN_ID), partition_indexes=[partition]
            )
            for topic, partition in partitions
        ]
        group = OffsetFetchRequestGroup(group_id="g", topics=topics or None)
        request = OffsetFetchRequest(groups=[group], require_stable=is_stable)
        return offsets_of(self.manager.fetch(request, version))


def offsets_of(response: OffsetFetchResponse) -> dict[tuple[str, int], tuple[int, int]]:
    """Return offset and error of each partition of the first group."""
    return {
        (topic.name, each.partition_index): (each.committed_offset, each.error_code)
        for topic in response.groups[0].topics
        for each in topic.partitions
    }


def codes_of(outcome: Outcome) -> list[int]:
    """Return the codes of the partitions in the answer of a commit or a deletion."""
    response = outcome.answers[0].response
    assert not isinstance(response, KafkaError)
    assert isinstance(
        response, OffsetCommitResponse | TxnOffsetCommitResponse | OffsetDeleteResponse
    )
    return [each.error_code for topic in response.topics for each in topic.partitions]
