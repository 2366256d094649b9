"""Metadata: brokers, topics, partitions, leaders and replicas.

Version 0 requests all topics with an empty list. From version 1 on null means all topics, and empty
means none.

    v1   racks, the controller, internal topics
    v2   the cluster id
    v4   a client may disable topic auto-creation
    v5   offline replicas
    v7   leader epochs
    v8   authorized operations, on request
    v9   flexible
    v10  topic ids in responses; v11 moves the cluster's operations to DescribeCluster
    v12  topics may be requested by id
    v13  an error of the whole request
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, String, Uuid


class MetadataRequestTopic(Struct):
    """A topic by name, or by id with a null name."""

    topic_id: Uuid = field(since=10, default=NO_UUID, ignorable=True)
    name: String | None = field(nullable_since=10)


class MetadataRequest(Request, api_key=3, versions=(0, 13), flexible_since=9):
    """The topics to describe."""

    topics: list[MetadataRequestTopic] | None = field(nullable_since=1)
    allow_auto_topic_creation: Bool = field(since=4, default=True)
    include_cluster_authorized_operations: Bool = field(since=8, until=10, default=False)
    include_topic_authorized_operations: Bool = field(since=8, default=False)


class MetadataResponseBroker(Struct):
    """A broker's address on the listener of the request."""

    node_id: Int32
    host: String
    port: Int32
    rack: String | None = field(since=1, default=None, ignorable=True)


class MetadataResponsePartition(Struct):
    """The leader, the replicas and the in-sync replicas of a partition."""

    error_code: Int16
    partition_index: Int32
    #: -1 without a leader; the error code is then set.
    leader_id: Int32
    leader_epoch: Int32 = field(since=7, default=-1, ignorable=True)
    replica_nodes: list[Int32]
    isr_nodes: list[Int32]
    offline_replicas: list[Int32] = field(since=5, default=[], ignorable=True)


class MetadataResponseTopic(Struct):
    """A topic, or the error."""

    error_code: Int16
    name: String | None = field(nullable_since=12)
    topic_id: Uuid = field(since=10, default=NO_UUID, ignorable=True)
    is_internal: Bool = field(since=1, default=False, ignorable=True)
    partitions: list[MetadataResponsePartition]
    #: One bit per operation; INT32_MIN if the request did not ask for it.
    topic_authorized_operations: Int32 = field(since=8, default=-0x80000000)


class MetadataResponse(Response, api_key=3, versions=(0, 13), flexible_since=9):
    """The cluster in this broker's metadata."""

    throttle_time_ms: Int32 = field(since=3, default=0, ignorable=True)
    brokers: list[MetadataResponseBroker]
    cluster_id: String | None = field(since=2, default=None, ignorable=True)
    controller_id: Int32 = field(since=1, default=-1, ignorable=True)
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: Int32 = field(since=8, until=10, default=-0x80000000)
    error_code: Int16 = field(since=13, default=0, ignorable=True)
