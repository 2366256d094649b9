"""Fetch: batches from an offset on, for consumers and followers; it waits until there is enough.

    v4   isolation levels; the first whose readers all know v2 batches
    v5   followers say where their logs start, answers where the leader's do
    v7   sessions: only what changed is asked for and answered
    v9   the leader's epoch as the reader knows it fences readers and leaders that are behind
    v10  zstd batches may be sent; below, a log that has them answers UNSUPPORTED_COMPRESSION_TYPE
    v11  the reader's rack, and the replica it should rather read from
    v12  flexible; the epoch of the last record that was read finds out where logs diverged
    v13  topics by id alone; a stale id is UNKNOWN_TOPIC_ID
    v14  OFFSET_MOVED_TO_TIERED_STORAGE may be answered to followers
    v15  a follower shows its broker epoch beside its id, under a tag
    v16  answers carry the new leader's address when this broker is not the leader
    v17  the follower's log directory
    v18  the follower's high watermark

The first batch is answered whole even if it is larger than every limit, and it may begin before
the offset that was asked for.
"""

from cordwood.core.ids import NO_UUID
from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int8, Int16, Int32, Int64, Records, String, Uuid


class ReplicaState(Struct):
    """Which follower asks; a consumer leaves it out."""

    replica_id: Int32 = field(default=-1)
    replica_epoch: Int64 = field(default=-1)


class FetchPartition(Struct):
    """From where to read one partition, and how much at most."""

    partition: Int32
    current_leader_epoch: Int32 = field(since=9, default=-1, ignorable=True)
    fetch_offset: Int64
    last_fetched_epoch: Int32 = field(since=12, default=-1)
    log_start_offset: Int64 = field(since=5, default=-1, ignorable=True)
    partition_max_bytes: Int32
    replica_directory_id: Uuid = field(since=17, tag=0, default=NO_UUID, ignorable=True)
    #: As the follower knows it: -1 where it does not, the largest value where it never will.
    high_watermark: Int64 = field(since=18, tag=1, default=0x7FFFFFFFFFFFFFFF, ignorable=True)


class FetchTopic(Struct):
    """Partitions of one topic to read."""

    topic: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[FetchPartition]


class ForgottenTopic(Struct):
    """Partitions that leave the session."""

    topic: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[Int32]


class FetchRequest(Request, api_key=1, versions=(4, 18), flexible_since=12):
    """What to read, how much of it, and how long to wait for it."""

    cluster_id: String | None = field(since=12, tag=0, default=None, ignorable=True)
    #: -1 for consumers; from version 15 on followers use `replica_state`.
    replica_id: Int32 = field(until=14, default=-1)
    replica_state: ReplicaState | None = field(since=15, tag=1, default=None)
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = field(default=0x7FFFFFFF)
    #: 0 reads everything below the high watermark, 1 only up to the last stable offset.
    isolation_level: Int8 = field(default=0)
    session_id: Int32 = field(since=7, default=0, ignorable=True)
    #: 0 opens a session, -1 goes without or closes one; else it counts the requests of the
    #: session.
    session_epoch: Int32 = field(since=7, default=-1, ignorable=True)
    topics: list[FetchTopic]
    forgotten_topics: list[ForgottenTopic] = field(since=7, default=[], name="ForgottenTopicsData")
    rack_id: String = field(since=11, default="", ignorable=True)


class EpochEndOffset(Struct):
    """Where the reader's log left the leader's: the largest epoch that both know, and its end."""

    epoch: Int32 = field(default=-1)
    end_offset: Int64 = field(default=-1)


class SnapshotId(Struct):
    """The snapshot to fetch instead: it covers offsets below `end_offset`. KRaft's own log only."""

    end_offset: Int64 = field(default=-1)
    epoch: Int32 = field(default=-1)


class AbortedTransaction(Struct):
    """A transaction that was aborted, and the offset with which it began."""

    producer_id: Int64
    first_offset: Int64


class PartitionData(Struct):
    """What was read from one partition, and how far it reaches."""

    partition_index: Int32
    error_code: Int16
    high_watermark: Int64
    last_stable_offset: Int64 = field(default=-1)
    log_start_offset: Int64 = field(since=5, default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset | None = field(since=12, tag=0, default=None)
    current_leader: LeaderIdAndEpoch | None = field(since=12, tag=1, default=None)
    snapshot_id: SnapshotId | None = field(since=12, tag=2, default=None)
    #: Ascending by first offset: clients consume it in that order. None with isolation level 0.
    aborted_transactions: list[AbortedTransaction] | None
    preferred_read_replica: Int32 = field(since=11, default=-1)
    #: Whole batches, none of them decoded; the last one may be cut off.
    records: Records | None


class FetchableTopicResponse(Struct):
    """What was read from one topic."""

    topic: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[PartitionData]


class FetchResponse(Response, api_key=1, versions=(4, 18), flexible_since=12):
    """What was read. Within a session, partitions that have nothing new are left out."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16 = field(since=7, default=0, ignorable=True)
    session_id: Int32 = field(since=7, default=0)
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint] = field(since=16, tag=0, default=[])
