"""AlterReplicaLogDirs: moves replicas to another log directory of the same broker, online.

Version 2 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, String


class AlterReplicaLogDirTopic(Struct):
    """Partitions of one topic."""

    name: String
    partitions: list[Int32]


class AlterReplicaLogDir(Struct):
    """A directory, and the partitions to move into it."""

    path: String
    topics: list[AlterReplicaLogDirTopic]


class AlterReplicaLogDirsRequest(Request, api_key=34, versions=(1, 2), flexible_since=2):
    """The target directories."""

    dirs: list[AlterReplicaLogDir]


class AlterReplicaLogDirPartitionResult(Struct):
    """Result of one partition."""

    partition_index: Int32
    error_code: Int16


class AlterReplicaLogDirTopicResult(Struct):
    """Result of one topic."""

    topic_name: String
    partitions: list[AlterReplicaLogDirPartitionResult]


class AlterReplicaLogDirsResponse(Response, api_key=34, versions=(1, 2), flexible_since=2):
    """Results by partition: whether its move has started."""

    throttle_time_ms: Int32 = field(default=0)
    results: list[AlterReplicaLogDirTopicResult]
