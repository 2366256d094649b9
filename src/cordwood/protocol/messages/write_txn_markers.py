"""WriteTxnMarkers: a coordinator has leaders write the ends of transactions into their logs.

Administrators send it too, to end a transaction that hangs. Both versions are flexible; version 2
says by which transaction.version the epoch is to be checked.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bool, Int8, Int16, Int32, Int64, String


class WritableTxnMarkerTopic(Struct):
    """Partitions of one topic."""

    name: String
    partition_indexes: list[Int32]


class WritableTxnMarker(Struct):
    """The end of one transaction; a true result is a commit."""

    producer_id: Int64
    producer_epoch: Int16
    transaction_result: Bool
    topics: list[WritableTxnMarkerTopic]
    coordinator_epoch: Int32
    transaction_version: Int8 = field(since=2, default=0, ignorable=True)


class WriteTxnMarkersRequest(Request, api_key=27, versions=(1, 2), flexible_since=1):
    """The markers to write."""

    markers: list[WritableTxnMarker]


class WritableTxnMarkerPartitionResult(Struct):
    """How it went with one partition."""

    partition_index: Int32
    error_code: Int16


class WritableTxnMarkerTopicResult(Struct):
    """How it went with one topic."""

    name: String
    partitions: list[WritableTxnMarkerPartitionResult]


class WritableTxnMarkerResult(Struct):
    """How it went with one marker."""

    producer_id: Int64
    topics: list[WritableTxnMarkerTopicResult]


class WriteTxnMarkersResponse(Response, api_key=27, versions=(1, 2), flexible_since=1):
    """How it went, marker by marker."""

    markers: list[WritableTxnMarkerResult]
