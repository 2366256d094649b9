"""TxnOffsetCommit: offsets that count when a transaction commits.

v2  the leader epoch of the last record that was read
v3  flexible; the consumer's membership, so that zombies are fenced
v4  TRANSACTION_ABORTABLE may be answered
v5  adds the group to the transaction by itself, where transaction.version 2 is finalized
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, Int64, String


class TxnOffsetCommitRequestPartition(Struct):
    """The offset to read next in one partition, and a note with it."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = field(since=2, default=-1, ignorable=True)
    committed_metadata: String | None


class TxnOffsetCommitRequestTopic(Struct):
    """Offsets in one topic."""

    name: String
    partitions: list[TxnOffsetCommitRequestPartition]


class TxnOffsetCommitRequest(Request, api_key=28, versions=(0, 5), flexible_since=3):
    """Whose transaction, which group, which offsets."""

    transactional_id: String
    group_id: String
    producer_id: Int64
    producer_epoch: Int16
    generation_id: Int32 = field(since=3, default=-1)
    member_id: String = field(since=3, default="")
    group_instance_id: String | None = field(since=3, default=None)
    topics: list[TxnOffsetCommitRequestTopic]


class TxnOffsetCommitResponsePartition(Struct):
    """How it went with one partition."""

    partition_index: Int32
    error_code: Int16


class TxnOffsetCommitResponseTopic(Struct):
    """How it went with one topic."""

    name: String
    partitions: list[TxnOffsetCommitResponsePartition]


class TxnOffsetCommitResponse(Response, api_key=28, versions=(0, 5), flexible_since=3):
    """How it went, partition by partition."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[TxnOffsetCommitResponseTopic]
