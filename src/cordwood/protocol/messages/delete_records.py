"""DeleteRecords: advances the log start offset; whole segments below it are deleted later.

Offset -1 stands for the high watermark. Version 2 is flexible, the only change so far.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String


class DeleteRecordsPartition(Struct):
    """The new log start offset of one partition."""

    partition_index: Int32
    offset: Int64


class DeleteRecordsTopic(Struct):
    """Partitions of one topic."""

    name: String
    partitions: list[DeleteRecordsPartition]


class DeleteRecordsRequest(Request, api_key=21, versions=(0, 2), flexible_since=2):
    """The new log start offsets."""

    topics: list[DeleteRecordsTopic]
    timeout_ms: Int32


class DeleteRecordsPartitionResult(Struct):
    """Result of one partition; the low watermark is -1 after an error."""

    partition_index: Int32
    low_watermark: Int64
    error_code: Int16


class DeleteRecordsTopicResult(Struct):
    """Result of one topic."""

    name: String
    partitions: list[DeleteRecordsPartitionResult]


class DeleteRecordsResponse(Response, api_key=21, versions=(0, 2), flexible_since=2):
    """The resulting log start offsets."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[DeleteRecordsTopicResult]
