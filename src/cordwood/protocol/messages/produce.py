"""Produce: record sets for partitions that this broker leads, and where in their logs they went.

Brokers advertise it from version 0 on, because old librdkafka takes a missing 0 for a broker that
cannot compress; what is declared is what is served. Every version carries v2 batches.

    v3   the transactional id, and the first with headers, idempotence and transactions
    v5   answers say where the log starts, which tells an expired sequence from a lost one
    v7   zstd may be used
    v8   answers name the records that got a batch refused
    v9   flexible
    v10  answers carry the new leader when this broker is not it
    v11  TRANSACTION_ABORTABLE may be answered
    v12  a transactional batch adds its partition to the transaction by itself, where
         transaction.version 2 is finalized
    v13  topics by id alone; a stale id is UNKNOWN_TOPIC_ID

With acks 0 there is no answer at all.
"""

from cordwood.core.ids import NO_UUID
from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, Int64, Records, String, Uuid


class PartitionProduceData(Struct):
    """One partition's record set; Kafka lets it be null and then refuses it."""

    index: Int32
    records: Records | None


class TopicProduceData(Struct):
    """What one topic's partitions get."""

    name: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[PartitionProduceData] = field(name="PartitionData")


class ProduceRequest(Request, api_key=0, versions=(3, 13), flexible_since=9):
    """Record sets to append, at most one a partition."""

    transactional_id: String | None = field(default=None)
    #: 0 wants no answer, 1 the leader's word, -1 that of every replica in sync.
    acks: Int16
    timeout_ms: Int32
    topics: list[TopicProduceData] = field(name="TopicData")


class BatchIndexAndErrorMessage(Struct):
    """A record that had its whole batch refused, and why."""

    #: The record's place in its batch, counted from 0.
    batch_index: Int32
    batch_index_error_message: String | None = field(default=None)


class PartitionProduceResponse(Struct):
    """How it went with one partition."""

    index: Int32
    error_code: Int16
    base_offset: Int64
    #: The broker's time if the topic says LogAppendTime, else -1: the producer's times were kept.
    log_append_time_ms: Int64 = field(default=-1)
    log_start_offset: Int64 = field(since=5, default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = field(since=8, default=[], ignorable=True)
    #: For people; it explains `record_errors` as a whole.
    error_message: String | None = field(since=8, default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch | None = field(since=10, tag=0, default=None)


class TopicProduceResponse(Struct):
    """How it went with one topic."""

    name: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[PartitionProduceResponse] = field(name="PartitionResponses")


class ProduceResponse(Response, api_key=0, versions=(3, 13), flexible_since=9):
    """Where each record set went, or why not; in the order of the request."""

    responses: list[TopicProduceResponse]
    throttle_time_ms: Int32 = field(default=0)
    node_endpoints: list[NodeEndpoint] = field(since=10, tag=0, default=[])
