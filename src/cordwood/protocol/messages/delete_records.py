"""DeleteRecords: everything before an offset, out of reach and in time off the disk.

Offset -1 stands for the high watermark. Version 2 is flexible; nothing else ever changed.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, Int64, String


class DeleteRecordsPartition(Struct):
    """The first offset of one partition that stays."""

    partition_index: Int32
    offset: Int64


class DeleteRecordsTopic(Struct):
    """Partitions of one topic."""

    name: String
    partitions: list[DeleteRecordsPartition]


class DeleteRecordsRequest(Request, api_key=21, versions=(0, 2), flexible_since=2):
    """Up to where to delete."""

    topics: list[DeleteRecordsTopic]
    timeout_ms: Int32


class DeleteRecordsPartitionResult(Struct):
    """How it went with one partition; the low watermark is -1 after an error."""

    partition_index: Int32
    low_watermark: Int64
    error_code: Int16


class DeleteRecordsTopicResult(Struct):
    """How it went with one topic."""

    name: String
    partitions: list[DeleteRecordsPartitionResult]


class DeleteRecordsResponse(Response, api_key=21, versions=(0, 2), flexible_since=2):
    """Where the logs start now."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[DeleteRecordsTopicResult]
