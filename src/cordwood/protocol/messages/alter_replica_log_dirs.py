"""AlterReplicaLogDirs: partitions into another directory of the same broker, while they are used.

Version 2 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, String


class AlterReplicaLogDirTopic(Struct):
    """Partitions of one topic."""

    name: String
    partitions: list[Int32]


class AlterReplicaLogDir(Struct):
    """A directory, and what is to lie in it."""

    path: String
    topics: list[AlterReplicaLogDirTopic]


class AlterReplicaLogDirsRequest(Request, api_key=34, versions=(1, 2), flexible_since=2):
    """What is to lie where."""

    dirs: list[AlterReplicaLogDir]


class AlterReplicaLogDirPartitionResult(Struct):
    """How it went with one partition."""

    partition_index: Int32
    error_code: Int16


class AlterReplicaLogDirTopicResult(Struct):
    """How it went with one topic."""

    topic_name: String
    partitions: list[AlterReplicaLogDirPartitionResult]


class AlterReplicaLogDirsResponse(Response, api_key=34, versions=(1, 2), flexible_since=2):
    """Whether the moves have begun."""

    throttle_time_ms: Int32 = field(default=0)
    results: list[AlterReplicaLogDirTopicResult]
