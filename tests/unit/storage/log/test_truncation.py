"""Truncation at either end of a log also updates epochs, producers and indexes."""

import pytest

from cordwood.core.errors import RecordListTooLargeError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import (
    DIRECTORY,
    LogHarness,
    bases,
    batch,
    filled,
    follow,
    interleaved,
    lead,
    marker,
    offsets,
    opened,
    produced,
    read,
)

ONE = len(batch())
FIVES = LogConfig(segment_bytes=5 * ONE, segment_index_bytes=1200, index_interval_bytes=0)


def aged(*steps: tuple[int, int]) -> Log:
    """Return a log with this number of records of each epoch, five a segment."""
    log = opened(FIVES)
    for epoch, count in steps:
        filled(log, count, epoch=epoch)
    return log


def epochs(log: Log) -> tuple[tuple[int, int], ...]:
    return tuple((entry.epoch, entry.start_offset) for entry in log.epochs.entries)


def all_offsets(log: Log) -> list[int]:
    """Return the offsets of all records; each batch has one."""
    found: list[int] = []
    at: int = log.bounds.log_start
    while part := offsets(read(log, at)):
        found += [first for first, _ in part]
        at = found[-1] + 1
    return found


# -- its end


@pytest.mark.parametrize("offset", (12, 13))
def test_truncation_at_or_beyond_the_end_changes_no_records(offset: int) -> None:
    log = filled(opened(FIVES), 12)

    assert not log.truncate_to(offset)
    assert all_offsets(log) == list(range(12))


@pytest.mark.parametrize(
    ("offset", "left"), ((11, [0, 5, 10]), (10, [0, 5, 10]), (9, [0, 5]), (5, [0, 5]), (0, [0]))
)
def test_truncation_removes_records_and_segments_behind_the_offset(
    offset: int, left: list[int]
) -> None:
    log = filled(opened(FIVES), 12)

    assert log.truncate_to(offset)
    assert bases(log) == left
    assert all_offsets(log) == list(range(offset))
    assert log.size == offset * ONE


def test_truncated_log_continues_where_it_was_truncated() -> None:
    log = filled(opened(FIVES), 12)

    log.truncate_to(7)
    filled(log, 8)

    assert all_offsets(log) == list(range(15))
    assert bases(log) == [0, 5, 10]


def test_truncation_inside_a_batch_removes_it_and_ends_the_log_at_the_offset() -> None:
    log = opened()
    lead(log, batch(3), batch(5))

    log.truncate_to(5)

    assert log.size == len(batch(3))
    assert lead(log, batch()).first_offset == 5


def test_truncation_after_the_last_batch_only_lowers_the_log_end() -> None:
    log = opened()
    lead(log, batch(3), batch(5))
    log.truncate_to(6)

    assert log.truncate_to(4)
    assert log.size == len(batch(3))
    assert log.bounds.log_end == 4


def test_truncation_below_zero_is_rejected() -> None:
    with pytest.raises(ValueError, match="-1"):
        filled(opened(), 1).truncate_to(-1)


def test_truncation_lowers_all_bounds_above_it() -> None:
    log = filled(opened(FIVES), 12)
    log.flush()
    log.delete_records(4)

    log.truncate_to(6)
    bounds = log.bounds
    middle = (bounds.log_start, bounds.high_watermark, bounds.recovery_point, bounds.log_end)
    log.truncate_to(2)

    assert middle == (4, 6, 6, 6)
    assert bounds.log_start == 2
    assert bounds.high_watermark == 2
    assert bounds.recovery_point == 2


def test_truncation_below_the_first_segment_restarts_there() -> None:
    log = filled(opened(FIVES), 12)
    log.delete_records(11)
    log.delete_old_segments()

    log.truncate_to(3)
    filled(log, 1)

    assert bases(log) == [3]
    assert all_offsets(log) == [3]


def test_truncated_segments_are_renamed_and_removed_later() -> None:
    harness = LogHarness()
    log = filled(harness.open(FIVES), 12)

    log.truncate_to(2)

    gone = [f"{DIRECTORY}/{base:020}.{each}" for base in (10, 5) for each in ("log", "index")]
    assert all(f"{path}.deleted" in harness.deletions.paths for path in gone)
    assert f"{DIRECTORY}/{10:020}.snapshot.deleted" in harness.deletions.paths
    assert harness.deletions.delays_ms == [60_000]
    assert {path.rpartition("/")[2].lstrip("0") for path in harness.deletions.paths} == set(
        harness.names(".deleted")
    )


