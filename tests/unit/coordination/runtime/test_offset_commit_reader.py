"""A committed offset is read as the general codec reads it, or left to the codec."""

import pytest

from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    decode_record,
    encode_record,
    tombstones,
)
from cordwood.coordination.runtime.offset_commit_reader import read_offset_commit
from cordwood.core.errors import BytesError
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    OffsetCommitKey,
    OffsetCommitValue,
)

TOPIC_ID = Uuid(bytes(range(16)))


def record(
    *, topic_id: Uuid = TOPIC_ID, metadata: str = "text", version: int = 4
) -> CoordinatorRecord:
    key = OffsetCommitKey(group="grüp", topic="orders", partition=7)
    value = OffsetCommitValue(
        offset=1 << 40,
        leader_epoch=-1,
        metadata=metadata,
        commit_timestamp=1_700_000_000_000,
        topic_id=topic_id if version >= 4 else NO_UUID,
    )
    return CoordinatorRecord(1, key, value, version)


@pytest.mark.parametrize(
    "commit",
    (record(), record(topic_id=NO_UUID), record(metadata=""), record(metadata="é" * 63)),
    ids=("with topic id", "without topic id", "without metadata", "longest metadata"),
)
def test_commit_is_read(commit: CoordinatorRecord) -> None:
    key, value = encode_record(commit)

    assert read_offset_commit(key, value) == commit
    assert decode_record(GROUP_RECORDS, key, value=value) == commit


@pytest.mark.parametrize(
    "commit",
    (record(version=3), record(metadata="x" * 127), *tombstones([record()])),
    ids=("earlier version", "long metadata", "tombstone"),
)
def test_other_record_is_left_to_the_codec(commit: CoordinatorRecord) -> None:
    assert read_offset_commit(*encode_record(commit)) is None


def test_other_type_is_left_to_the_codec() -> None:
    key, value = encode_record(record())

    assert read_offset_commit(b"\0\2" + key[2:], value) is None


def test_shortened_record_is_never_read_as_another_one() -> None:
    commit = record()
    key, value = encode_record(commit)
    assert value is not None

    for end in range(len(key)):
        assert read_offset_commit(key[:end], value) is None
    for end in range(len(value)):
        assert read_offset_commit(key, value[:end]) is None


@pytest.mark.parametrize("position", range(2, 19))
def test_changed_key_is_read_as_the_codec_reads_it(position: int) -> None:
    key, value = encode_record(record())
    changed = bytearray(key)
    changed[position] ^= 0xFF

    found = read_offset_commit(bytes(changed), value)

    if found is not None:
        assert found == decode_record(GROUP_RECORDS, bytes(changed), value=value)


@pytest.mark.parametrize("position", range(2, 46))
def test_changed_value_is_read_as_the_codec_reads_it(position: int) -> None:
    key, value = encode_record(record())
    assert value is not None
    changed = bytearray(value)
    changed[position] ^= 0xFF

    found = read_offset_commit(key, bytes(changed))

    try:
        decoded = decode_record(GROUP_RECORDS, key, value=bytes(changed))
    except BytesError:
        decoded = None
    assert found is None or found == decoded
