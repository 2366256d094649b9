"""ControlledShutdown: a broker has the controller take leadership from it before it stops.

Between brokers; Kafka 3.9's is the last.
Version 0 comes without a client id in its header. Version 2 shows the broker's epoch, version 3 is
flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, Int64, String


class ControlledShutdownRequest(Request, api_key=7, versions=(0, 3), flexible_since=3):
    """Who wants to stop."""

    broker_id: Int32
    broker_epoch: Int64 = field(since=2, default=-1, ignorable=True)


class RemainingPartition(Struct):
    """A partition that it still leads."""

    topic_name: String
    partition_index: Int32


class ControlledShutdownResponse(Response, api_key=7, versions=(0, 3), flexible_since=3):
    """What it still leads; it asks again until that is nothing."""

    error_code: Int16
    remaining_partitions: list[RemainingPartition]
