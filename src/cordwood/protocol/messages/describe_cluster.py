"""DescribeCluster: the cluster's id, its brokers and its controller, without any topic.

v1  the endpoints to tell of: 1 brokers, 2 controllers
v2  brokers that are fenced may be asked for
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bool, Int8, Int16, Int32, String


class DescribeClusterRequest(Request, api_key=60, versions=(0, 2), flexible_since=0):
    """What to tell."""

    include_cluster_authorized_operations: Bool
    endpoint_type: Int8 = field(since=1, default=1)
    include_fenced_brokers: Bool = field(since=2, default=False)


class DescribeClusterBroker(Struct):
    """A broker, reached through the listener that was asked."""

    broker_id: Int32
    host: String
    port: Int32
    rack: String | None = field(default=None)
    is_fenced: Bool = field(since=2, default=False)


class DescribeClusterResponse(Response, api_key=60, versions=(0, 2), flexible_since=0):
    """The cluster as this broker knows it."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None = field(default=None)
    endpoint_type: Int8 = field(since=1, default=1)
    cluster_id: String
    controller_id: Int32 = field(default=-1)
    brokers: list[DescribeClusterBroker]
    #: A bit an operation; the smallest number where nobody asked.
    cluster_authorized_operations: Int32 = field(default=-0x80000000)
