"""DescribeLogDirs: the log directories of this broker, with their replicas and sizes.

Changes by version:

    v2  flexible
    v3  an error of the whole request
    v4  size and free space of the volume
    v5  whether a directory is cordoned: it takes no new partitions
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, Int64, String


class DescribableLogDirTopic(Struct):
    """Partitions of one topic."""

    topic: String
    partitions: list[Int32]


class DescribeLogDirsRequest(Request, api_key=35, versions=(1, 5), flexible_since=2):
    """The partitions to describe; None for all."""

    topics: list[DescribableLogDirTopic] | None


class DescribeLogDirsPartition(Struct):
    """The replica of one partition."""

    partition_index: Int32
    partition_size: Int64
    #: Lag behind the high watermark; for a future replica, behind the log that it will replace.
    offset_lag: Int64
    #: Whether this is a future replica, which will replace the log in another directory.
    is_future_key: Bool


class DescribeLogDirsTopic(Struct):
    """The replicas of one topic."""

    name: String
    partitions: list[DescribeLogDirsPartition]


class DescribeLogDirsResult(Struct):
    """One directory."""

    error_code: Int16
    log_dir: String
    topics: list[DescribeLogDirsTopic]
    total_bytes: Int64 = field(since=4, default=-1, ignorable=True)
    usable_bytes: Int64 = field(since=4, default=-1, ignorable=True)
    is_cordoned: Bool = field(since=5, default=False, ignorable=True)


class DescribeLogDirsResponse(Response, api_key=35, versions=(1, 5), flexible_since=2):
    """The directories; an offline one has only its error."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16 = field(since=3, default=0, ignorable=True)
    results: list[DescribeLogDirsResult]
