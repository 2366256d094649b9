"""Records of internal topics have Kafka's bytes; the vectors were read from Kafka 4.3."""

from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    decode_record,
    encode_record,
    tombstones,
)
from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

COMMIT = CoordinatorRecord(
    1,
    OffsetCommitKey(group="group", topic="topic", partition=0),
    OffsetCommitValue(offset=42, leader_epoch=5, metadata="", commit_timestamp=1000),
    version=3,
)


def test_offset_commit_has_kafkas_bytes() -> None:
    key, value = encode_record(COMMIT)

    assert key.hex() == "0001000567726f75700005746f70696300000000"
    assert value is not None
    assert value.hex() == "0003000000000000002a00000005000000000000000003e8"


def test_group_epoch_with_its_hash_has_kafkas_bytes() -> None:
    metadata_hash = int.from_bytes(bytes.fromhex("f9ca3ec6c6b666f5"), "big", signed=True)
    record = CoordinatorRecord(
        3,
        ConsumerGroupMetadataKey(group_id="g1"),
        ConsumerGroupMetadataValue(epoch=2, metadata_hash=metadata_hash),
    )

    key, value = encode_record(record)

    assert key.hex() == "000300026731"
    assert value is not None
    assert value.hex() == "000000000002010008f9ca3ec6c6b666f5"


def test_decoded_record_is_the_encoded_one() -> None:
    key, value = encode_record(COMMIT)

    assert decode_record(GROUP_RECORDS, key, value=value) == COMMIT


def test_tombstone_has_no_value() -> None:
    (deleted,) = tombstones([COMMIT])

    key, value = encode_record(deleted)

    assert value is None
    assert decode_record(GROUP_RECORDS, key, value=value) == deleted


def test_record_of_an_unknown_type_is_skipped() -> None:
    assert decode_record(GROUP_RECORDS, b"\x00\x0a\x00\x01g", value=b"\x00\x00\x00") is None


def test_record_without_a_key_is_skipped() -> None:
    assert decode_record(GROUP_RECORDS, None, value=b"\x00\x00") is None