def test_truncated_segments_can_still_be_read_by_their_readers() -> None:
    log = filled(opened(FIVES), 12)
    found = read(log, 7)

    log.truncate_to(2)

    assert offsets(found) == [(7, 7), (8, 8), (9, 9)]


def test_truncation_drops_the_entries_behind_it() -> None:
    log = filled(opened(), 10)
    log.truncate_to(4)

    follow(log, batch(at=4), batch(at=8))

    assert [read(log, at).position for at in (4, 5, 8)] == [4 * ONE, 5 * ONE, 5 * ONE]


# -- removed records stay removed


def test_truncated_records_do_not_reappear_after_new_ones() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 10)
    log.flush()

    log.truncate_to(5)
    lead(log, batch(value=b"other"), epoch=1)
    writes = [index for index, each in enumerate(harness.files.pending()) if "write" in each]
    harness.files.crash(keep=writes)
    log = harness.open(is_clean=False, recovery_point=5)

    assert all_offsets(log) == list(range(6))


def test_truncated_segments_do_not_reappear_after_new_records() -> None:
    harness = LogHarness()
    log = filled(harness.open(FIVES), 12)
    log.flush()

    log.truncate_to(5)
    filled(log, 1)
    writes = [index for index, each in enumerate(harness.files.pending()) if "write" in each]
    harness.files.crash(keep=writes)
    log = harness.open(FIVES, is_clean=False, recovery_point=5)

    assert bases(log) == [0, 5]
    assert all_offsets(log) == list(range(6))


def test_snapshot_of_removed_records_does_not_reappear() -> None:
    """The snapshot of a clean shutdown is at no segment's base, so no later roll replaces it."""
    harness = LogHarness()
    log = harness.open()
    lead(log, *(produced(each) for each in range(6)))
    log.close()
    log = harness.open(recovery_point=6)

    log.truncate_to(2)
    lead(log, *(produced(2, producer=(other, 0)) for other in range(2, 9)), epoch=1)
    writes = [index for index, each in enumerate(harness.files.pending()) if "write" in each]
    harness.files.crash(keep=writes)
    log = harness.open(is_clean=False, recovery_point=2)

    assert log.producers.producers[1].last_sequence == 1
    assert len(log.producers.producers) == 8


def test_restarted_log_does_not_restore_its_old_segments() -> None:
    harness = LogHarness()
    log = harness.open(FIVES)
    follow(log, batch(), batch(at=1))
    log.flush()

    log.truncate_fully(50)
    harness.files.crash()
    log = harness.open(FIVES, is_clean=False)

    assert bases(log) == [50]


def test_failed_truncation_leaves_no_gap() -> None:
    harness = LogHarness()
    log = filled(harness.open(FIVES), 17)
    log.flush()
    harness.files.script.add(FileFault(on="rename", path="*10.log.deleted"))

    with pytest.raises(OSError, match="error"):
        log.truncate_to(2)

    assert harness.names(".log") == ["0.log", "5.log", "10.log"]


# -- epochs


def test_truncation_at_the_end_drops_an_epoch_without_records() -> None:
    harness = LogHarness()
    log = filled(harness.open(LogConfig(segment_bytes=2 * ONE)), 2)
    with pytest.raises(RecordListTooLargeError):
        lead(log, batch(value=bytes(500)), epoch=7)
    before = epochs(log)

    log.truncate_to(2)

    assert before == ((0, 0), (7, 2))
    assert epochs(log) == ((0, 0),)
    assert all_offsets(log) == [0, 1]


@pytest.mark.parametrize(("offset", "count"), ((20, 3), (18, 3), (16, 2), (11, 2), (10, 1), (0, 0)))
def test_truncation_drops_the_epochs_behind_it(offset: int, count: int) -> None:
    log = aged((0, 10), (1, 6), (2, 4))

    log.truncate_to(offset)

    assert epochs(log) == ((0, 0), (1, 10), (2, 16))[:count]


@pytest.mark.parametrize(
    ("starts", "left"),
    (
        (((0, 7), (1, 3), (2, 5)), ((0, 5), (1, 7), (2, 10))),
        (((0, 5), (1, 5), (2, 5)), ((1, 5), (2, 10))),
    ),
)
def test_deletion_moves_the_first_epoch_to_the_log_start(
    starts: tuple[tuple[int, int], ...], left: tuple[tuple[int, int], ...]
) -> None:
    log = aged(*starts)

    log.delete_records(5)
    log.delete_old_segments()

    assert bases(log) == [5, 10]
    assert epochs(log) == left


