"""FindCoordinator: the coordinator of a group or a transactional id.

Key types: 0 a group, 1 a transactional id, 2 a share partition as group:topicId:partition.

    v0  groups only; v1 adds the key type
    v3  flexible
    v4  several keys: `coordinator_keys` and `coordinators` instead of the single fields
    v5  TRANSACTION_ABORTABLE may be returned
    v6  share partitions
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, String


class FindCoordinatorRequest(Request, api_key=10, versions=(0, 6), flexible_since=3):
    """The keys to look up: `key` up to version 3, `coordinator_keys` from 4 on."""

    key: String = field(until=3, default="")
    key_type: Int8 = field(since=1, default=0)
    coordinator_keys: list[String] = field(since=4, default=[])


class Coordinator(Struct):
    """The coordinator of one key, or the error."""

    key: String
    node_id: Int32
    host: String
    port: Int32
    error_code: Int16
    error_message: String | None


class FindCoordinatorResponse(Response, api_key=10, versions=(0, 6), flexible_since=3):
    """The coordinators: the single fields up to version 3, `coordinators` from 4 on."""

    throttle_time_ms: Int32 = field(since=1, default=0, ignorable=True)
    error_code: Int16 = field(until=3, default=0)
    error_message: String | None = field(since=1, until=3, default="", ignorable=True)
    node_id: Int32 = field(until=3, default=0)
    host: String = field(until=3, default="")
    port: Int32 = field(until=3, default=0)
    coordinators: list[Coordinator] = field(since=4, default=[])
