"""Recovery of the end of a log keeps the valid batches; removed ones never come back."""

import random
from dataclasses import replace

import pytest

from cordwood.core.binary import Buffer
from cordwood.core.errors import CorruptMessageError
from cordwood.core.types import Offset
from cordwood.records.kernels.tail_scan import KernelTailScanner
from cordwood.records.tail_scan import LAST_HEARD, ScanState, TailScan
from cordwood.storage.files.file_names import segment_name
from cordwood.storage.log.log import Log
from cordwood.storage.log.tail_recovery import RecoveryReport
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_state_entry import BATCHES_TO_RETAIN
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.testing.file_faults import PowerLoss
from tests.unit.storage.log_samples import (
    DIRECTORY,
    SMALL,
    LogHarness,
    bases,
    batch,
    filled,
    follow,
    headers_of,
    interleaved,
    lead,
    marker,
    offsets,
    produced,
    read,
)
from tests.unit.storage.produced import patched

MARKER_VERSION = 71

SIZE = len(batch())
THREE = replace(SMALL, segment_bytes=3 * SIZE)
NINE = 9


def dead(config: LogConfig = THREE, count: int = NINE) -> LogHarness:
    """Return a harness whose log was not closed; all written bytes are on disk."""
    harness = LogHarness()
    filled(harness.open(config), count)
    return harness


def stopped(config: LogConfig = THREE, count: int = NINE) -> LogHarness:
    """Return a harness whose log was closed."""
    harness = LogHarness()
    filled(harness.open(config), count).close()
    return harness


def path(base_offset: int, ending: str = ".log") -> str:
    return f"{DIRECTORY}/{segment_name(Offset(base_offset), ending)}"


def overwrite(harness: LogHarness, base_offset: int, data: bytes, *, at: int) -> None:
    harness.files.open(path(base_offset), writable=True).pwrite(data, at)


def remove(harness: LogHarness, *endings: str) -> None:
    """Remove all files with this ending."""
    for name in harness.files.list(DIRECTORY):
        if name.endswith(endings):
            harness.files.remove(f"{DIRECTORY}/{name}")


def recovered(harness: LogHarness, config: LogConfig = THREE, *, at: int = 0) -> Log:
    """Open the log after an unclean shutdown, with this recovery point."""
    return harness.open(config, is_clean=False, recovery_point=at)


def spans(log: Log) -> list[tuple[int, int]]:
    """Return the batches in a log."""
    found: list[tuple[int, int]] = []
    while (found[-1][1] + 1 if found else log.bounds.log_start) < log.bounds.log_end:
        more = offsets(read(log, found[-1][1] + 1 if found else log.bounds.log_start))
        found += more
        assert more, "a log has no end that cannot be read"
    return found


# -- the recovered segments


def test_segments_are_recovered_from_the_recovery_point_on() -> None:
    log = recovered(dead(), at=4)

    assert log.report == RecoveryReport(recovered=[3, 6])
    assert not log.report.is_noteworthy
    assert log.bounds.log_end == NINE


def test_no_segment_is_recovered_after_a_clean_stop() -> None:
    harness = stopped()

    assert harness.open(THREE).report == RecoveryReport(recovered=[])


def test_last_segment_is_recovered_when_the_recovery_point_is_behind_it() -> None:
    assert recovered(dead(), at=500).report.recovered == [6]


def test_segment_without_an_offset_index_is_recovered_after_a_clean_stop() -> None:
    harness = stopped()
    harness.files.remove(path(3, ".index"))

    log = harness.open(THREE)

    assert log.report.recovered == [3]
    assert len(harness.bytes_of(f"{3:020}.index")) == 16


def test_segment_that_is_too_wide_is_split_and_its_parts_are_recovered() -> None:
    harness, far = dead(SMALL, 2), 1 << 31
    harness.files.open(path(0), writable=True).append(bytes(batch(at=far)) + b"rubbish")

    log = recovered(harness, SMALL)

    assert log.report == RecoveryReport(recovered=[0, far], split=[0], truncated_bytes=7)
    assert spans(log) == [(0, 0), (1, 1), (far, far)]


# -- truncation at the first invalid batch


