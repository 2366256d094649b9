"""Fetch: batches from an offset on, for consumers and followers, with a long poll.

    v4   isolation levels; the first version whose readers all support v2 batches
    v5   log start offsets of followers in requests, of the leader in responses
    v7   fetch sessions: only changes are requested and returned
    v9   the reader's leader epoch fences outdated readers and outdated leaders
    v10  zstd batches are allowed; below, a log that has them gives UNSUPPORTED_COMPRESSION_TYPE
    v11  the reader's rack, and the preferred read replica
    v12  flexible; the epoch of the last fetched record, to detect diverging logs
    v13  topics by id only; an outdated id gives UNKNOWN_TOPIC_ID
    v14  OFFSET_MOVED_TO_TIERED_STORAGE may be returned to followers
    v15  a follower's broker epoch next to its id, in a tagged field
    v16  responses contain the new leader's address if this broker is not the leader
    v17  the follower's log directory
    v18  the follower's high watermark

The first batch is returned completely even if it exceeds every limit. It may begin before the
requested offset.
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, Int64, Records, String, Uuid


class ReplicaState(Struct):
    """The follower that sends the request; a consumer omits it."""

    replica_id: Int32 = field(default=-1)
    replica_epoch: Int64 = field(default=-1)


class FetchPartition(Struct):
    """The fetch offset and the limit of one partition."""

    partition: Int32
    current_leader_epoch: Int32 = field(since=9, default=-1, ignorable=True)
    fetch_offset: Int64
    last_fetched_epoch: Int32 = field(since=12, default=-1)
    log_start_offset: Int64 = field(since=5, default=-1, ignorable=True)
    partition_max_bytes: Int32
    replica_directory_id: Uuid = field(since=17, tag=0, default=NO_UUID, ignorable=True)
    #: The follower's high watermark; -1 if unknown, the largest value if it is never known.
    high_watermark: Int64 = field(since=18, tag=1, default=0x7FFFFFFFFFFFFFFF, ignorable=True)


class FetchTopic(Struct):
    """Partitions of one topic to fetch."""

    topic: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[FetchPartition]


class ForgottenTopic(Struct):
    """Partitions to remove from the session."""

    topic: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[Int32]


class FetchRequest(Request, api_key=1, versions=(4, 18), flexible_since=12):
    """The partitions to fetch, and the limits of size and time."""

    cluster_id: String | None = field(since=12, tag=0, default=None, ignorable=True)
    #: -1 for consumers; from version 15 on, followers set `replica_state` instead.
    replica_id: Int32 = field(until=14, default=-1)
    replica_state: ReplicaState | None = field(since=15, tag=1, default=None)
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = field(default=0x7FFFFFFF)
    #: 0 reads everything below the high watermark, 1 only up to the last stable offset.
    isolation_level: Int8 = field(default=0)
    session_id: Int32 = field(since=7, default=0, ignorable=True)
    #: 0 opens a session, -1 closes it or fetches without one; other values count the
    #: session's requests.
    session_epoch: Int32 = field(since=7, default=-1, ignorable=True)
    topics: list[FetchTopic]
    forgotten_topics: list[ForgottenTopic] = field(since=7, default=[], name="ForgottenTopicsData")
    rack_id: String = field(since=11, default="", ignorable=True)


class EpochEndOffset(Struct):
    """Point of divergence: the largest common epoch of reader and leader, and its end offset."""

    epoch: Int32 = field(default=-1)
    end_offset: Int64 = field(default=-1)


class SnapshotId(Struct):
    """The snapshot to fetch instead, with the offsets below `end_offset`; for KRaft's log only."""

    end_offset: Int64 = field(default=-1)
    epoch: Int32 = field(default=-1)


class AbortedTransaction(Struct):
    """An aborted transaction and its first offset."""

    producer_id: Int64
    first_offset: Int64


class PartitionData(Struct):
    """The fetched batches and the offsets of one partition."""

    partition_index: Int32
    error_code: Int16
    high_watermark: Int64
    last_stable_offset: Int64 = field(default=-1)
    log_start_offset: Int64 = field(since=5, default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset | None = field(since=12, tag=0, default=None)
    current_leader: LeaderIdAndEpoch | None = field(since=12, tag=1, default=None)
    snapshot_id: SnapshotId | None = field(since=12, tag=2, default=None)
    #: Sorted by first offset, the order in which clients use it. None with isolation level 0.
    aborted_transactions: list[AbortedTransaction] | None
    preferred_read_replica: Int32 = field(since=11, default=-1)
    #: Encoded batches; the last one may be incomplete.
    records: Records | None


class FetchableTopicResponse(Struct):
    """The fetched partitions of one topic."""

    topic: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[PartitionData]


class FetchResponse(Response, api_key=1, versions=(4, 18), flexible_since=12):
    """The fetched data. Within a session, unchanged partitions are omitted."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16 = field(since=7, default=0, ignorable=True)
    session_id: Int32 = field(since=7, default=0)
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint] = field(since=16, tag=0, default=[])
