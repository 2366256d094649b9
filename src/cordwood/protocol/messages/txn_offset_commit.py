"""TxnOffsetCommit: commits a group's offsets as part of a transaction.

Changes by version:

    v2  the leader epoch of the last consumed record
    v3  flexible; the consumer's membership, to fence zombies
    v4  TRANSACTION_ABORTABLE may be returned
    v5  with transaction.version 2, the request adds the group to the transaction
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String


class TxnOffsetCommitRequestPartition(Struct):
    """The next offset to consume in one partition, with metadata."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = field(since=2, default=-1, ignorable=True)
    committed_metadata: String | None


class TxnOffsetCommitRequestTopic(Struct):
    """Offsets in one topic."""

    name: String
    partitions: list[TxnOffsetCommitRequestPartition]


class TxnOffsetCommitRequest(Request, api_key=28, versions=(0, 5), flexible_since=3):
    """The transaction, the group and the offsets."""

    transactional_id: String
    group_id: String
    producer_id: Int64
    producer_epoch: Int16
    generation_id: Int32 = field(since=3, default=-1)
    member_id: String = field(since=3, default="")
    group_instance_id: String | None = field(since=3, default=None)
    topics: list[TxnOffsetCommitRequestTopic]


class TxnOffsetCommitResponsePartition(Struct):
    """Result of one partition."""

    partition_index: Int32
    error_code: Int16


class TxnOffsetCommitResponseTopic(Struct):
    """Result of one topic."""

    name: String
    partitions: list[TxnOffsetCommitResponsePartition]


class TxnOffsetCommitResponse(Response, api_key=28, versions=(0, 5), flexible_since=3):
    """Results by partition."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[TxnOffsetCommitResponseTopic]