def test_batch_that_is_not_whole_is_truncated() -> None:
    harness = dead(SMALL)
    harness.files.open(path(0), writable=True).truncate(NINE * SIZE - 1)

    log = recovered(harness, SMALL)

    assert log.report == RecoveryReport(recovered=[0], truncated_bytes=SIZE - 1)
    assert log.bounds.log_end == NINE - 1
    assert str(log.report) == f"recovery truncated {SIZE - 1} invalid bytes"


def test_first_invalid_batch_ends_the_log_and_later_segments_are_removed() -> None:
    harness = dead()
    overwrite(harness, 3, b"\xff", at=2 * SIZE - 1)

    log = recovered(harness)

    assert (bases(log), log.bounds.log_end) == ([0, 3], 4)
    assert (log.report.recovered, log.report.removed) == ([0, 3], [6])
    assert isinstance(log.report.fault, CorruptMessageError)
    assert "removed the later segments [6]: the checksum is wrong" in str(log.report)
    assert harness.names("snapshot") == ["3.snapshot", "4.snapshot"]


def test_damage_below_the_recovery_point_is_not_checked() -> None:
    harness = dead()
    overwrite(harness, 3, b"\xff", at=2 * SIZE - 1)

    log = recovered(harness, at=6)

    assert bases(log) == [0, 3, 6]
    assert log.report.fault is None


def test_damaged_segment_without_an_index_is_truncated_and_later_segments_stay() -> None:
    harness = dead()
    overwrite(harness, 3, b"\xff", at=2 * SIZE - 1)
    harness.files.remove(path(3, ".index"))

    log = recovered(harness, at=6)

    assert spans(log) == [(offset, offset) for offset in (0, 1, 2, 3, 6, 7, 8)]
    assert log.report.recovered == [3, 6]
    assert log.report.truncated_bytes == 2 * SIZE


def test_second_fault_is_a_warning() -> None:
    harness = dead()
    for base in (0, 3):
        overwrite(harness, base, b"\xff", at=SIZE - 1)
        harness.files.remove(path(base, ".index"))

    report = recovered(harness, at=6).report

    assert report.fault is not None
    (warning,) = report.warnings
    assert warning.startswith(f"{path(3)}: the checksum is wrong")


def test_log_ends_where_offsets_decrease() -> None:
    harness = dead()
    overwrite(harness, 3, bytes(batch(at=3)), at=SIZE)

    log = recovered(harness)

    assert (bases(log), log.bounds.log_end) == ([0, 3], 4)
    assert "offsets that are not above" in str(log.report.fault)
    assert log.report.truncated_bytes == 2 * SIZE
    assert lead(log, batch()).first_offset == 4


def test_flushed_batches_stay_when_the_first_page_of_a_later_one_is_lost() -> None:
    harness = dead()
    overwrite(harness, 3, bytes(8), at=2 * SIZE)

    log = recovered(harness, at=5)

    assert spans(log) == [(offset, offset) for offset in range(5)]


def test_log_ends_before_a_segment_with_offsets_below_its_base() -> None:
    harness = dead()
    overwrite(harness, 3, bytes(batch(at=2)), at=0)

    log = recovered(harness)

    assert (bases(log), log.bounds.log_end) == ([0, 3], 3)
    assert "offsets that are not above" in str(log.report.fault)
    assert log.report.split == []


def test_later_segments_stay_behind_an_emptied_one_below_the_recovery_point() -> None:
    harness = dead()
    overwrite(harness, 3, bytes(batch(at=2)), at=0)
    harness.files.remove(path(3, ".index"))

    log = recovered(harness, at=6)

    assert spans(log) == [(offset, offset) for offset in (0, 1, 2, 6, 7, 8)]
    assert len(harness.bytes_of(f"{3:020}.index")) == 0


def test_marker_that_cannot_be_read_ends_the_log() -> None:
    harness = LogHarness()
    unreadable = patched(bytes(marker(at=1)), MARKER_VERSION, b"\xff\xff")
    follow(harness.open(), produced(0, is_transactional=True), batch(at=1), epoch=0)
    overwrite(harness, 0, unreadable, at=len(produced(0)))

    log = recovered(harness, SMALL)

    assert log.bounds.log_end == 1
    assert "version" in str(log.report.fault)


def test_gap_between_segments_is_reported_unless_the_log_is_compacted() -> None:
    harness = dead()
    harness.files.open(path(3), writable=True).truncate(2 * SIZE)
    compacted = replace(THREE, cleanup_policy=frozenset({"compact"}))

    log = recovered(harness)

    assert spans(log) == [(offset, offset) for offset in (0, 1, 2, 3, 4, 6, 7, 8)]
    (warning,) = log.report.warnings
    assert f"{path(3)}: no records from offset 5 up to the next segment at 6" in warning
    assert not recovered(harness, compacted).report.is_noteworthy


