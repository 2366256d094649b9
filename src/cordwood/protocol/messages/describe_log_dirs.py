"""DescribeLogDirs: the log directories of this broker, what lies in them and how large it is.

v2  flexible
v3  an error of the whole request
v4  room on the volume, in all and left
v5  whether a directory takes no new partitions
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bool, Int16, Int32, Int64, String


class DescribableLogDirTopic(Struct):
    """Partitions of one topic."""

    topic: String
    partitions: list[Int32]


class DescribeLogDirsRequest(Request, api_key=35, versions=(1, 5), flexible_since=2):
    """The partitions to tell of; None for all."""

    topics: list[DescribableLogDirTopic] | None


class DescribeLogDirsPartition(Struct):
    """What it has of one partition."""

    partition_index: Int32
    partition_size: Int64
    #: Behind the high watermark; a future copy's behind the log it is to replace.
    offset_lag: Int64
    #: A copy that is to replace the log in another directory.
    is_future_key: Bool


class DescribeLogDirsTopic(Struct):
    """What it has of one topic."""

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
    """The directories; those that are offline only with their error."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16 = field(since=3, default=0, ignorable=True)
    results: list[DescribeLogDirsResult]
