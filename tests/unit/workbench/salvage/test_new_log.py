"""Batches are written in sets, with rebuilt markers among them."""

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.records.batch_stream import batches
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.files.atomic_write import read_whole
from cordwood.workbench.salvage.batch_run import TransactionEvent, runs_of
from cordwood.workbench.salvage.new_log import NewContents, record_sets
from cordwood.workbench.salvage.salvage import salvage
from cordwood.workbench.salvage.transaction_ends import RebuiltMarker
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    broken,
    chain_of,
    directory,
    harmed,
    idempotent,
    marker,
    ports,
    runs_in,
    transactional,
)


def sets(data: bytes, *, max_bytes: int) -> list[int]:
    (runs,), windows = runs_in({"a": data})
    contents = NewContents(runs, (), 0, lambda *_: False)
    found = record_sets(contents, windows, max_bytes=max_bytes)
    return [len(each.data) // len(batch()) for each in found]


def test_record_sets_respect_the_limits_of_a_segment() -> None:
    far = 1 << 31
    data = batch(0) + batch(4) + batch(far) + batch(far + 4)

    assert sets(data, max_bytes=1 << 20) == [2, 2]
    assert sets(data, max_bytes=150) == [1, 1, 1, 1]


def test_rebuilt_markers_are_written_at_their_offsets_and_end_a_set() -> None:
    (runs,), windows = runs_in({"a": batch(0) + batch(5)})
    event = TransactionEvent(0, 0, 7, 0, 0, 1000)
    markers = [RebuiltMarker(offset, is_commit=True, event=event, why="why") for offset in (4, 9)]

    found = record_sets(NewContents(runs, markers, 0, lambda *_: False), windows, max_bytes=9999)

    assert [[each.base_offset for each in batches(one.data)] for one in found] == [[0, 4], [5, 9]]


def test_rebuilt_marker_has_the_leader_epoch_of_its_place() -> None:
    (runs,), windows = runs_in({"a": batch(0) + batch(5, epoch=3)})
    markers = [
        RebuiltMarker(
            offset, is_commit=True, event=TransactionEvent(0, 0, 7, 0, 0, 1000), why="why"
        )
        for offset in (4, 9)
    ]

    found = record_sets(NewContents(runs, markers, 0, lambda *_: False), windows, max_bytes=9999)

    epochs = [[each.partition_leader_epoch for each in batches(one.data)] for one in found]
    assert epochs == [[0, 0], [3, 3]]


def test_rebuilt_batch_of_a_transaction_without_an_end_is_in_none() -> None:
    runs = list(runs_of(chain_of(harmed(transactional(0, 3), 61, 62)).batches))
    _, windows = runs_in({})

    (found,) = record_sets(NewContents(runs, (), 0, lambda *_: True), windows, max_bytes=9999)

    (only,) = batches(found.data)
    assert (only.is_transactional, only.producer_id, only.is_crc_valid()) == (False, -1, True)


@pytest.mark.parametrize("is_rebuilt", (True, False))
def test_batch_outside_of_its_producer_s_open_transaction_has_no_producer(
    *, is_rebuilt: bool
) -> None:
    outside = idempotent(3, 3)
    data = transactional(0, 3) + (harmed(outside, 61, 62) if is_rebuilt else outside) + marker(6)
    files = directory({f"{0:020}.log": data + idempotent(7)})

    report = salvage(ports(files), SOURCE, out="/out")

    found = batches(read_whole(files, f"{report.path}/{0:020}.log"))
    assert [each.producer_id for each in found if isinstance(each, RecordBatch)] == [7, -1, 7, 7]
    assert [each[:2] for each in report.doubtful] == ([(4, 5)] if is_rebuilt else [])
    assert len(report.notes) == (not is_rebuilt)
    assert "offsets 3 to 5 are not in the open" in "".join(report.notes) or is_rebuilt


def test_rebuilt_batch_with_a_high_producer_epoch_does_not_stop_a_salvage() -> None:
    damaged = harmed(transactional(3, 3), 51, 61, 62)
    files = directory(
        {f"{0:020}.log": transactional(0, 3) + damaged + marker(6) + transactional(7)}
    )

    report = salvage(ports(files), SOURCE, out="/out")

    assert (report.log_start, report.log_end) == (0, 8)
    assert [each[:2] for each in report.doubtful] == [(4, 5)]


@pytest.mark.parametrize("behind", (batch(4), broken(batch(4))), ids=("whole", "damaged"))
def test_batch_without_an_offset_behind_it_is_left_out(behind: bytes) -> None:
    last = harmed(batch(8), 61) if behind != batch(4) else batch(8)
    beyond = (INT64_MAX - 3).to_bytes(8) + last[8:]
    files = directory({f"{0:020}.log": batch(0) + behind, "copy.log": beyond})

    report = salvage(ports(files), SOURCE, out="/out")

    assert report.log_end <= 8


def test_rebuilt_marker_has_a_possible_producer_epoch() -> None:
    event = TransactionEvent(0, 0, 7, -9, 0, 1000)

    data = RebuiltMarker(1, is_commit=True, event=event, why="why").encoded(after_epoch=0)

    (only,) = batches(data)
    assert isinstance(only, RecordBatch)
    assert (only.producer_id, only.producer_epoch) == (7, 0)
