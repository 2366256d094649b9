"""ShareAcknowledge: acknowledges records that a share group's member had acquired.

Types: 0 gap (no record), 1 accept, 2 release for redelivery, 3 reject, and from version 2 on 4
renew, which extends the acquisition.
"""

from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, Int64, String, Uuid


class AcknowledgementBatch(Struct):
    """Acknowledgement of an offset range: one type for all offsets, or one per offset."""

    first_offset: Int64
    last_offset: Int64
    acknowledge_types: list[Int8]


class AcknowledgePartition(Struct):
    """Acknowledgements in one partition."""

    partition_index: Int32
    acknowledgement_batches: list[AcknowledgementBatch]


class AcknowledgeTopic(Struct):
    """Acknowledgements in one topic."""

    topic_id: Uuid
    partitions: list[AcknowledgePartition]


class ShareAcknowledgeRequest(Request, api_key=79, versions=(1, 2), flexible_since=0):
    """Acknowledgements within a share session; epoch -1 closes it."""

    group_id: String | None = field(default=None)
    member_id: String | None
    share_session_epoch: Int32
    is_renew_ack: Bool = field(since=2, default=False)
    topics: list[AcknowledgeTopic]


class PartitionData(Struct):
    """Result of one partition."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = field(default=None)
    current_leader: LeaderIdAndEpoch


class ShareAcknowledgeTopicResponse(Struct):
    """Result of one topic."""

    topic_id: Uuid
    partitions: list[PartitionData]


class ShareAcknowledgeResponse(Response, api_key=79, versions=(1, 2), flexible_since=0):
    """Results by partition."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None = field(default=None)
    acquisition_lock_timeout_ms: Int32 = field(since=2, default=0, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse]
    node_endpoints: list[NodeEndpoint]
