"""Records of internal topics and the blobs of the consumer protocol: golden bytes."""

from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    TRANSACTION_RECORDS,
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    OwnedPartitions,
    PartitionMetadata,
    PartitionsSchema,
    TargetPartitions,
    TopicMetadata,
    TopicPartition,
    TransactionLogKey,
    TransactionLogValue,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_offset_commit_key_is_kafkas_in_version_0() -> None:
    message = OffsetCommitKey(group="g", topic="t", partition=1)
    wire = "000167 000174 00000001"

    assert_wire(message, wire, version=0)


def test_offset_commit_value_is_kafkas_in_version_3() -> None:
    message = OffsetCommitValue(offset=1, leader_epoch=2, metadata="m", commit_timestamp=3)
    wire = "0000000000000001 00000002 00016d 0000000000000003"

    assert_wire(message, wire, version=3)


def test_offset_commit_value_is_kafkas_in_version_4() -> None:
    message = OffsetCommitValue(
        offset=1, leader_epoch=2, metadata="m", commit_timestamp=3, topic_id=ID
    )
    wire = (
        "0000000000000001 00000002 026d 0000000000000003 01 0010 000102030405060708090a0b0c0d0e0f"
    )

    assert_wire(message, wire, version=4)


def test_group_metadata_key_is_kafkas_in_version_0() -> None:
    message = GroupMetadataKey(group="g")
    wire = "000167"

    assert_wire(message, wire, version=0)


def test_group_metadata_value_is_kafkas_in_version_3() -> None:
    message = GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol=None,
        leader=None,
        current_state_timestamp=2,
        members=[
            MemberMetadata(
                member_id="m",
                client_id="c",
                client_host="/h",
                rebalance_timeout=3,
                session_timeout=4,
                subscription=b"\x05",
                assignment=b"\x06",
            )
        ],
    )
    wire = (
        "0008636f6e73756d6572 00000001 ffff ffff 0000000000000002 00000001 00016d ffff 000163 "
        "00022f68 00000003 00000004 0000000105 0000000106"
    )

    assert_wire(message, wire, version=3)


def test_group_metadata_value_is_kafkas_in_version_4() -> None:
    message = GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol="p",
        leader="l",
        current_state_timestamp=2,
        members=[
            MemberMetadata(
                member_id="m",
                group_instance_id="i",
                client_id="c",
                client_host="/h",
                rebalance_timeout=3,
                session_timeout=4,
                subscription=b"\x05",
                assignment=b"\x06",
            )
        ],
    )
    wire = (
        "09636f6e73756d6572 00000001 0270 026c 0000000000000002 02 026d 0269 0263 032f68 "
        "00000003 00000004 0205 0206 00 00"
    )

    assert_wire(message, wire, version=4)


def test_consumer_group_metadata_key_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupMetadataKey(group_id="g")
    wire = "000167"

    assert_wire(message, wire, version=0)


def test_consumer_group_metadata_value_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupMetadataValue(epoch=1, metadata_hash=2)
    wire = "00000001 01 0008 0000000000000002"

    assert_wire(message, wire, version=0)


def test_consumer_group_partition_metadata_key_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupPartitionMetadataKey(group_id="g")
    wire = "000167"

    assert_wire(message, wire, version=0)


def test_consumer_group_partition_metadata_value_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupPartitionMetadataValue(
        topics=[
            TopicMetadata(
                topic_id=ID,
                topic_name="t",
                num_partitions=1,
                partition_metadata=[PartitionMetadata(partition=2, racks=["r"])],
            )
        ]
    )
    wire = "02 000102030405060708090a0b0c0d0e0f 0274 00000001 02 00000002 02 0272 00 00 00"

    assert_wire(message, wire, version=0)


def test_consumer_group_member_metadata_key_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupMemberMetadataKey(group_id="g", member_id="m")
    wire = "000167 00016d"

    assert_wire(message, wire, version=0)


def test_consumer_group_member_metadata_value_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupMemberMetadataValue(
        instance_id="i",
        rack_id="r",
        client_id="c",
        client_host="/h",
        subscribed_topic_names=["s"],
        subscribed_topic_regex="s",
        rebalance_timeout_ms=1,
        server_assignor="s",
        classic_member_metadata=ClassicMemberMetadata(
            session_timeout_ms=2, supported_protocols=[ClassicProtocol(name="n", metadata=b"\x03")]
        ),
    )
    wire = "0269 0272 0263 032f68 02 0273 0273 00000001 0273 01 000c 01 00000002 02 026e 0203 00 00"

    assert_wire(message, wire, version=0)


def test_consumer_group_target_assignment_metadata_key_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupTargetAssignmentMetadataKey(group_id="g")
    wire = "000167"

    assert_wire(message, wire, version=0)


