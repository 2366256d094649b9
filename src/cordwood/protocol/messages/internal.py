"""What brokers keep in internal topics, and what members of a classic group say to each other.

    key    i16 record type | fields           the types are the tables' keys, at the end
    value  i16 version     | fields           null: the key is gone
    blob   i16 version     | fields           subscription and assignment of the consumer protocol

A key has no versions of its own: Kafka up to 4.0 took its record type for one. A value's first
flexible version is meant to be its last: what comes later stands in tagged fields, so that older
brokers can read it. A blob of a version above ours is read as our newest, and the rest left alone.
"""

from typing import Final

from cordwood.core.ids import NO_UUID
from cordwood.protocol.schema import Data, Struct, field
from cordwood.protocol.wire import Bytes, Int8, Int16, Int32, Int64, String, Uuid


class OffsetCommitKey(Data, versions=(0, 0)):
    """A group's offset in one partition. Early Kafka wrote type 0, later ones type 1."""

    group: String
    topic: String
    partition: Int32


class OffsetCommitValue(Data, versions=(0, 4), flexible_since=4):
    """How far the group has read. The topic id is zero if the commit came with a name."""

    offset: Int64
    leader_epoch: Int32 = field(since=3, default=-1, ignorable=True)
    metadata: String
    commit_timestamp: Int64
    #: Version 1 alone, for commits that ask for their own retention.
    expire_timestamp: Int64 = field(since=1, until=1, default=-1, ignorable=True)
    topic_id: Uuid = field(since=4, tag=0, default=NO_UUID, ignorable=True)


class GroupMetadataKey(Data, versions=(0, 0)):
    """A classic group."""

    group: String


class MemberMetadata(Struct):
    """A member of it, with both its blobs."""

    member_id: String
    group_instance_id: String | None = field(since=3, default=None, ignorable=True)
    client_id: String
    client_host: String
    rebalance_timeout: Int32 = field(since=1, default=-1, ignorable=True)
    session_timeout: Int32
    subscription: Bytes
    assignment: Bytes


class GroupMetadataValue(Data, versions=(0, 4), flexible_since=4):
    """A generation of a classic group, as it was when all members had their parts."""

    protocol_type: String
    generation: Int32
    protocol: String | None
    leader: String | None
    current_state_timestamp: Int64 = field(since=2, default=-1, ignorable=True)
    members: list[MemberMetadata]


class ConsumerGroupMetadataKey(Data, versions=(0, 0)):
    """A KIP-848 group."""

    group_id: String


class ConsumerGroupMetadataValue(Data, versions=(0, 0), flexible_since=0):
    """Its epoch, which every change of members or subscriptions raises."""

    epoch: Int32
    #: Of all subscribed topics: another hash is a reason to assign again. Since Kafka 4.1.
    metadata_hash: Int64 = field(tag=0, default=0)


class ConsumerGroupPartitionMetadataKey(Data, versions=(0, 0)):
    """A KIP-848 group. Since Kafka 4.1 these records are only ever deleted."""

    group_id: String


class PartitionMetadata(Struct):
    """The racks of one of its partitions."""

    partition: Int32
    racks: list[String]


class TopicMetadata(Struct):
    """One such topic."""

    topic_id: Uuid
    topic_name: String
    num_partitions: Int32
    partition_metadata: list[PartitionMetadata]


class ConsumerGroupPartitionMetadataValue(Data, versions=(0, 0), flexible_since=0):
    """The topics that the group was assigned from."""

    topics: list[TopicMetadata]


class ConsumerGroupMemberMetadataKey(Data, versions=(0, 0)):
    """A member of a KIP-848 group."""

    group_id: String
    member_id: String


class ClassicProtocol(Struct):
    """A protocol it could follow, and its blob."""

    name: String
    metadata: Bytes


class ClassicMemberMetadata(Struct):
    """What a member that speaks the classic protocol said besides."""

    session_timeout_ms: Int32
    supported_protocols: list[ClassicProtocol]


class ConsumerGroupMemberMetadataValue(Data, versions=(0, 0), flexible_since=0):
    """What the member said of itself."""

    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    subscribed_topic_names: list[String]
    subscribed_topic_regex: String | None
    rebalance_timeout_ms: Int32 = field(default=-1)
    server_assignor: String | None
    #: None for members of the new protocol, which is written; left out it means an empty struct.
    classic_member_metadata: ClassicMemberMetadata | None = field(tag=0, nullable_since=0)


class ConsumerGroupTargetAssignmentMetadataKey(Data, versions=(0, 0)):
    """A KIP-848 group."""

    group_id: String


class ConsumerGroupTargetAssignmentMetadataValue(Data, versions=(0, 0), flexible_since=0):
    """The group epoch that the target assignment was made for."""

    assignment_epoch: Int32
    assignment_timestamp: Int64 = field(tag=0, default=0)


class ConsumerGroupTargetAssignmentMemberKey(Data, versions=(0, 0)):
    """A member of a KIP-848 group."""

    group_id: String
    member_id: String


class TargetPartitions(Struct):
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[Int32]


class ConsumerGroupTargetAssignmentMemberValue(Data, versions=(0, 0), flexible_since=0):
    """What the member is to read in the end."""

    topic_partitions: list[TargetPartitions]


class ConsumerGroupCurrentMemberAssignmentKey(Data, versions=(0, 0)):
    """A member of a KIP-848 group."""

    group_id: String
    member_id: String


class OwnedPartitions(Struct):
    """Partitions of one topic, and the member epochs in which they were assigned."""

    topic_id: Uuid
    partitions: list[Int32]
    assignment_epochs: list[Int32] | None = field(tag=0, default=[])


class ConsumerGroupCurrentMemberAssignmentValue(Data, versions=(0, 0), flexible_since=0):
    """What a member reads now. States: 0 stable, 1 gives back, 2 waits for others, 127 unknown."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: list[OwnedPartitions]
    partitions_pending_revocation: list[OwnedPartitions]


class ConsumerGroupRegularExpressionKey(Data, versions=(0, 0)):
    """A regular expression that members of a KIP-848 group subscribe by."""

    group_id: String
    regular_expression: String


class ConsumerGroupRegularExpressionValue(Data, versions=(0, 0), flexible_since=0):
    """The topics it matched, at which version of the metadata and when."""

    topics: list[String]
    version: Int64
    timestamp: Int64


class TransactionLogKey(Data, versions=(0, 0)):
    """A transactional id."""

    transactional_id: String


class PartitionsSchema(Struct):
    """Partitions of one topic that the transaction has written to."""

    topic: String
    partition_ids: list[Int32]


class TransactionLogValue(Data, versions=(0, 1), flexible_since=1):
    """Where its transaction stands, and who may write it."""

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
    """What a member subscribes to, and what it had so far."""

    topics: list[String]
    user_data: Bytes | None = field(default=None)
    owned_partitions: list[TopicPartition] = field(since=1, default=[], ignorable=True)
    generation_id: Int32 = field(since=2, default=-1, ignorable=True)
    rack_id: String | None = field(since=3, default=None, ignorable=True)


class ConsumerProtocolAssignment(Data, versions=(0, 3)):
    """What a member is to read."""

    assigned_partitions: list[TopicPartition]
    user_data: Bytes | None = field(default=None)


#: Records of __consumer_offsets, by the type in front of the key. Those of share and streams groups
#: are not among them.
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

#: Records of __transaction_state likewise.
TRANSACTION_RECORDS: Final[dict[int, tuple[type[Data], type[Data]]]] = {
    0: (TransactionLogKey, TransactionLogValue),
}
