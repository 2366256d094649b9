"""AddPartitionsToTxn: adds partitions to a transaction that will write to them.

Versions 0 to 3 are for clients, with one transaction each. Versions 4 and 5 are for brokers, with
many transactions. They can also verify that a partition is already in its transaction.

    v2  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
    v3  flexible
    v4  `transactions` instead of the single fields
    v5  TRANSACTION_ABORTABLE may be returned
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, Int64, String


class AddPartitionsToTxnTopic(Struct):
    """Partitions of one topic."""

    name: String
    partitions: list[Int32]


class AddPartitionsToTxnTransaction(Struct):
    """One transaction and its partitions, to be added or, with `verify_only`, to be verified."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    verify_only: Bool = field(default=False)
    topics: list[AddPartitionsToTxnTopic]


class AddPartitionsToTxnRequest(Request, api_key=24, versions=(0, 5), flexible_since=3):
    """Clients set the single fields, brokers set `transactions`."""

    transactions: list[AddPartitionsToTxnTransaction] = field(since=4, default=[])
    transactional_id: String = field(until=3, default="", name="V3AndBelowTransactionalId")
    producer_id: Int64 = field(until=3, default=0, name="V3AndBelowProducerId")
    producer_epoch: Int16 = field(until=3, default=0, name="V3AndBelowProducerEpoch")
    topics: list[AddPartitionsToTxnTopic] = field(until=3, default=[], name="V3AndBelowTopics")


class AddPartitionsToTxnPartitionResult(Struct):
    """Result of one partition."""

    partition_index: Int32
    partition_error_code: Int16


class AddPartitionsToTxnTopicResult(Struct):
    """Result of one topic."""

    name: String
    results_by_partition: list[AddPartitionsToTxnPartitionResult]


class AddPartitionsToTxnResult(Struct):
    """Result of one transaction."""

    transactional_id: String
    topic_results: list[AddPartitionsToTxnTopicResult]


class AddPartitionsToTxnResponse(Response, api_key=24, versions=(0, 5), flexible_since=3):
    """`results_by_topic` is for clients, `results_by_transaction` for brokers."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16 = field(since=4, default=0, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = field(since=4, default=[])
    results_by_topic: list[AddPartitionsToTxnTopicResult] = field(
        until=3, default=[], name="ResultsByTopicV3AndBelow"
    )
