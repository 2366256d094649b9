"""ControlledShutdown: a broker's request to the controller to move its leaderships before it stops.

Between brokers; the last versions are Kafka 3.9's. A request of version 0 has no client id in its
header. Version 2 adds the broker's epoch; version 3 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String


class ControlledShutdownRequest(Request, api_key=7, versions=(0, 3), flexible_since=3):
    """The broker that will stop."""

    broker_id: Int32
    broker_epoch: Int64 = field(since=2, default=-1, ignorable=True)


class RemainingPartition(Struct):
    """A partition that the broker still leads."""

    topic_name: String
    partition_index: Int32


class ControlledShutdownResponse(Response, api_key=7, versions=(0, 3), flexible_since=3):
    """The partitions that the broker still leads; it repeats the request until there are none."""

    error_code: Int16
    remaining_partitions: list[RemainingPartition]
