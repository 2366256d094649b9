"""DescribeProducers: producer states of a partition's leader, with open transactions."""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String


class TopicRequest(Struct):
    """Partitions of one topic."""

    name: String
    partition_indexes: list[Int32]


class DescribeProducersRequest(Request, api_key=61, versions=(0, 0), flexible_since=0):
    """The partitions to describe."""

    topics: list[TopicRequest]


class ProducerState(Struct):
    """State of one producer; its epoch is wider here than in every other API."""

    producer_id: Int64
    producer_epoch: Int32
    last_sequence: Int32 = field(default=-1)
    last_timestamp: Int64 = field(default=-1)
    coordinator_epoch: Int32
    #: -1 without an open transaction.
    current_txn_start_offset: Int64 = field(default=-1)


class PartitionResponse(Struct):
    """The producers of one partition, or the error."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = field(default=None)
    active_producers: list[ProducerState]


class TopicResponse(Struct):
    """The producers of one topic."""

    name: String
    partitions: list[PartitionResponse]


class DescribeProducersResponse(Response, api_key=61, versions=(0, 0), flexible_since=0):
    """The producers by partition."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[TopicResponse]