def test_epochs_are_on_disk_when_a_truncation_is_done() -> None:
    harness = LogHarness()
    log = filled(filled(harness.open(), 3, epoch=1), 3, epoch=2)
    log.flush()

    log.truncate_to(2)
    harness.files.crash()

    entries = harness.open(is_clean=False).epochs.entries
    assert entries == (EpochEntry(LeaderEpoch(1), Offset(0)),)


# -- producers


def test_truncation_removes_later_producer_state() -> None:
    log = opened()
    lead(log, produced(0), produced(1), produced(2))

    log.truncate_to(2)

    assert log.producers.producers[1].last_sequence == 1
    assert log.producers.map_end_offset == 2
    assert lead(log, produced(2)).first_offset == 2


def test_truncation_opens_transactions_again_whose_markers_it_removes() -> None:
    harness = LogHarness()
    log = harness.open()
    follow(log, *interleaved())
    log.set_high_watermark(90)

    log.truncate_to(70)

    assert log.bounds.last_stable == 8
    assert [entry.producer_id for entry in harness.aborted()] == [1]


def test_truncation_at_a_segments_base_keeps_the_segment_and_its_snapshot() -> None:
    harness = LogHarness()
    log = harness.open()
    lead(log, produced(0))
    log.roll()
    lead(log, produced(1))

    log.truncate_to(1)

    assert bases(log) == [0, 1]
    assert harness.names(".snapshot") == ["1.snapshot"]
    assert log.producers.producers[1].last_offset == 0


def test_truncation_writes_a_snapshot_at_the_new_end() -> None:
    harness = LogHarness()
    log = harness.open()
    lead(log, produced(0), produced(1), produced(2))

    found = []
    for offset in (2, 1, 0):
        log.truncate_to(offset)
        found.append((harness.names(".snapshot"), log.producers.map_end_offset))

    assert found == [(["2.snapshot"], 2), (["1.snapshot"], 1), ([], 0)]


# -- everything


def test_full_truncation_continues_at_any_offset() -> None:
    harness = LogHarness()
    log = harness.open(FIVES)
    lead(log, *(produced(sequence) for sequence in range(12)), epoch=3)

    log.truncate_fully(29)

    assert bases(log) == [29]
    assert log.size == 0
    assert epochs(log) == ()
    assert log.bounds.log_start == log.bounds.high_watermark == log.bounds.log_end == 29
    assert harness.names(".snapshot") == []
    assert dict(log.producers.producers) == {}
    assert log.producers.map_end_offset == 29
    assert lead(log, produced(0)).first_offset == 29


def test_full_truncation_may_continue_at_the_base_of_a_segment() -> None:
    log = filled(opened(FIVES), 12)

    log.truncate_fully(5)
    filled(log, 1)

    assert bases(log) == [5]
    assert all_offsets(log) == [5]


def test_full_truncation_may_leave_older_records_elsewhere() -> None:
    log = filled(opened(), 12)

    log.truncate_fully(50, log_start=20)

    bounds = log.bounds
    assert bounds.log_start == 20
    assert bounds.high_watermark == 50
    assert bounds.log_end == 50


# -- its start


def test_lower_log_start_has_no_effect() -> None:
    log = filled(opened(FIVES), 12)
    log.delete_records(6)

    assert log.delete_records(3) == 6


def test_transaction_cut_by_the_log_start_is_unstable_from_there() -> None:
    log = opened()
    lead(log, produced(0, 5, is_transactional=True), batch(3))
    log.roll()
    lead(log, produced(5, 5, is_transactional=True))
    log.set_high_watermark(13)

    log.delete_records(5)
    inside = log.bounds.first_unstable
    log.delete_records(8)
    log.delete_old_segments()

    assert inside == 5
    assert log.bounds.first_unstable == 8
    assert bases(log) == [8]
    lead(log, marker(), origin=AppendOrigin.COORDINATOR)
    log.set_high_watermark(14)
    assert log.bounds.first_unstable is None


def test_snapshots_of_deleted_segments_are_deleted() -> None:
    harness = LogHarness()
    log = filled(harness.open(FIVES), 12)

    log.delete_records(11)
    log.delete_old_segments()

    assert harness.names(".snapshot") == ["10.snapshot"]
    assert f"{DIRECTORY}/{5:020}.snapshot.deleted" in harness.deletions.paths


def test_deleted_files_are_scheduled_with_file_delete_delay_ms() -> None:
    harness = LogHarness()
    log = filled(harness.open(FIVES), 12)
    log.configure(LogConfig(file_delete_delay_ms=7))

    log.delete_records(5)
    log.delete_old_segments()

    assert harness.deletions.delays_ms == [7]
    assert harness.names(".deleted") == [
        f"0.{each}.deleted" for each in ("index", "log", "timeindex")
    ]
