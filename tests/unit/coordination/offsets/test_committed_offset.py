"""Records of committed offsets have the version that Kafka writes."""

from cordwood.coordination.coordinator_record import encode_record
from cordwood.coordination.offsets.committed_offset import (
    CommittedOffset,
    commit_record,
    offset_tombstone,
)
from cordwood.coordination.offsets.group_partition_map import GroupPartition
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.internal import OffsetCommitValue
from tests.unit.coordination.offset_samples import ORDERS_ID, UNKNOWN_ID, commit_value

KEY = GroupPartition("g1", "foo", 3)


def test_record_has_version_4_and_the_topic_id() -> None:
    value = OffsetCommitValue(
        offset=42, leader_epoch=5, metadata="m", commit_timestamp=1000, topic_id=ORDERS_ID
    )

    key, written = encode_record(commit_record(KEY, value))

    assert key.hex() == "0001000267310003666f6f00000003"
    assert written is not None
    assert written.hex() == (
        "0004" "000000000000002a" "00000005" "026d" "00000000000003e8"
        "01" "00" "10" + ORDERS_ID.hex()
    )  # fmt: skip


def test_record_without_a_topic_id_has_no_tag() -> None:
    _, written = encode_record(commit_record(KEY, commit_value(1, topic_id=NO_UUID)))

    assert written is not None
    assert written.hex() == "00040000000000000001ffffffff01000000000000000000"


def test_record_with_an_expire_time_has_version_1() -> None:
    value = OffsetCommitValue(offset=1, metadata="", commit_timestamp=10, expire_timestamp=30)

    record = commit_record(KEY, value)

    assert record.version == 1
    _, written = encode_record(record)
    assert written is not None
    assert written.hex() == "000100000000000000010000000000000000000a000000000000001e"


def test_tombstone_has_the_key_of_the_commit() -> None:
    assert offset_tombstone(KEY).key == commit_record(KEY, commit_value(1)).key
    assert offset_tombstone(KEY).value is None


def test_offset_is_of_another_topic_only_if_both_ids_are_known() -> None:
    known = CommittedOffset.of(commit_value(1), 0)
    unknown = CommittedOffset.of(commit_value(1, topic_id=NO_UUID), 0)

    assert known.is_of_another_topic(UNKNOWN_ID)
    assert not known.is_of_another_topic(ORDERS_ID)
    assert not known.is_of_another_topic(NO_UUID)
    assert not unknown.is_of_another_topic(UNKNOWN_ID)
