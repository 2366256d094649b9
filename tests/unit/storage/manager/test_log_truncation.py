"""Logs are truncated at once, and durably by jobs on the worker."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.log.log import Log
from cordwood.storage.log.maintenance_lease import LeaseStage
from cordwood.storage.manager import log_changes, log_renames, log_truncation
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import batch, filled, follow, lead, marker, produced, read
from tests.unit.storage.manager_samples import (
    HeldWorker,
    LogManagerHarness,
    create_logs,
    partition,
)

#: The calls that a file system may block.
CHANGES: Final = ("create", "rename", "remove", "truncate", "preallocate", "sync*", "*write")


class TruncationHarness:
    """A flushed log with a record a batch, three a segment, up to 8; its worker runs on demand."""

    def __init__(self) -> None:
        self.logs = LogManagerHarness("/a")
        self.worker = HeldWorker()
        self.manager = self.logs.load(self.worker)
        self.log = filled(create_logs(self.manager)[0], 3)
        for _ in range(2):
            self.log.roll()
            filled(self.log, 3)
        self.log.flush()
        self.manager.checkpoints.write_all(RECOVERY_POINTS)
        self.worker.go_on()

    def truncate(self, offset: int = 4) -> list[Pending[None]]:
        """Truncate while every change of a file by the owner fails."""
        with self.owner_changes_no_file():
            return log_truncation.truncate(self.manager, {partition(): offset})

    @contextmanager
    def owner_changes_no_file(self) -> Iterator[None]:
        script = self.logs.files.script
        armed = [script.add(FileFault(on=each, times=99)) for each in CHANGES]
        yield
        for each in armed:
            script.remove(each)

    def go_on_until(self, done: list[Pending[None]]) -> int:
        """Let the worker go on; return how often it was waited for."""
        rounds = 0
        while not all(each.done() for each in done):
            self.worker.go_on()
            rounds += 1
        return rounds

    def crashed(self) -> Log:
        """Return the log as it is after a crash that keeps only what was synced."""
        self.logs.files.crash()
        return self.logs.load().logs[partition()]

    def checkpoint(self, name: str) -> Mapping[int, int]:
        found = read_offset_checkpoint(self.logs.files, f"/a/{name}")
        return {each.partition: offset for each, offset in found.items()}


@pytest.fixture
def harness() -> TruncationHarness:
    return TruncationHarness()


def bases(log: Log) -> list[int]:
    return list(log.base_offsets)


def test_log_ends_at_the_offset_before_any_job_has_run(harness: TruncationHarness) -> None:
    done = harness.truncate()

    bounds = harness.log.bounds
    assert [each.done() for each in done] == [False, False]
    assert (bounds.log_end, bounds.high_watermark, bounds.recovery_point) == (4, 4, 4)
    assert bases(harness.log) == [0, 3]
    assert read(harness.log, 3).length == len(batch())

    harness.go_on_until(done)
    assert harness.log.producers.map_end_offset == 4


def test_steps_sync_the_directory_and_then_the_file_on_the_worker(
    harness: TruncationHarness,
) -> None:
    done = harness.truncate()
    sizes = [harness.logs.files.stat(f"{harness.log.directory}/{3:020}.log").size]
    harness.worker.go_on()
    sizes.append(harness.logs.files.stat(f"{harness.log.directory}/{3:020}.log").size)

    assert harness.go_on_until(done) == 1
    sizes.append(harness.logs.files.stat(f"{harness.log.directory}/{3:020}.log").size)
    assert sizes == [3 * len(batch()), 3 * len(batch()), len(batch())]
    assert [each.exception() for each in done] == [None, None]


def test_truncated_log_is_the_one_after_a_crash(harness: TruncationHarness) -> None:
    harness.go_on_until(harness.truncate())

    log = harness.crashed()

    assert (bases(log), log.bounds.log_end) == ([0, 3], 4)


def test_crash_before_the_first_job_leaves_the_whole_log(harness: TruncationHarness) -> None:
    harness.truncate()

    log = harness.crashed()

    assert (bases(log), log.bounds.log_end) == ([0, 3, 6], 9)


def test_crash_between_the_jobs_leaves_no_gap(harness: TruncationHarness) -> None:
    harness.truncate()
    harness.worker.go_on()

    log = harness.crashed()

    assert (bases(log), log.bounds.log_end) == ([0, 3], 6)


def test_append_waits_for_the_jobs(harness: TruncationHarness) -> None:
    """Otherwise a crash could bring removed records back behind the new one."""
    harness.truncate()

    follow(harness.log, batch(at=4, epoch=1), epoch=1)
    harness.log.epoch_file.save()
    pending = harness.logs.files.pending()

    assert not any("resize" in each or "deleted" in each for each in pending)
    log = harness.crashed()
    assert (bases(log), log.bounds.log_end) == ([0, 3], 4)


def test_next_truncation_waits_for_the_jobs_of_the_one_before(harness: TruncationHarness) -> None:
    first = harness.truncate()
    second = log_truncation.truncate(harness.manager, {partition(): 1})

    harness.go_on_until(first + second)

    assert [each.exception() for each in first + second] == [None] * len(first + second)
    assert harness.crashed().bounds.log_end == 1


def test_full_truncation_is_driven_too(harness: TruncationHarness) -> None:
    with harness.owner_changes_no_file():
        done = log_truncation.truncate_fully(harness.manager, partition(), offset=50)

    assert harness.go_on_until(done) == 1
    log = harness.crashed()
    assert (bases(log), log.bounds.log_end) == ([50], 50)


def test_truncation_above_the_end_has_no_jobs(harness: TruncationHarness) -> None:
    assert harness.truncate(9) == []


@pytest.mark.parametrize("rounds", (0, 1))
def test_failed_sync_takes_the_directory_offline(harness: TruncationHarness, rounds: int) -> None:
    done = harness.truncate()
    for _ in range(rounds):
        harness.worker.go_on()
    harness.logs.files.script.add(FileFault(on="sync*", path="/a/orders-0*"))

    harness.go_on_until(done)

    assert isinstance(done[0].exception(), KafkaStorageError)
    assert not harness.manager.has(harness.log)


def test_log_that_is_deleted_meanwhile_ends_the_truncation(harness: TruncationHarness) -> None:
    done = harness.truncate()
    log_renames.delete(harness.manager, partition())

    harness.go_on_until(done)

    assert isinstance(done[0].exception(), KafkaStorageError)
    assert harness.manager.directories[0].is_online


def test_truncation_lowers_the_checkpoints_on_disk_too(harness: TruncationHarness) -> None:
    harness.manager.set_cleaned_to(harness.log, 5)
    harness.worker.go_on()

    harness.go_on_until(harness.truncate(2))

    assert harness.checkpoint(RECOVERY_POINTS) == {0: 2}
    assert harness.checkpoint(CLEANER_OFFSETS) == {0: 2}


def test_truncation_above_the_recovery_point_writes_no_checkpoint(
    harness: TruncationHarness,
) -> None:
    lead(harness.log, batch(), batch())
    harness.log.lease = harness.log.lease.take(LeaseStage.CLEANING, "cleaner")

    assert len(harness.truncate(10)) == 1
    assert harness.log.lease.is_revoked


def test_transaction_that_is_open_again_hides_its_records_at_once() -> None:
    """Its marker is removed, and the producer state knows that after a job."""
    logs, worker = LogManagerHarness("/a"), HeldWorker()
    manager = logs.load(worker)
    (log,) = create_logs(manager)
    for each in (batch(), produced(0, at=1, is_transactional=True), marker(at=2, is_commit=True)):
        follow(log, each)
    log.set_high_watermark(3)
    worker.go_on()
    assert log.bounds.last_stable == 3

    done = log_truncation.truncate(manager, {partition(): 2})
    log.set_high_watermark(2)
    meanwhile = log.bounds.last_stable
    while not all(each.done() for each in done):
        worker.go_on()

    assert meanwhile == 0
    assert log.bounds.last_stable == 1


def test_retention_waits_for_a_truncation(harness: TruncationHarness) -> None:
    """It would finish the truncation itself, which blocks."""
    done = harness.truncate()

    with harness.owner_changes_no_file():
        retained = log_changes.apply_retention(harness.manager, harness.log)

    assert not retained.done()
    harness.go_on_until([*done, retained])
    assert retained.exception() is None
