"""DescribeQuorum: who votes in KRaft's quorum, and how far each of them is.

v1  when a replica last fetched, and when it last was level with the leader
v2  messages beside errors, directories, and the addresses of the nodes
"""

from cordwood.core.ids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, Int64, String, UInt16, Uuid


class QuorumPartition(Struct):
    """One partition."""

    partition_index: Int32


class QuorumTopic(Struct):
    """Partitions of one topic."""

    topic_name: String
    partitions: list[QuorumPartition]


class DescribeQuorumRequest(Request, api_key=55, versions=(0, 2), flexible_since=0):
    """The partitions to tell of; there is one, of the metadata log."""

    topics: list[QuorumTopic]


class ReplicaState(Struct):
    """How far one replica is; times are -1 where they are not known."""

    replica_id: Int32
    replica_directory_id: Uuid = field(since=2, default=NO_UUID)
    log_end_offset: Int64
    last_fetch_timestamp: Int64 = field(since=1, default=-1, ignorable=True)
    last_caught_up_timestamp: Int64 = field(since=1, default=-1, ignorable=True)


class QuorumPartitionState(Struct):
    """Who leads a partition, who votes and who looks on."""

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
    """A member of the quorum, and where it is reached."""

    node_id: Int32
    listeners: list[Listener]


class DescribeQuorumResponse(Response, api_key=55, versions=(0, 2), flexible_since=0):
    """The state of the quorum."""

    error_code: Int16
    error_message: String | None = field(since=2, default="", ignorable=True)
    topics: list[QuorumTopicState]
    nodes: list[Node] = field(since=2, default=[])
