"""UpdateMetadata: the controller's update of the metadata that brokers return to clients.

Between brokers; the last versions are Kafka 3.9's.

    v1  several endpoints per broker; v2 racks; v3 listener names
    v4  offline replicas
    v5  the broker's epoch fences requests to an earlier incarnation; partitions by topic
    v6  flexible
    v7  topic ids
    v8  KRaft controllers, during their migration
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, Int64, String, Uuid


class UpdateMetadataPartitionState(Struct):
    """The leader, the replicas and the in-sync replicas of one partition."""

    topic_name: String = field(until=4, default="", ignorable=True)
    partition_index: Int32
    controller_epoch: Int32
    leader: Int32
    leader_epoch: Int32
    isr: list[Int32]
    #: Version of the partition's state in ZooKeeper.
    zk_version: Int32
    replicas: list[Int32]
    offline_replicas: list[Int32] = field(since=4, default=[], ignorable=True)


class UpdateMetadataTopicState(Struct):
    """The partitions of one topic."""

    topic_name: String
    topic_id: Uuid = field(since=7, default=NO_UUID, ignorable=True)
    partition_states: list[UpdateMetadataPartitionState]


class UpdateMetadataEndpoint(Struct):
    """An address of a broker. Protocols: 0 plaintext, 1 TLS, 2 SASL, 3 SASL over TLS."""

    port: Int32
    host: String
    listener: String = field(since=3, default="", ignorable=True)
    security_protocol: Int16


class UpdateMetadataBroker(Struct):
    """A live broker; version 0 has only `v0_host` and `v0_port`."""

    id: Int32
    v0_host: String = field(until=0, default="", ignorable=True)
    v0_port: Int32 = field(until=0, default=0, ignorable=True)
    endpoints: list[UpdateMetadataEndpoint] = field(since=1, default=[], ignorable=True)
    rack: String | None = field(since=2, default="", ignorable=True)


class UpdateMetadataRequest(Request, api_key=6, versions=(0, 8), flexible_since=6):
    """The changes: `ungrouped_partition_states` up to version 4, later `topic_states`."""

    controller_id: Int32
    is_kraft_controller: Bool = field(since=8, default=False, name="isKRaftController")
    type: Int8 = field(since=8, tag=0, default=0)
    controller_epoch: Int32
    broker_epoch: Int64 = field(since=5, default=-1, ignorable=True)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = field(until=4, default=[])
    topic_states: list[UpdateMetadataTopicState] = field(since=5, default=[])
    live_brokers: list[UpdateMetadataBroker]


class UpdateMetadataResponse(Response, api_key=6, versions=(0, 8), flexible_since=6):
    """Success or error."""

    error_code: Int16
