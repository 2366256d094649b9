"""DescribeQuorum: voters and observers of the KRaft quorum, and their log end offsets.

Changes by version:

    v1  times of a replica's last fetch, and of the last time it was caught up
    v2  error messages, directories, and the addresses of the nodes
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String, UInt16, Uuid


class QuorumPartition(Struct):
    """One partition."""

    partition_index: Int32


class QuorumTopic(Struct):
    """Partitions of one topic."""

    topic_name: String
    partitions: list[QuorumPartition]


class DescribeQuorumRequest(Request, api_key=55, versions=(0, 2), flexible_since=0):
    """The partitions to describe; the only one is that of the metadata log."""

    topics: list[QuorumTopic]


class ReplicaState(Struct):
    """The log end offset of one replica; times are -1 if unknown."""

    replica_id: Int32
    replica_directory_id: Uuid = field(since=2, default=NO_UUID)
    log_end_offset: Int64
    last_fetch_timestamp: Int64 = field(since=1, default=-1, ignorable=True)
    last_caught_up_timestamp: Int64 = field(since=1, default=-1, ignorable=True)


class QuorumPartitionState(Struct):
    """The leader, the voters and the observers of one partition."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = field(since=2, default="", ignorable=True)
    leader_id: Int32
    leader_epoch: Int32
    high_watermark: Int64
    current_voters: list[ReplicaState]
    observers: list[ReplicaState]


class QuorumTopicState(Struct):
    """The state of one topic."""

    topic_name: String
    partitions: list[QuorumPartitionState]


class Listener(Struct):
    """An address of a node."""

    name: String
    host: String
    port: UInt16


class Node(Struct):
    """A member of the quorum and its addresses."""

    node_id: Int32
    listeners: list[Listener]


class DescribeQuorumResponse(Response, api_key=55, versions=(0, 2), flexible_since=0):
    """The state of the quorum."""

    error_code: Int16
    error_message: String | None = field(since=2, default="", ignorable=True)
    topics: list[QuorumTopicState]
    nodes: list[Node] = field(since=2, default=[])
