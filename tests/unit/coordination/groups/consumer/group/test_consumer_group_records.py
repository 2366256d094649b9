"""Records of consumer groups have the bytes that Kafka 4.3 writes."""

import pytest

from cordwood.coordination.coordinator_record import CoordinatorRecord, encode_record
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
    ConsumerGroupMember,
    MemberState,
)
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.core.uuids import Uuid

FOO = Uuid(bytes.fromhex("273107163d584ec1988ee90d5a8dd896"))


def value_of(record: CoordinatorRecord) -> str:
    value = encode_record(record)[1]
    assert value is not None
    return value.hex()


def test_group_epoch_has_the_hash_of_its_topics() -> None:
    metadata_hash = int.from_bytes(bytes.fromhex("f9ca3ec6c6b666f5"), signed=True)

    record = records.group_epoch("g1", 2, metadata_hash=metadata_hash)

    assert encode_record(record)[0].hex() == "000300026731"
    assert value_of(record) == "000000000002010008f9ca3ec6c6b666f5"


def test_group_epoch_without_topics_has_no_hash() -> None:
    assert value_of(records.group_epoch("g1", 2, metadata_hash=0)) == "00000000000200"


def test_assignment_epoch_has_its_time() -> None:
    record = records.target_metadata("g1", 3, timestamp_ms=0x1A1FDD6D449)

    assert value_of(record) == "000000000003010008000001a1fdd6d449"


def test_assignment_epoch_of_a_converted_group_has_no_time() -> None:
    assert value_of(records.target_metadata("g1", 3, timestamp_ms=0)) == "00000000000300"


def test_member_without_partitions_has_its_epochs_and_its_state() -> None:
    member = ConsumerGroupMember(
        member_id="m",
        member_epoch=3,
        previous_member_epoch=2,
        state=MemberState.UNRELEASED_PARTITIONS,
    )

    record = records.current_assignment("g1", member)

    assert value_of(record) == "0000000000030000000202010100"


def test_assigned_partitions_have_the_epochs_of_their_assignment() -> None:
    member = ConsumerGroupMember(
        member_id="m",
        member_epoch=3,
        previous_member_epoch=3,
        assigned={FOO: dict.fromkeys((5, 2, 3, 4), 3)},
    )

    expected = (
        "0000"
        "00000003"
        "00000003"
        "00"
        "02" + FOO.hex() + "05"
        "00000002"
        "00000003"
        "00000004"
        "00000005"
        "01"
        "0011"
        "05"
        "00000003"
        "00000003"
        "00000003"
        "00000003"
        "01"
        "00"
    )
    assert value_of(records.current_assignment("g1", member)) == expected


def test_member_of_the_consumer_protocol_has_a_written_null() -> None:
    member = ConsumerGroupMember(
        member_id="m",
        client_id="gk",
        client_host="/127.0.0.1",
        topic_names=("foo",),
        topic_regex=None,
        rebalance_timeout_ms=1_000,
    )

    expected = "0000000003676b0b2f3132372e302e302e310204666f6f00000003e8"
    assert value_of(records.member_metadata("g1", member)) == expected + "0001000100"


def test_member_of_the_classic_protocol_has_its_protocols() -> None:
    member = ConsumerGroupMember(
        member_id="m", classic=ClassicProtocolMember(6_000, (("range", b"\0\1"),))
    )

    expected = "0100110100001770020672616e67650300010000"
    assert value_of(records.member_metadata("g1", member)).endswith(expected)


def test_regular_expression_has_its_topics_in_order() -> None:
    resolved = ResolvedRegularExpression(frozenset({"foo", "baz", "bar"}), 7, 9)

    record = records.regular_expression("g1", "..", resolved=resolved)

    expected = f"000004046261720462617a04666f6f{7:016x}{9:016x}00"
    assert value_of(record) == expected


def test_target_has_sorted_partitions() -> None:
    record = records.target_member("g1", "m", partitions={FOO: frozenset({2, 0})})

    assert value_of(record) == "000002" + FOO.hex() + "0300000000000000020000"


def test_tombstones_of_a_group_have_the_order_of_kafka() -> None:
    found = records.group_tombstones("g1", ["a", "b"], regexes=["x"])

    assert [each.type for each in found] == [8, 8, 7, 7, 6, 5, 5, 16, 4, 3]
    assert all(each.value is None for each in found)


@pytest.mark.parametrize("index", (0, 1, 2))
def test_tombstones_of_a_member_begin_with_its_partitions(index: int) -> None:
    found = records.member_tombstones("g1", "m")

    assert found[index].type == (8, 7, 5)[index]
    assert encode_record(found[index])[1] is None


def test_topics_of_kafka_4_0_are_deleted() -> None:
    assert encode_record(records.subscription_metadata_tombstone("g1")) == (
        b"\0\4\0\2g1",
        None,
    )


def test_regular_expression_is_deleted() -> None:
    key, value = encode_record(records.regular_expression_tombstone("g1", "x"))

    assert (key, value) == (b"\0\x10\0\2g1\0\1x", None)