def test_consumer_group_target_assignment_metadata_value_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=1, assignment_timestamp=2)
    wire = "00000001 01 0008 0000000000000002"

    assert_wire(message, wire, version=0)


def test_consumer_group_target_assignment_member_key_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupTargetAssignmentMemberKey(group_id="g", member_id="m")
    wire = "000167 00016d"

    assert_wire(message, wire, version=0)


def test_consumer_group_target_assignment_member_value_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[TargetPartitions(topic_id=ID, partitions=[1, 2])]
    )
    wire = "02 000102030405060708090a0b0c0d0e0f 03 00000001 00000002 00 00"

    assert_wire(message, wire, version=0)


def test_consumer_group_current_member_assignment_key_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="m")
    wire = "000167 00016d"

    assert_wire(message, wire, version=0)


def test_consumer_group_current_member_assignment_value_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=1,
        previous_member_epoch=2,
        state=3,
        assigned_partitions=[
            OwnedPartitions(topic_id=ID, partitions=[4, 5], assignment_epochs=[6, 7])
        ],
        partitions_pending_revocation=[
            OwnedPartitions(topic_id=ID, partitions=[8, 9], assignment_epochs=[10, 11])
        ],
    )
    wire = (
        "00000001 00000002 03 02 000102030405060708090a0b0c0d0e0f 03 00000004 00000005 01 "
        "0009 03 00000006 00000007 02 000102030405060708090a0b0c0d0e0f 03 00000008 00000009 "
        "01 0009 03 0000000a 0000000b 00"
    )

    assert_wire(message, wire, version=0)


def test_consumer_group_regular_expression_key_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupRegularExpressionKey(group_id="g", regular_expression="r")
    wire = "000167 000172"

    assert_wire(message, wire, version=0)


def test_consumer_group_regular_expression_value_is_kafkas_in_version_0() -> None:
    message = ConsumerGroupRegularExpressionValue(topics=["t"], version=1, timestamp=2)
    wire = "02 0274 0000000000000001 0000000000000002 00"

    assert_wire(message, wire, version=0)


def test_transaction_log_key_is_kafkas_in_version_0() -> None:
    message = TransactionLogKey(transactional_id="x")
    wire = "000178"

    assert_wire(message, wire, version=0)


def test_transaction_log_value_is_kafkas_in_version_0() -> None:
    message = TransactionLogValue(
        producer_id=1,
        producer_epoch=2,
        transaction_timeout_ms=3,
        transaction_status=4,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=5,
        transaction_start_timestamp_ms=6,
    )
    wire = "0000000000000001 0002 00000003 04 ffffffff 0000000000000005 0000000000000006"

    assert_wire(message, wire, version=0)


def test_transaction_log_value_is_kafkas_in_version_1() -> None:
    message = TransactionLogValue(
        producer_id=1,
        previous_producer_id=2,
        next_producer_id=3,
        producer_epoch=4,
        next_producer_epoch=5,
        transaction_timeout_ms=6,
        transaction_status=7,
        transaction_partitions=[PartitionsSchema(topic="t", partition_ids=[8, 9])],
        transaction_last_update_timestamp_ms=10,
        transaction_start_timestamp_ms=11,
        client_transaction_version=12,
    )
    wire = (
        "0000000000000001 0004 00000006 07 02 0274 03 00000008 00000009 00 000000000000000a "
        "000000000000000b 04 0008 0000000000000002 0108 0000000000000003 0202 000c 0302 0005"
    )

    assert_wire(message, wire, version=1)


def test_consumer_protocol_subscription_is_kafkas_in_version_3() -> None:
    message = ConsumerProtocolSubscription(
        topics=["t"],
        user_data=b"\x01",
        owned_partitions=[TopicPartition(topic="t", partitions=[2, 3])],
        generation_id=4,
        rack_id="r",
    )
    wire = "00000001 000174 0000000101 00000001 000174 00000002 00000002 00000003 00000004 000172"

    assert_wire(message, wire, version=3)


def test_consumer_protocol_assignment_is_kafkas_in_version_3() -> None:
    message = ConsumerProtocolAssignment(
        assigned_partitions=[TopicPartition(topic="t", partitions=[1, 2])], user_data=b"\x03"
    )
    wire = "00000001 000174 00000002 00000001 00000002 0000000103"

    assert_wire(message, wire, version=3)


def test_record_types_name_a_key_and_its_value() -> None:
    pairs = [*GROUP_RECORDS.values(), *TRANSACTION_RECORDS.values()]

    for key, value in pairs:
        assert key.__name__.removesuffix("Key") == value.__name__.removesuffix("Value")