# -- removed records stay removed


@pytest.mark.parametrize("seed", range(6))
def test_truncated_records_never_reappear_after_new_ones(seed: int) -> None:
    chance = random.Random(seed)
    died, write_points = True, 0
    while died:
        harness = dead()
        filled_up = harness.open(THREE, is_clean=False)
        filled_up.flush()
        overwrite(harness, 3, b"\xff", at=2 * SIZE - 1)
        harness.files.open(path(3), writable=True).sync()
        harness.files.script.stop_after(write_points)
        try:
            follow(recovered(harness), batch(at=4), batch(at=5))
            died = False
        except PowerLoss:
            pass
        pending = range(len(harness.files.pending()))
        harness.files.crash([number for number in pending if chance.random() < 0.5])

        found = spans(recovered(harness))
        assert found in [[(each, each) for each in range(end)] for end in (4, 5, 6)]
        write_points += 1


def test_batches_after_an_invalid_one_do_not_reappear_after_its_replacement() -> None:
    harness = dead(SMALL)
    recovered(harness, SMALL).flush()
    overwrite(harness, 0, b"\xff", at=4 * SIZE - 1)
    harness.files.open(path(0), writable=True).sync()

    follow(recovered(harness, SMALL), batch(at=3))
    pending = harness.files.pending()
    harness.files.crash(
        [at for at, each in enumerate(pending) if each.startswith(f"write {SIZE} ")]
    )

    assert spans(recovered(harness, SMALL)) == [(0, 0), (1, 1), (2, 2), (3, 3)]


# -- epochs and producers


def test_lost_epochs_are_restored_from_the_batches() -> None:
    harness = LogHarness()
    log = harness.open(THREE)
    for epoch in range(3):
        filled(log, 2, epoch=epoch)
    log.close()
    harness.files.remove(f"{DIRECTORY}/leader-epoch-checkpoint")
    harness.files.create(f"{DIRECTORY}/leader-epoch-checkpoint").append(b"0\n2\n0 0\n1 2\n")

    assert [tuple(entry) for entry in recovered(harness).epochs.entries] == [(0, 0), (1, 2), (2, 4)]


def test_known_epochs_keep_their_start_offsets() -> None:
    harness = LogHarness()
    log = harness.open(THREE)
    for epoch, count in ((0, 2), (1, 5), (2, 2)):
        filled(log, count, epoch=epoch)
    log.flush()

    found = recovered(harness, at=4).epochs.entries

    assert [tuple(entry) for entry in found] == [(0, 0), (1, 2), (2, 7)]


def test_aborted_transactions_are_restored_to_their_index() -> None:
    harness = LogHarness()
    follow(
        harness.open(),
        produced(0, 2, producer=(5, 0), is_transactional=True),
        produced(0, 2, producer=(10, 0), at=2, is_transactional=True),
        batch(2, at=4, epoch=0),
        marker(producer=(10, 0), at=6),
        marker(is_commit=True, producer=(5, 0), at=7),
    )
    remove(harness, ".txnindex")

    log = recovered(harness, SMALL)

    assert harness.aborted() == [AbortedTxn(10, 2, 6, 0)]
    assert log.producers.map_end_offset == log.bounds.log_end == 8


def test_transaction_begun_in_an_earlier_segment_is_known() -> None:
    harness = LogHarness()
    log = harness.open()
    follow(log, produced(0, 2, producer=(10, 0), is_transactional=True))
    log.roll()
    follow(log, marker(producer=(10, 0), at=2))
    remove(harness, ".txnindex")

    recovered(harness, SMALL, at=2)

    assert harness.aborted(2) == [AbortedTxn(10, 0, 2, 3)]


def test_index_of_transactions_that_was_torn_is_written_again() -> None:
    harness = LogHarness()
    follow(harness.open(), produced(0, is_transactional=True), marker(at=1))
    harness.files.open(path(0, ".txnindex"), writable=True).truncate(20)

    recovered(harness, SMALL)

    assert harness.aborted() == [AbortedTxn(1, 0, 1, 2)]


