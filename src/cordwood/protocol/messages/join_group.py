"""JoinGroup: into the next generation of a classic group; answered when all members have joined.

v1  the time a rebalance may take apart from the time a member may be silent
v4  MEMBER_ID_REQUIRED answers an empty member id, and the member joins again with the id it
    got; below 4 clients loop on that error for ever
v5  static members
v6  flexible
v7  the protocol type in answers, and a protocol name that may be null
v8  why a member joins, for the log
v9  a leader may be told to leave the assignment as it is
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bool, Bytes, Int16, Int32, String


class JoinGroupRequestProtocol(Struct):
    """A protocol and what the member says in it; for consumers a `ConsumerProtocolSubscription`."""

    name: String
    metadata: Bytes


class JoinGroupRequest(Request, api_key=11, versions=(0, 9), flexible_since=6):
    """Who joins, and which protocols it could follow, the preferred first."""

    group_id: String
    session_timeout_ms: Int32
    #: -1, as of version 0: the session timeout counts.
    rebalance_timeout_ms: Int32 = field(since=1, default=-1, ignorable=True)
    member_id: String
    group_instance_id: String | None = field(since=5, default=None)
    protocol_type: String
    protocols: list[JoinGroupRequestProtocol]
    reason: String | None = field(since=8, default=None, ignorable=True)


class JoinGroupResponseMember(Struct):
    """A member, and what it says in the protocol that was chosen."""

    member_id: String
    group_instance_id: String | None = field(since=5, default=None, ignorable=True)
    metadata: Bytes


class JoinGroupResponse(Response, api_key=11, versions=(0, 9), flexible_since=6):
    """The generation; the leader gets all members' words as well."""

    throttle_time_ms: Int32 = field(since=2, default=0, ignorable=True)
    error_code: Int16
    generation_id: Int32 = field(default=-1)
    protocol_type: String | None = field(since=7, default=None, ignorable=True)
    protocol_name: String | None = field(nullable_since=7)
    leader: String
    skip_assignment: Bool = field(since=9, default=False)
    member_id: String
    #: Empty for everybody but the leader.
    members: list[JoinGroupResponseMember]
