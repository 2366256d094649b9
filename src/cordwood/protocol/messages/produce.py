"""Produce: appends record sets to partitions that this broker leads.

Brokers advertise the API from version 0 on, because old librdkafka versions assume that a broker
without version 0 cannot compress. The declared versions are the served ones. Every version carries
v2 batches.

    v3   the transactional id; the first version with headers, idempotence and transactions
    v5   log start offsets in responses, to distinguish an expired sequence from a lost one
    v7   zstd is allowed
    v8   responses list the records that caused the rejection of a batch
    v9   flexible
    v10  responses contain the new leader if this broker is not the leader
    v11  TRANSACTION_ABORTABLE may be returned
    v12  with transaction.version 2, a transactional batch adds its partition to the transaction
    v13  topics by id only; an outdated id gives UNKNOWN_TOPIC_ID

With acks 0 there is no response.
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, Records, String, Uuid


class PartitionProduceData(Struct):
    """One partition's record set; Kafka's definition allows null, and the broker rejects it."""

    index: Int32
    records: Records | None


class TopicProduceData(Struct):
    """The record sets of one topic."""

    name: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[PartitionProduceData] = field(name="PartitionData")


class ProduceRequest(Request, api_key=0, versions=(3, 13), flexible_since=9):
    """Record sets to append, at most one per partition."""

    transactional_id: String | None = field(default=None)
    #: 0: no response; 1: acknowledged by the leader; -1: by all in-sync replicas.
    acks: Int16
    timeout_ms: Int32
    topics: list[TopicProduceData] = field(name="TopicData")


class BatchIndexAndErrorMessage(Struct):
    """A record that caused the rejection of its batch, and the reason."""

    #: The record's index in its batch, from 0.
    batch_index: Int32
    batch_index_error_message: String | None = field(default=None)


class PartitionProduceResponse(Struct):
    """Result of one partition."""

    index: Int32
    error_code: Int16
    base_offset: Int64
    #: The broker's time with LogAppendTime; -1 if the producer's timestamps were kept.
    log_append_time_ms: Int64 = field(default=-1)
    log_start_offset: Int64 = field(since=5, default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = field(since=8, default=[], ignorable=True)
    #: A readable summary of `record_errors`.
    error_message: String | None = field(since=8, default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch | None = field(since=10, tag=0, default=None)


class TopicProduceResponse(Struct):
    """Result of one topic."""

    name: String = field(until=12, default="", ignorable=True)
    topic_id: Uuid = field(since=13, default=NO_UUID, ignorable=True)
    partitions: list[PartitionProduceResponse] = field(name="PartitionResponses")


class ProduceResponse(Response, api_key=0, versions=(3, 13), flexible_since=9):
    """Results by partition, in request order."""

    responses: list[TopicProduceResponse]
    throttle_time_ms: Int32 = field(default=0)
    node_endpoints: list[NodeEndpoint] = field(since=10, tag=0, default=[])
