"""Current leader and its address in responses of Produce, Fetch and the share group APIs.

A client that used an outdated leader finds the right broker without a metadata request.
"""

from cordwood.protocol.schema import Struct, field
from cordwood.protocol.wire_types import Int32, String


class LeaderIdAndEpoch(Struct):
    """The leader and its epoch in the broker's metadata; -1 if unknown."""

    leader_id: Int32
    leader_epoch: Int32


class NodeEndpoint(Struct):
    """The address of a leader in the response, on the listener of the request."""

    node_id: Int32
    host: String
    port: Int32
    rack: String | None = field(default=None)
