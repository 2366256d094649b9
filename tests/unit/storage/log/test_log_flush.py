"""A flush syncs all files of unflushed records before the recovery point advances."""

import errno
from dataclasses import replace

import pytest

from cordwood.storage.log.log import Log
from cordwood.storage.log.log_flush import FlushJob
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import DIRECTORY, SMALL, LogHarness, batch, filled, lead, opened

THREE = replace(SMALL, segment_bytes=3 * len(batch()))


def begun(log: Log) -> FlushJob:
    """Return the job of a flush of unflushed records."""
    job = log.begin_flush()
    assert job is not None
    return job


def names(job: FlushJob) -> list[str]:
    """Return the names of a job's files, without leading zeros."""
    found = (path.removeprefix(f"{DIRECTORY}/").lstrip("0") for path in job.paths)
    return [f"0{name}" if name.startswith(".") else name for name in found]


def test_flush_names_all_files_of_a_new_log() -> None:
    job = begun(filled(opened(), 2))

    assert names(job) == ["0.log", "0.index", "0.timeindex"]
    assert job.has_new_names
    assert job.offset == 2


def test_flush_of_a_durable_log_syncs_no_files() -> None:
    log = filled(opened(), 2)
    log.flush()

    assert log.begin_flush() is None


def test_flush_begins_with_the_segment_of_the_recovery_point() -> None:
    log = filled(opened(THREE), 7)
    log.flush()
    filled(log, 1)

    job = begun(log)

    assert names(job) == ["6.log", "6.index", "6.timeindex", "6.snapshot"]
    assert not job.has_new_names


def test_flush_of_several_segments_has_the_snapshots_at_their_bases() -> None:
    job = begun(filled(opened(THREE), 4))

    assert names(job)[-4:] == ["3.log", "3.index", "3.timeindex", "3.snapshot"]


def test_flushed_records_survive_a_crash() -> None:
    harness = LogHarness()
    log = filled(harness.open(THREE), 8)
    log.flush()
    filled(log, 1)

    harness.files.crash()

    assert harness.open(THREE, is_clean=False, recovery_point=8).bounds.log_end == 8


def test_recovery_point_follows_up_to_where_the_log_ended_when_the_flush_began() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 2)
    job = begun(log)
    filled(log, 3)

    job.run(harness.files)
    log.finish_flush(job)

    assert log.bounds.recovery_point == 2
    assert begun(log).offset == 5


def test_files_are_synced_before_the_directory() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 2)
    harness.files.script.add(FileFault(on="sync_directory"))

    with pytest.raises(OSError, match="Input/output"):
        begun(log).run(harness.files)

    assert all("name" in each or "create" in each for each in harness.files.pending())


def test_flush_ignores_segments_deleted_since_it_began() -> None:
    harness = LogHarness()
    log = filled(harness.open(THREE), 7)
    job = begun(log)
    log.delete_records(5)
    harness.clock.advance(days=8)
    log.delete_old_segments()

    job.run(harness.files)
    log.finish_flush(job)

    assert log.bounds.recovery_point == 7


@pytest.mark.parametrize("on", ("sync", "open", "sync_directory"))
def test_recovery_point_stays_when_a_flush_fails(on: str) -> None:
    harness = LogHarness()
    log = filled(harness.open(), 2)
    job = begun(log)
    harness.files.script.add(FileFault(on=on, code=errno.EIO))

    with pytest.raises(OSError, match="Input/output"):
        job.run(harness.files)
    log.abort_flush(job)

    assert log.bounds.recovery_point == 0
    assert begun(log) == job


def test_recovery_point_stays_when_the_log_was_truncated_during_the_flush() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 5)
    job = begun(log)
    log.truncate_to(2)
    filled(log, 3)

    job.run(harness.files)
    log.finish_flush(job)

    assert log.bounds.recovery_point == 0
    assert names(begun(log)) == ["2.snapshot", *names(job)]


def test_recovery_point_stays_when_the_log_was_moved_during_the_flush() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 5)
    log.flush()
    filled(log, 1)
    job = begun(log)
    log.move("/d/u-0")

    job.run(harness.files)
    log.finish_flush(job)
    again = begun(log)

    assert log.bounds.recovery_point == 5
    assert all(path.startswith("/d/u-0/") for path in again.paths)
    assert len(again.paths) == 3


def test_clean_stop_syncs_all_files_and_writes_a_snapshot() -> None:
    harness = LogHarness()
    log = filled(harness.open(THREE), 7)

    log.close()
    harness.files.crash()

    assert harness.names("snapshot") == ["3.snapshot", "6.snapshot", "7.snapshot"]
    log = harness.open(THREE)
    assert log.bounds.log_end == log.bounds.recovery_point == 7
    assert not log.report.is_noteworthy


def test_clean_stop_syncs_the_indexes_of_an_empty_active_segment() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 3)
    log.roll()

    log.close()
    left = harness.files.pending()
    harness.files.crash()

    assert left == ()
    sizes = [len(harness.bytes_of(f"{3:020}.{end}")) for end in ("log", "index", "timeindex")]
    assert sizes == [0, 0, 0]
    assert lead(harness.open(), batch()).first_offset == 3


def test_clean_stop_of_a_flushed_log_is_durable() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 3)
    log.flush()

    log.close()
    harness.files.crash()

    assert harness.open().bounds.log_end == 3


def test_clean_stop_of_an_empty_log_writes_no_snapshot() -> None:
    harness = LogHarness()

    harness.open().close()
    harness.files.crash()

    assert harness.names() == ["0.index", "0.log", "0.timeindex"]
