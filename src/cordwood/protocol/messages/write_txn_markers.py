"""WriteTxnMarkers: a coordinator's request to leaders to append transaction markers.

Administrators also send it, to end a hanging transaction. Both versions are flexible. Version 2
adds the transaction.version that determines the check of the epoch.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, Int64, String


class WritableTxnMarkerTopic(Struct):
    """Partitions of one topic."""

    name: String
    partition_indexes: list[Int32]


class WritableTxnMarker(Struct):
    """The marker of one transaction; a true result is a commit."""

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
    """Result of one partition."""

    partition_index: Int32
    error_code: Int16


class WritableTxnMarkerTopicResult(Struct):
    """Result of one topic."""

    name: String
    partitions: list[WritableTxnMarkerPartitionResult]


class WritableTxnMarkerResult(Struct):
    """Result of one marker."""

    producer_id: Int64
    topics: list[WritableTxnMarkerTopicResult]


class WriteTxnMarkersResponse(Response, api_key=27, versions=(1, 2), flexible_since=1):
    """Results by marker."""

    markers: list[WritableTxnMarkerResult]
