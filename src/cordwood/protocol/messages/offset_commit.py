"""OffsetCommit: commits a group's offsets.

Changes by version:

    v5   only the broker sets the retention of offsets; versions 2 to 4 could request their own
    v6   the leader epoch of the last consumed record
    v7   static members
    v8   flexible
    v9   members of KIP-848 groups, with STALE_MEMBER_EPOCH; GROUP_ID_NOT_FOUND for both kinds
    v10  topics by id only; an outdated id gives UNKNOWN_TOPIC_ID

A commit without a member (generation -1, empty member id) is accepted while the group is empty.
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String, Uuid


class OffsetCommitRequestPartition(Struct):
    """The next offset to consume in one partition, with metadata."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = field(since=6, default=-1, ignorable=True)
    committed_metadata: String | None


class OffsetCommitRequestTopic(Struct):
    """Offsets in one topic."""

    name: String = field(until=9, default="", ignorable=True)
    topic_id: Uuid = field(since=10, default=NO_UUID, ignorable=True)
    partitions: list[OffsetCommitRequestPartition]


class OffsetCommitRequest(Request, api_key=8, versions=(2, 10), flexible_since=8):
    """The member and its offsets."""

    group_id: String
    #: Generation of a classic group, or member epoch of a KIP-848 group.
    generation_id_or_member_epoch: Int32 = field(default=-1)
    member_id: String
    group_instance_id: String | None = field(since=7, default=None)
    retention_time_ms: Int64 = field(until=4, default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic]


class OffsetCommitResponsePartition(Struct):
    """Result of one partition."""

    partition_index: Int32
    error_code: Int16


class OffsetCommitResponseTopic(Struct):
    """Result of one topic."""

    name: String = field(until=9, default="", ignorable=True)
    topic_id: Uuid = field(since=10, default=NO_UUID, ignorable=True)
    partitions: list[OffsetCommitResponsePartition]


class OffsetCommitResponse(Response, api_key=8, versions=(2, 10), flexible_since=8):
    """Results by partition."""

    throttle_time_ms: Int32 = field(since=3, default=0, ignorable=True)
    topics: list[OffsetCommitResponseTopic]
