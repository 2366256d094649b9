"""Records of internal topics, and the consumer protocol of classic groups.

    key    i16 record type | fields           the types are the keys of the tables below
    value  i16 version     | fields           null is a tombstone
    blob   i16 version     | fields           subscription and assignment of the consumer protocol

A key has no versions of its own: Kafka up to 4.0 used its record type as its version. The first
flexible version of a value is meant to be its last one. Later fields are tagged, so that older
brokers can read the value. A blob of a later version than ours is read as our newest version, and
its remaining bytes are ignored.
"""

from typing import Final

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Data, Struct, field
from cordwood.protocol.wire_types import Bytes, Int8, Int16, Int32, Int64, String, Uuid


class OffsetCommitKey(Data, versions=(0, 0)):
    """Key of a group's offset in one partition. Early Kafka wrote type 0, later versions type 1."""

    group: String
    topic: String
    partition: Int32


class OffsetCommitValue(Data, versions=(0, 4), flexible_since=4):
    """A committed offset. The topic id is zero if the commit named the topic."""

    offset: Int64
    leader_epoch: Int32 = field(since=3, default=-1, ignorable=True)
    metadata: String
    commit_timestamp: Int64
    #: Only in version 1, for commits with their own retention.
    expire_timestamp: Int64 = field(since=1, until=1, default=-1, ignorable=True)
    topic_id: Uuid = field(since=4, tag=0, default=NO_UUID, ignorable=True)


class GroupMetadataKey(Data, versions=(0, 0)):
    """Key of a classic group."""

    group: String


class MemberMetadata(Struct):
    """A member of a classic group, with its subscription and its assignment."""

    member_id: String
    group_instance_id: String | None = field(since=3, default=None, ignorable=True)
    client_id: String
    client_host: String
    rebalance_timeout: Int32 = field(since=1, default=-1, ignorable=True)
    session_timeout: Int32
    subscription: Bytes
    assignment: Bytes


class GroupMetadataValue(Data, versions=(0, 4), flexible_since=4):
    """A generation of a classic group, after all members were assigned."""

    protocol_type: String
    generation: Int32
    protocol: String | None
    leader: String | None
    current_state_timestamp: Int64 = field(since=2, default=-1, ignorable=True)
    members: list[MemberMetadata]


class ConsumerGroupMetadataKey(Data, versions=(0, 0)):
    """Key of a KIP-848 group."""

    group_id: String


class ConsumerGroupMetadataValue(Data, versions=(0, 0), flexible_since=0):
    """The group epoch, which every change of members or subscriptions increments."""

    epoch: Int32
    #: Hash of all subscribed topics; a changed hash triggers a new assignment. Since Kafka 4.1.
    metadata_hash: Int64 = field(tag=0, default=0)


class ConsumerGroupPartitionMetadataKey(Data, versions=(0, 0)):
    """Key of a KIP-848 group. Since Kafka 4.1 these records are only deleted."""

    group_id: String


class PartitionMetadata(Struct):
    """The racks of one partition."""

    partition: Int32
    racks: list[String]


class TopicMetadata(Struct):
    """One topic of the assignment."""

    topic_id: Uuid
    topic_name: String
    num_partitions: Int32
    partition_metadata: list[PartitionMetadata]


class ConsumerGroupPartitionMetadataValue(Data, versions=(0, 0), flexible_since=0):
    """The topics that the group's assignment was computed from."""

    topics: list[TopicMetadata]


class ConsumerGroupMemberMetadataKey(Data, versions=(0, 0)):
    """Key of a KIP-848 group's member."""

    group_id: String
    member_id: String


class ClassicProtocol(Struct):
    """A protocol that the member supports, with its metadata."""

    name: String
    metadata: Bytes


class ClassicMemberMetadata(Struct):
    """Additional fields of a member that uses the classic protocol."""

    session_timeout_ms: Int32
    supported_protocols: list[ClassicProtocol]


class ConsumerGroupMemberMetadataValue(Data, versions=(0, 0), flexible_since=0):
    """The fields that a member sent about itself."""

    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    subscribed_topic_names: list[String]
    subscribed_topic_regex: String | None
    rebalance_timeout_ms: Int32 = field(default=-1)
    server_assignor: String | None
    #: None for members of the new protocol, written as null; an absent tag means an empty struct.
    classic_member_metadata: ClassicMemberMetadata | None = field(tag=0, nullable_since=0)


