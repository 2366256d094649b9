"""A commit is written as the general codec writes it, or left to the codec."""

import pytest

from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    encode_record,
    tombstones,
)
from cordwood.coordination.runtime.offset_commit_writer import write_offset_commit
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.internal import OffsetCommitKey, OffsetCommitValue
from tests.unit.coordination.runtime.runtime_samples import group_record

TOPIC_ID = Uuid(bytes(range(16)))


def record(
    *, topic_id: Uuid = TOPIC_ID, metadata: str = "", version: int = 4, topic: str = "orders"
) -> CoordinatorRecord:
    key = OffsetCommitKey(group="grüp", topic=topic, partition=7)
    value = OffsetCommitValue(
        offset=1 << 40,
        leader_epoch=-1,
        metadata=metadata,
        commit_timestamp=1_700_000_000_000,
        topic_id=topic_id,
    )
    return CoordinatorRecord(1, key, value, version)


@pytest.mark.parametrize(
    "commit",
    (record(), record(topic_id=NO_UUID), record(topic="t" * 249), *tombstones([record()])),
    ids=("with topic id", "without topic id", "long name", "tombstone"),
)
def test_commit_has_the_bytes_of_the_codec(commit: CoordinatorRecord) -> None:
    assert write_offset_commit(commit) == encode_record(commit)


@pytest.mark.parametrize(
    "other",
    (
        record(metadata="text"),
        record(version=1, topic_id=NO_UUID),
        record(topic="\udc00"),
        record(topic="t" * 40_000),
        *tombstones([record(topic="t" * 40_000), group_record("g")]),
        group_record("g"),
    ),
    ids=(
        "metadata",
        "version",
        "surrogate",
        "too long",
        "too long for a tombstone",
        "tombstone of a group",
        "group",
    ),
)
def test_other_record_is_left_to_the_codec(other: CoordinatorRecord) -> None:
    assert write_offset_commit(other) is None
