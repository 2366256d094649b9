"""JoinGroup: joins the next generation of a classic group; the response waits for all members.

Changes by version:

    v1  the rebalance timeout, apart from the session timeout
    v4  MEMBER_ID_REQUIRED for an empty member id: the member rejoins with the returned id; below
        v4, clients retry forever on that error
    v5  static members
    v6  flexible
    v7  the protocol type in responses, and a nullable protocol name
    v8  the reason of the join, for the log
    v9  the response can require the leader to keep the assignment
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Bytes, Int16, Int32, String


class JoinGroupRequestProtocol(Struct):
    """A protocol and the member's metadata; for consumers a `ConsumerProtocolSubscription`."""

    name: String
    metadata: Bytes


class JoinGroupRequest(Request, api_key=11, versions=(0, 9), flexible_since=6):
    """The member and its supported protocols, in order of preference."""

    group_id: String
    session_timeout_ms: Int32
    #: -1, the default in version 0: the session timeout is used.
    rebalance_timeout_ms: Int32 = field(since=1, default=-1, ignorable=True)
    member_id: String
    group_instance_id: String | None = field(since=5, default=None)
    protocol_type: String
    protocols: list[JoinGroupRequestProtocol]
    reason: String | None = field(since=8, default=None, ignorable=True)


class JoinGroupResponseMember(Struct):
    """A member and its metadata for the selected protocol."""

    member_id: String
    group_instance_id: String | None = field(since=5, default=None, ignorable=True)
    metadata: Bytes


class JoinGroupResponse(Response, api_key=11, versions=(0, 9), flexible_since=6):
    """The generation; the leader also receives the metadata of all members."""

    throttle_time_ms: Int32 = field(since=2, default=0, ignorable=True)
    error_code: Int16
    generation_id: Int32 = field(default=-1)
    protocol_type: String | None = field(since=7, default=None, ignorable=True)
    protocol_name: String | None = field(nullable_since=7)
    leader: String
    skip_assignment: Bool = field(since=9, default=False)
    member_id: String
    #: Empty except for the leader.
    members: list[JoinGroupResponseMember]
