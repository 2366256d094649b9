"""Commits of one shape are read together, up to the first one that differs."""

import struct

import pytest

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.runtime.alike_commits import RecordPlaces, read_alike
from cordwood.coordination.runtime.internal_batches import encode_batch
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.internal import OffsetCommitKey, OffsetCommitValue

TOPIC_ID = Uuid(bytes(range(16)))
HEADER_BYTES = 61


def commit(
    partition: int, *, topic: str = "orders", topic_id: Uuid = TOPIC_ID, metadata: str = ""
) -> CoordinatorRecord:
    value = OffsetCommitValue(
        offset=partition * 1_000,
        leader_epoch=partition,
        metadata=metadata,
        commit_timestamp=1_700_000_000_000 + partition,
        topic_id=topic_id,
    )
    key = OffsetCommitKey(group="group", topic=topic, partition=partition)
    return CoordinatorRecord(1, key, value, 4)


def committed(record: CoordinatorRecord, offset: int) -> CommittedOffset:
    assert isinstance(record.value, OffsetCommitValue)
    return CommittedOffset.of(record.value, offset)


def read(*records: CoordinatorRecord, most: int = 1_000) -> tuple[int, CommittedRun]:
    """Read what follows the first record; its offset is 40."""
    data = bytes(encode_batch(records, now_ms=5))[HEADER_BYTES:]
    first = records[0]
    assert isinstance(first.key, OffsetCommitKey)
    stop = struct.unpack_from(">B", data)[0]
    start_of_rest = 2 if stop >= 0x80 else 1
    stop = (stop & 0x7F | (data[1] << 7 if start_of_rest == 2 else 0)) // 2 + start_of_rest
    partition_at = data.index(b"orders", 0) + len("orders")
    run = CommittedRun("group", "orders", 0, {first.key.partition: committed(first, 40)}, 40)
    places = RecordPlaces(0, partition_at, stop)
    return read_alike(data, places, run=run, base_offset=40, most=most), run


@pytest.mark.parametrize("topic_id", (TOPIC_ID, NO_UUID), ids=("topic id", "no topic id"))
def test_alike_records_are_read_together(topic_id: Uuid) -> None:
    records = [commit(each, topic_id=topic_id) for each in range(50)]

    found, run = read(*records)

    assert found == 49
    assert run.offset == 89
    assert run.offsets == {
        number: committed(record, 40 + number) for number, record in enumerate(records)
    }


@pytest.mark.parametrize(
    "other",
    (
        commit(9, topic="ordert"),
        commit(9, topic_id=NO_UUID),
        commit(9, topic_id=Uuid(bytes(16)[:15] + b"\1")),
        commit(9, metadata="x"),
    ),
    ids=("other topic", "no topic id", "other topic id", "metadata"),
)
def test_other_record_ends_them(other: CoordinatorRecord) -> None:
    found, run = read(commit(1), commit(2), other, commit(3))

    assert found == 1
    assert [*run.offsets] == [1, 2]


def test_no_more_are_read_than_the_batch_has() -> None:
    found, _ = read(commit(1), commit(2), commit(3), most=1)

    assert found == 1


def test_longer_offset_delta_ends_them() -> None:
    found, run = read(*map(commit, range(200)))

    assert found == 63
    assert run.offset == 103


def test_first_record_with_metadata_has_none_alike() -> None:
    found, _ = read(commit(1, metadata="x"), commit(2, metadata="x"))

    assert found == 0


def test_partition_may_come_twice() -> None:
    found, run = read(commit(1), commit(2), commit(1))

    assert found == 2
    assert [*run.offsets.values()] == [committed(commit(1), 42), committed(commit(2), 41)]
