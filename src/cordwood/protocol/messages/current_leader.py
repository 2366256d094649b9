"""Who leads a partition now: told to clients that asked the wrong broker, by Produce, Fetch and the
share group APIs, so that they find the right one without asking for metadata.
"""

from cordwood.protocol.schema import Struct, field
from cordwood.protocol.wire import Int32, String


class LeaderIdAndEpoch(Struct):
    """The leader that the answering broker knows of, and its epoch; -1 if it knows none."""

    leader_id: Int32
    leader_epoch: Int32


class NodeEndpoint(Struct):
    """Where one of the leaders named in an answer is reached, on the listener that was asked."""

    node_id: Int32
    host: String
    port: Int32
    rack: String | None = field(default=None)
