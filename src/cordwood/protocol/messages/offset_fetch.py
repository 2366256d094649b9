"""OffsetFetch: the committed offsets of groups.

Changes by version:

    v2   null requests every topic; an error of the whole request
    v5   leader epochs
    v6   flexible
    v7   offsets of an open transaction may give UNSTABLE_OFFSET_COMMIT
    v8   several groups, each with its own error: `groups` instead of the single fields
    v9   member id and epoch of KIP-848 groups
    v10  topics by id only; an outdated id gives UNKNOWN_TOPIC_ID

A partition without a commit gives offset -1 and no error.
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, Int64, String, Uuid


class OffsetFetchRequestTopic(Struct):
    """Partitions of one topic."""

    name: String = field(until=9, default="", ignorable=True)
    topic_id: Uuid = field(since=10, default=NO_UUID, ignorable=True)
    partition_indexes: list[Int32]


class OffsetFetchRequestGroup(Struct):
    """The requested offsets of one group, from version 8 on."""

    group_id: String
    member_id: String | None = field(since=9, default=None, ignorable=True)
    member_epoch: Int32 = field(since=9, default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopic] | None


class OffsetFetchRequest(Request, api_key=9, versions=(1, 10), flexible_since=6):
    """The requested offsets: `group_id` and `topics` up to version 7, later `groups`."""

    group_id: String = field(until=7, default="")
    topics: list[OffsetFetchRequestTopic] | None = field(until=7, nullable_since=2, default=[])
    groups: list[OffsetFetchRequestGroup] = field(since=8, default=[])
    require_stable: Bool = field(since=7, default=False)


class OffsetFetchResponsePartition(Struct):
    """The offset in one partition."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = field(since=5, default=-1, ignorable=True)
    metadata: String | None
    error_code: Int16


class OffsetFetchResponseTopic(Struct):
    """Offsets in one topic."""

    name: String = field(until=9, default="", ignorable=True)
    topic_id: Uuid = field(since=10, default=NO_UUID, ignorable=True)
    partitions: list[OffsetFetchResponsePartition]


class OffsetFetchResponseGroup(Struct):
    """The offsets of one group, from version 8 on."""

    group_id: String
    topics: list[OffsetFetchResponseTopic]
    error_code: Int16 = field(default=0)


class OffsetFetchResponse(Response, api_key=9, versions=(1, 10), flexible_since=6):
    """The offsets: `topics` up to version 7, later `groups`."""

    throttle_time_ms: Int32 = field(since=3, default=0, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field(until=7, default=[])
    error_code: Int16 = field(since=2, until=7, default=0, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field(since=8, default=[])
