"""DescribeProducers: the producers that a partition's leader remembers, with open transactions."""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, Int64, String


class TopicRequest(Struct):
    """Partitions of one topic."""

    name: String
    partition_indexes: list[Int32]


class DescribeProducersRequest(Request, api_key=61, versions=(0, 0), flexible_since=0):
    """The partitions to tell of."""

    topics: list[TopicRequest]


class ProducerState(Struct):
    """What is known of one producer; its epoch is wider here than anywhere else."""

    producer_id: Int64
    producer_epoch: Int32
    last_sequence: Int32 = field(default=-1)
    last_timestamp: Int64 = field(default=-1)
    coordinator_epoch: Int32
    #: -1 while no transaction is open.
    current_txn_start_offset: Int64 = field(default=-1)


class PartitionResponse(Struct):
    """The producers of one partition, or why they cannot be told."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = field(default=None)
    active_producers: list[ProducerState]


class TopicResponse(Struct):
    """The producers of one topic."""

    name: String
    partitions: list[PartitionResponse]


class DescribeProducersResponse(Response, api_key=61, versions=(0, 0), flexible_since=0):
    """The producers, partition by partition."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[TopicResponse]
