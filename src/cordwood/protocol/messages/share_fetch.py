"""ShareFetch: acquires records for a share group's member, and acknowledges earlier ones.

Acquired records are locked for a time and redelivered unless they are acknowledged, with the types
of ShareAcknowledge. Version 2 can limit the number of records exactly (acquire mode 1) instead of
whole batches (0), and can renew acquisitions.
"""

from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.messages.share_acknowledge import AcknowledgementBatch
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, Int64, Records, String, Uuid


class FetchPartition(Struct):
    """One partition to fetch, and acknowledgements for it."""

    partition_index: Int32
    acknowledgement_batches: list[AcknowledgementBatch]


class FetchTopic(Struct):
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[FetchPartition]


class ForgottenTopic(Struct):
    """Partitions to remove from the session."""

    topic_id: Uuid
    partitions: list[Int32]


class ShareFetchRequest(Request, api_key=78, versions=(1, 2), flexible_since=0):
    """The partitions to fetch within a share session; epoch 0 opens it, -1 closes it."""

    group_id: String | None = field(default=None)
    member_id: String | None
    share_session_epoch: Int32
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = field(default=0x7FFFFFFF)
    max_records: Int32
    batch_size: Int32
    share_acquire_mode: Int8 = field(since=2, default=0, ignorable=True)
    is_renew_ack: Bool = field(since=2, default=False)
    topics: list[FetchTopic]
    forgotten_topics: list[ForgottenTopic] = field(name="ForgottenTopicsData")


class AcquiredRecords(Struct):
    """Offsets that the member has acquired, and their delivery count."""

    first_offset: Int64
    last_offset: Int64
    delivery_count: Int16


class PartitionData(Struct):
    """The fetched records of one partition, and the result of its acknowledgements."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = field(default=None)
    acknowledge_error_code: Int16
    acknowledge_error_message: String | None = field(default=None)
    current_leader: LeaderIdAndEpoch
    records: Records
    acquired_records: list[AcquiredRecords]


class ShareFetchableTopicResponse(Struct):
    """The fetched partitions of one topic."""

    topic_id: Uuid
    partitions: list[PartitionData]


class ShareFetchResponse(Response, api_key=78, versions=(1, 2), flexible_since=0):
    """The fetched and acquired records."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None = field(default=None)
    acquisition_lock_timeout_ms: Int32
    responses: list[ShareFetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]
