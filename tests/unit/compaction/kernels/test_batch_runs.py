"""A chunk as runs: batches of a kind together, numbered, with their retentions."""

from array import array

import pytest

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.kernels.batch_runs import (
    T_NUMBER,
    T_RETENTION,
    BatchRuns,
    bits_of,
    chunk_of,
    refuse,
)
from cordwood.core.errors import BadRecordsError, CorruptMessageError, InvalidRecordError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from tests.unit.compaction.compaction_samples import batch, chunk, marker, marks, old
from tests.unit.records.segments import broken, changed

PACKED = batch(3, "d4 e5", fields=BatchFields(codec=Codec.LZ4))


def test_each_run_has_batches_of_one_kind() -> None:
    data = chunk(
        batch(0, "a1"), batch(1, "b2 c3"), PACKED, old(5, "f6"), old(6, "g7"), batch(7, "h")
    )

    kinds = [(len(run.rows), run.is_packed, run.old is not None) for run in BatchRuns().of(data, 8)]

    old_one = (0, False, True)
    assert kinds == [(2, False, False), (1, True, False), old_one, old_one, (1, False, False)]


def test_rows_have_the_numbers_of_their_first_records() -> None:
    data = chunk(batch(0, "a1 b2"), marker(2, is_commit=True), batch(3, "c3"), first_number=40)

    (run,) = BatchRuns().of(data, 50)

    assert run.rows[:, T_NUMBER].tolist() == [40, 42, 42]


def test_rows_have_the_retentions_of_their_batches() -> None:
    retentions = {1: BatchRetention.DELETE, 2: BatchRetention.CONTROL | BatchRetention.DELETE}
    data = chunk(batch(0, "a1"), batch(1, "b2"), marker(2, is_commit=True), retentions=retentions)

    (run,) = BatchRuns().of(data, 2)

    assert run.rows[:, T_RETENTION].tolist() == [0, *map(int, retentions.values())]


def test_each_old_batch_between_others_is_a_separate_chunk() -> None:
    parts = batch(0, "a1 b2"), old(2, "c3 d4", codec=Codec.GZIP), old(4, "e5"), batch(5, "f6")
    data = chunk(
        *parts, retentions={2: BatchRetention.RETAIN_EMPTY}, first_number=10, modified_ms=7
    )

    first, wrapper, single, last = BatchRuns().of(data, 16)

    assert wrapper.old == chunk(parts[1], first_number=12, modified_ms=7)._replace(
        position=len(parts[0])
    )
    assert single.old == chunk(
        parts[2], retentions={0: BatchRetention.RETAIN_EMPTY}, first_number=14, modified_ms=7
    )._replace(position=len(parts[0]) + len(parts[1]))
    assert (len(first.rows), last.rows[0, T_NUMBER]) == (1, 15)


def test_records_of_a_packed_row_are_unpacked() -> None:
    each = BatchRuns()
    (run,) = each.of(chunk(PACKED), 2)

    unpacked = each.unpack(run.source, run.rows[0])

    assert b"\x02d\x024\x00" in unpacked.tobytes()


@pytest.mark.parametrize(
    "bad",
    (
        broken(batch(0, "b2")),
        batch(0, "b2")[:-1],
        bytes(40),
        changed(batch(0, "b2"), 57, b"\xff" * 4),
        broken(old(0, "b2")),
        old(0, "b2", codec=Codec.GZIP)[:-9] + bytes(9),
    ),
    ids=("checksum", "cut", "zeros", "count", "old", "wrapper"),
)
def test_invalid_batch_is_rejected_at_its_position(bad: bytes) -> None:
    first = batch(0, "a1")

    with pytest.raises(BadRecordsError) as refused:
        list(BatchRuns().of(chunk(first + bad), 9))

    assert refused.value.position == len(first)


@pytest.mark.parametrize("data", (batch(0, "a1 b2"), old(0, "a1") + old(1, "b2")))
def test_more_records_than_marks_are_rejected(data: bytes) -> None:
    with pytest.raises(InvalidRecordError, match="rejects"):
        list(BatchRuns().of(chunk(data), 1))


def test_unknown_codec_is_rejected_at_decompression() -> None:
    each = BatchRuns()
    (run,) = each.of(chunk(changed(batch(0, "a1"), 21, b"\x00\x06")), 1)

    with pytest.raises(BadRecordsError):
        each.unpack(run.source, run.rows[0])


def test_batch_that_only_the_plain_reader_accepts_is_rejected() -> None:
    with pytest.raises(InvalidRecordError, match="rejects"):
        refuse(memoryview(batch(0, "a1")), 0)
    with pytest.raises(CorruptMessageError, match="cut off"):
        refuse(memoryview(batch(0, "a1")[:30]), 0)


def test_chunk_of_one_batch_has_its_retention_or_none() -> None:
    parts = batch(0, "a1"), batch(1, "b2")
    whole = chunk(*parts, retentions={1: BatchRetention.DELETE})
    first = len(parts[0])

    assert chunk_of(whole, 0, first).retentions == array("b")
    assert chunk_of(whole, first, len(parts[1])).retentions == array("b", [BatchRetention.DELETE])


def test_bits_are_those_of_the_marks() -> None:
    found = marks("oxt")

    latest, tombstones = bits_of(found)
    latest[0] |= 2

    assert (found.is_latest(1), tombstones.tolist()) == (True, [4])