class ConsumerGroupTargetAssignmentMetadataKey(Data, versions=(0, 0)):
    """Key of a KIP-848 group."""

    group_id: String


class ConsumerGroupTargetAssignmentMetadataValue(Data, versions=(0, 0), flexible_since=0):
    """The group epoch of the target assignment."""

    assignment_epoch: Int32
    assignment_timestamp: Int64 = field(tag=0, default=0)


class ConsumerGroupTargetAssignmentMemberKey(Data, versions=(0, 0)):
    """Key of a KIP-848 group's member."""

    group_id: String
    member_id: String


class TargetPartitions(Struct):
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[Int32]


class ConsumerGroupTargetAssignmentMemberValue(Data, versions=(0, 0), flexible_since=0):
    """The member's target assignment."""

    topic_partitions: list[TargetPartitions]


class ConsumerGroupCurrentMemberAssignmentKey(Data, versions=(0, 0)):
    """Key of a KIP-848 group's member."""

    group_id: String
    member_id: String


class OwnedPartitions(Struct):
    """Partitions of one topic, and the member epochs of their assignment."""

    topic_id: Uuid
    partitions: list[Int32]
    assignment_epochs: list[Int32] | None = field(tag=0, default=[])


class ConsumerGroupCurrentMemberAssignmentValue(Data, versions=(0, 0), flexible_since=0):
    """A member's present assignment.

    States: 0 stable, 1 unrevoked partitions, 2 unreleased partitions, 127 unknown.
    """

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: list[OwnedPartitions]
    partitions_pending_revocation: list[OwnedPartitions]


class ConsumerGroupRegularExpressionKey(Data, versions=(0, 0)):
    """Key of a regular expression in subscriptions of a KIP-848 group."""

    group_id: String
    regular_expression: String


class ConsumerGroupRegularExpressionValue(Data, versions=(0, 0), flexible_since=0):
    """The matched topics, with the version of the metadata and the time."""

    topics: list[String]
    version: Int64
    timestamp: Int64


class TransactionLogKey(Data, versions=(0, 0)):
    """Key of a transactional id."""

    transactional_id: String


class PartitionsSchema(Struct):
    """Partitions of one topic that the transaction has written to."""

    topic: String
    partition_ids: list[Int32]


class TransactionLogValue(Data, versions=(0, 1), flexible_since=1):
    """The state of a transaction, and its producer."""

    producer_id: Int64
    previous_producer_id: Int64 = field(since=1, tag=0, default=-1)
    next_producer_id: Int64 = field(since=1, tag=1, default=-1)
    producer_epoch: Int16
    next_producer_epoch: Int16 = field(since=1, tag=3, default=-1)
    transaction_timeout_ms: Int32
    #: 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete commit, 5 complete abort,
    #: 6 dead, 7 prepare epoch fence.
    transaction_status: Int8
    transaction_partitions: list[PartitionsSchema] | None
    transaction_last_update_timestamp_ms: Int64
    transaction_start_timestamp_ms: Int64
    client_transaction_version: Int16 = field(since=1, tag=2, default=0)


class TopicPartition(Struct):
    """Partitions of one topic."""

    topic: String
    partitions: list[Int32]


class ConsumerProtocolSubscription(Data, versions=(0, 3)):
    """A member's subscribed topics, and its owned partitions."""

    topics: list[String]
    user_data: Bytes | None = field(default=None)
    owned_partitions: list[TopicPartition] = field(since=1, default=[], ignorable=True)
    generation_id: Int32 = field(since=2, default=-1, ignorable=True)
    rack_id: String | None = field(since=3, default=None, ignorable=True)


class ConsumerProtocolAssignment(Data, versions=(0, 3)):
    """A member's assignment."""

    assigned_partitions: list[TopicPartition]
    user_data: Bytes | None = field(default=None)


#: Records of `__consumer_offsets` by the record type before the key, without those of share and
#: streams groups.
GROUP_RECORDS: Final[dict[int, tuple[type[Data], type[Data]]]] = {
    0: (OffsetCommitKey, OffsetCommitValue),
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
    3: (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    4: (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    5: (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    6: (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    7: (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    8: (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    16: (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
}

#: Records of `__transaction_state` by record type.
TRANSACTION_RECORDS: Final[dict[int, tuple[type[Data], type[Data]]]] = {
    0: (TransactionLogKey, TransactionLogValue),
}