@pytest.mark.parametrize("lost", ((".txnindex",), (".snapshot",), (".index", ".snapshot")))
@pytest.mark.parametrize("recovery_point", (0, 36, 90))
def test_interleaved_transactions_leave_the_same_indexes(
    lost: tuple[str, ...], recovery_point: int
) -> None:
    harness = LogHarness()
    config = replace(SMALL, segment_bytes=700)
    log = harness.open(config)
    for each in interleaved():
        follow(log, each)
    remove(harness, *(lost if recovery_point == 0 else lost[-1:]))
    if recovery_point:
        remove(harness, ".index")

    log = recovered(harness, config, at=recovery_point)

    found = [entry for base in bases(log) for entry in harness.aborted(base)]
    assert len(bases(log)) > 3
    assert found == [AbortedTxn(1, 0, 29, 8), AbortedTxn(2, 8, 74, 36)]


def test_snapshots_are_written_around_each_recovered_segment() -> None:
    harness = dead()
    remove(harness, ".snapshot")

    recovered(harness, at=3)

    assert harness.names("snapshot") == ["3.snapshot", "6.snapshot", "9.snapshot"]


def test_producers_are_read_from_the_log_where_snapshots_are_lost() -> None:
    harness = LogHarness()
    log = harness.open(THREE)
    for sequence in range(7):
        lead(log, produced(sequence))
    remove(harness, ".snapshot")

    log = recovered(harness, at=6)

    assert log.producers.producers[1].last_sequence == 6


def test_decreased_coordinator_epoch_is_accepted_with_a_warning() -> None:
    harness = LogHarness()
    follow(harness.open(), marker(at=0, coordinator_epoch=5))
    second = marker(at=1, coordinator_epoch=4)
    harness.files.open(path(0), writable=True).append(bytes(second))

    log = recovered(harness, SMALL)

    assert log.producers.producers[1].coordinator_epoch == 4
    (warning,) = log.report.warnings
    assert "coordinator epoch 4, below the last one seen, 5" in warning


def test_batch_outside_its_transaction_does_not_prevent_loading() -> None:
    harness = LogHarness()
    follow(harness.open(), produced(0, is_transactional=True))
    outside = produced(1, at=1)
    harness.files.open(path(0), writable=True).append(bytes(outside))

    log = recovered(harness, SMALL)

    assert spans(log) == [(0, 0), (1, 1)]
    assert log.report.is_noteworthy
    assert "at offset 1: the batch is outside the transaction" in str(log.report)
    assert log.bounds.first_unstable == 0
    assert len(headers_of(harness.bytes_of(f"{0:020}.log"))) == 2


def test_report_names_the_split_segments() -> None:
    report = RecoveryReport(split=[5], warnings=["something else"])

    assert report.is_noteworthy
    assert str(report) == (
        "split the segments [5], whose offsets exceed the range of their indexes; something else"
    )


def test_recovery_requests_one_scanner_for_all_its_batches() -> None:
    harness = dead()
    counts: list[int] = []
    harness.striders = counts.append

    recovered(harness)

    assert counts == [NINE]


def test_recovery_requests_no_scanner_for_batches_it_cannot_count() -> None:
    harness = dead()
    counts: list[int] = []
    harness.striders = counts.append
    overwrite(harness, 0, bytes(SIZE), at=0)

    recovered(harness)

    assert counts == [0]


def test_recovery_scans_all_but_the_first_batch() -> None:
    harness, passed = dead(SMALL), []

    class Noting(KernelTailScanner):
        def stride(self, data: Buffer, footing: ScanState) -> TailScan:
            passed.append(super().stride(data, footing).batches)
            return super().stride(data, footing)

    harness.striders = lambda _: Noting()

    assert recovered(harness, SMALL).bounds.log_end == NINE
    assert passed == [NINE - 1]


def test_recovery_scans_no_batch_while_a_transaction_is_open() -> None:
    harness = LogHarness()
    follow(
        harness.open(), produced(0, is_transactional=True), *(batch(at=at) for at in range(1, 5))
    )

    class Unused:
        def stride(self, data: Buffer, footing: ScanState) -> TailScan:
            raise AssertionError(len(data), footing)

    harness.striders = lambda _: Unused()

    assert recovered(harness, SMALL).bounds.log_end == 5


def test_recovery_replays_as_many_batches_as_are_remembered() -> None:
    assert LAST_HEARD == BATCHES_TO_RETAIN
