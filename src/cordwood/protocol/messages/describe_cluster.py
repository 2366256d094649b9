"""DescribeCluster: the cluster id, its brokers and its controller, without topics.

Changes by version:

    v1  the endpoints to describe: 1 brokers, 2 controllers
    v2  fenced brokers may be included
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, String


class DescribeClusterRequest(Request, api_key=60, versions=(0, 2), flexible_since=0):
    """The parts to describe."""

    include_cluster_authorized_operations: Bool
    endpoint_type: Int8 = field(since=1, default=1)
    include_fenced_brokers: Bool = field(since=2, default=False)


class DescribeClusterBroker(Struct):
    """A broker's address on the listener of the request."""

    broker_id: Int32
    host: String
    port: Int32
    rack: String | None = field(default=None)
    is_fenced: Bool = field(since=2, default=False)


class DescribeClusterResponse(Response, api_key=60, versions=(0, 2), flexible_since=0):
    """The cluster in this broker's metadata."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None = field(default=None)
    endpoint_type: Int8 = field(since=1, default=1)
    cluster_id: String
    controller_id: Int32 = field(default=-1)
    brokers: list[DescribeClusterBroker]
    #: One bit per operation; INT32_MIN if the request did not ask for it.
    cluster_authorized_operations: Int32 = field(default=-0x80000000)
