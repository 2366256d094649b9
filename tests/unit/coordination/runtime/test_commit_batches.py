"""Batches of commits are read as the codec reads them, or left to it."""

import struct
from itertools import pairwise

import pytest

from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    StoredRecord,
    encode_record,
    tombstones,
)
from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.coordination.runtime.commit_batches import read_commit_batches
from cordwood.coordination.runtime.internal_batches import decode_batches, encode_batch
from cordwood.core.errors import CordwoodError
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    OffsetCommitKey,
    OffsetCommitValue,
)
from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder
from cordwood.records.compression import Codec
from tests.unit.coordination.runtime.runtime_samples import group_record

TOPIC_ID = Uuid(bytes(range(16)))


def commit(
    partition: int = 0,
    *,
    group: str = "grüp",
    topic: str = "orders",
    topic_id: Uuid = TOPIC_ID,
    metadata: str = "",
) -> CoordinatorRecord:
    value = OffsetCommitValue(
        offset=1 << 40 | partition,
        leader_epoch=-1,
        metadata=metadata,
        commit_timestamp=1_700_000_000_000 + partition,
        topic_id=topic_id,
    )
    return CoordinatorRecord(
        1, OffsetCommitKey(group=group, topic=topic, partition=partition), value, 4
    )


def at(offset: int, batch: bytearray) -> bytes:
    struct.pack_into(">q", batch, 0, offset)
    return bytes(batch)


def batch_of(*records: CoordinatorRecord, offset: int = 40) -> bytes:
    return at(offset, encode_batch(records, now_ms=5))


def runs_of(data: bytes) -> list[CommittedRun]:
    """Return the runs of batches that are all of the common form."""
    runs = list[CommittedRun]()
    assert read_commit_batches(data, 0, runs=runs) == len(data)
    return runs


def as_runs(data: bytes) -> list[CommittedRun]:
    """Return the runs of what the codec reads."""
    runs = list[CommittedRun]()
    for item in decode_batches(GROUP_RECORDS, memoryview(data)):
        assert isinstance(item, StoredRecord)
        key, value = item.record.key, item.record.value
        assert isinstance(key, OffsetCommitKey)
        assert isinstance(value, OffsetCommitValue)
        if not runs or (runs[-1].group_id, runs[-1].topic) != (key.group, key.topic):
            runs.append(CommittedRun(key.group, key.topic, value.commit_timestamp))
        runs[-1].offsets[key.partition] = CommittedOffset.of(value, item.offset)
        runs[-1].offset = item.offset
    return runs


@pytest.mark.parametrize(
    "data",
    (
        batch_of(commit(7)),
        batch_of(commit(7, topic_id=NO_UUID)),
        batch_of(commit(7, metadata="é" * 63), commit(8, metadata="x" * 40, topic_id=NO_UUID)),
        batch_of(*map(commit, range(200))),
        batch_of(commit(2), commit(3), commit(4), commit(3)),
        batch_of(commit(1, group="g" * 200), commit(1, topic="t" * 200)),
        batch_of(commit(1), commit(1, topic="other"), commit(2)),
    ),
    ids=(
        "with a topic id",
        "without a topic id",
        "with metadata",
        "200 records",
        "a partition twice",
        "long names",
        "several topics",
    ),
)
def test_commits_are_read_as_the_codec_reads_them(data: bytes) -> None:
    assert runs_of(data) == as_runs(data)


def test_run_continues_in_the_next_batch() -> None:
    data = batch_of(commit(1), commit(2)) + batch_of(commit(3), offset=60)

    (run,) = runs_of(data)

    assert [(partition, each.record_offset) for partition, each in run.offsets.items()] == [
        (1, 40),
        (2, 41),
        (3, 60),
    ]
    assert (run.first_ms, run.offset) == (1_700_000_000_001, 60)


def test_times_of_records_may_differ() -> None:
    builder = BatchBuilder(NO_FIELDS)
    for number in range(3):
        builder.append(*encode_record(commit(number)), timestamp=number * 1_000)
    data = at(40, builder.build())

    assert runs_of(data) == as_runs(data)


@pytest.mark.parametrize(
    "data",
    (
        batch_of(commit(), group_record("g")),
        batch_of(commit(), *tombstones([commit()])),
        batch_of(commit(metadata="x" * 127)),
        bytes(encode_batch([commit()], now_ms=5, codec=Codec.GZIP)),
        bytes(encode_batch([commit()], now_ms=5, producer=TransactionalProducer(7, 2))),
        batch_of(commit())[:-1],
    ),
    ids=("other type", "tombstone", "long metadata", "compressed", "transaction", "incomplete"),
)
def test_other_batch_is_left_to_the_codec(data: bytes) -> None:
    before = batch_of(commit(5))
    runs = list[CommittedRun]()

    end = read_commit_batches(before + data, 0, runs=runs)

    assert end == len(before)
    assert [each.offset for each in runs] == [40]


def test_runs_and_records_are_in_the_order_of_the_log() -> None:
    parts = [batch_of(commit(1)), batch_of(group_record("g")), batch_of(commit(2))]

    items = decode_batches(GROUP_RECORDS, memoryview(b"".join(parts)), has_runs=True)

    assert [type(each) for each in items] == [CommittedRun, StoredRecord, CommittedRun]


@pytest.mark.parametrize("position", range(8, 259))
def test_damaged_batch_is_read_as_the_codec_reads_it(position: int) -> None:
    data = bytearray(batch_of(commit(1), commit(2, topic_id=NO_UUID), commit(3, metadata="text")))
    data[position] ^= 0xFF
    runs = list[CommittedRun]()

    end = read_commit_batches(bytes(data), 0, runs=runs)

    try:
        expected = as_runs(bytes(data))
    except (CordwoodError, AssertionError):
        expected = None
    assert end == 0 or runs == expected


def test_shortened_batch_is_never_read() -> None:
    data = batch_of(commit(1), commit(2))

    ends = [read_commit_batches(data[:end], 0, runs=[]) for end in range(len(data))]

    assert set(ends) == {0}
    assert all(first <= second for first, second in pairwise(ends))
