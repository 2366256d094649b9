"""The files of a leader's next append are changed by jobs, and the append changes none."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from cordwood.core.ports import Lane
from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.append_job import PreparedRecords
from cordwood.storage.log.log import Log
from cordwood.storage.log.stepped_change import SteppedChange
from cordwood.storage.log_config import LogConfig
from cordwood.testing.file_faults import FileFault
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.storage.log_samples import (
    DIRECTORY,
    NOW,
    LogHarness,
    bases,
    batch,
    filled,
    produced,
)
from tests.unit.storage.manager_samples import HeldWorker

ONE = len(batch())
PAIRS = LogConfig(segment_bytes=2 * ONE, segment_index_bytes=1200)
#: The calls that a file system delays while it commits its journal.
CHANGES = ("create", "rename", "remove", "truncate", "preallocate", "stat", "list")


def prepared(
    log: Log, data: bytearray | None = None, *, origin: AppendOrigin = AppendOrigin.CLIENT
) -> PreparedRecords:
    records = batch() if data is None else data
    return log.begin_append(records, inspector=PlainInspector(), origin=origin).run()


def changed(log: Log, records: PreparedRecords) -> bool:
    """Make the change that an append needs; return whether there is one."""
    change = log.begin_append_files(records)
    if change is None:
        return False
    drive(change)
    assert log.begin_append_files(records) is None
    return True


def drive(change: SteppedChange) -> None:
    submit = partial(InlineWorker().submit, lane=Lane.FILES)
    while change.advance(submit) is not None:
        pass


def append(log: Log, data: bytearray | None = None) -> None:
    """Append as a loop does."""
    records = prepared(log, data)
    changed(log, records)
    log.finish_append(records, leader_epoch=0, has_files=True)


@contextmanager
def without_changes(harness: LogHarness) -> Iterator[None]:
    """Let every change of a name or a size fail."""
    script = harness.files.script
    armed = [script.add(FileFault(on=call, times=99)) for call in CHANGES]
    yield
    for each in armed:
        script.remove(each)


@pytest.mark.parametrize("config", (PAIRS, LogConfig(segment_bytes=2 * ONE, preallocate=True)))
def test_append_itself_changes_no_names_and_no_sizes(config: LogConfig) -> None:
    harness = LogHarness()
    log = harness.open(config)

    for _ in range(5):
        records = prepared(log)
        changed(log, records)
        with without_changes(harness):
            log.finish_append(records, leader_epoch=0, has_files=True)

    assert (bases(log), log.bounds.log_end) == ([0, 2, 4], 5)


def test_steps_of_a_change_need_the_disk_only_in_its_jobs() -> None:
    harness, worker = LogHarness(), HeldWorker(holds_files=True)
    log = harness.open(PAIRS)
    append(log, produced(0))
    append(log, produced(1))
    with without_changes(harness):
        change = log.begin_append_files(prepared(log, produced(2)))
        assert change is not None
        jobs = [change.advance(partial(worker.submit, lane=Lane.FILES))]
    worker.go_on()
    with without_changes(harness):
        jobs.append(change.advance(partial(worker.submit, lane=Lane.FILES)))

    assert ([job is not None for job in jobs], bases(log)) == ([True, False], [0, 2])


def test_files_are_those_of_an_append_that_rolls_itself() -> None:
    first, second = LogHarness(), LogHarness()
    one, other = first.open(PAIRS), filled(second.open(PAIRS), 5)

    for _ in range(5):
        append(one)
    one.epoch_file.save()

    names = first.files.list(DIRECTORY)
    assert names == second.files.list(DIRECTORY)
    assert [first.bytes_of(each) for each in names] == [second.bytes_of(each) for each in names]
    assert one.base_offsets == other.base_offsets


def test_first_append_after_a_start_grows_the_indexes_in_a_job() -> None:
    harness = LogHarness()
    filled(harness.open(LogConfig(segment_index_bytes=1200)), 2).close()
    log = harness.open(LogConfig(segment_index_bytes=1200))
    records = prepared(log)

    assert changed(log, records)
    with without_changes(harness):
        log.finish_append(records, leader_epoch=0, has_files=True)

    assert (log.bounds.log_end, len(harness.bytes_of(f"{0:020}.index"))) == (3, 1200)


def test_first_append_after_a_start_rolls_by_the_time_of_the_first_batch() -> None:
    harness, hourly = LogHarness(), LogConfig(segment_ms=1000)
    log = harness.open(hourly)
    append(log, batch(timestamp=NOW))
    log.close()
    log = harness.open(hourly)

    append(log, batch(timestamp=NOW + 1001))

    assert bases(log) == [0, 1]


def test_failed_roll_leaves_no_file_and_the_log_as_it_was() -> None:
    harness = LogHarness()
    log = filled(harness.open(PAIRS), 2)
    before = harness.files.list(DIRECTORY)
    harness.files.script.add(FileFault(on="preallocate", path="*2.index", code=errno.ENOSPC))

    change = log.begin_append_files(prepared(log))
    assert change is not None
    with pytest.raises(OSError, match="No space"):
        drive(change)

    assert (harness.files.list(DIRECTORY), log.is_torn) == (before, False)
    append(log)
    assert (bases(log), log.bounds.log_end) == ([0, 2], 3)


def test_log_is_torn_when_the_files_of_a_failed_roll_stay() -> None:
    harness = LogHarness()
    log = filled(harness.open(PAIRS), 2)
    harness.files.script.add(FileFault(on="preallocate", path="*2.index", code=errno.ENOSPC))
    harness.files.script.add(FileFault(on="remove", path="*2.log"))

    change = log.begin_append_files(prepared(log))
    assert change is not None
    with pytest.raises(OSError, match="Input/output"):
        drive(change)

    assert log.is_torn


def test_append_without_the_change_finishes_it() -> None:
    log = filled(LogHarness().open(PAIRS), 2)
    records = prepared(log)
    change = log.begin_append_files(records)
    assert change is not None

    log.finish_append(records, leader_epoch=0)

    assert (bases(log), log.bounds.log_end) == ([0, 2], 3)


def test_aborted_transaction_creates_its_index_in_a_job() -> None:
    harness = LogHarness()
    log = harness.open()
    append(log, produced(0, is_transactional=True))
    marker = control_batch(
        EndTransaction(is_commit=False, coordinator_epoch=0),
        BatchFields(producer_id=1, producer_epoch=0),
        timestamp=NOW,
    )
    records = prepared(log, marker, origin=AppendOrigin.COORDINATOR)

    assert changed(log, records)
    with without_changes(harness):
        log.finish_append(records, leader_epoch=0, has_files=True)

    assert len(harness.bytes_of(f"{0:020}.txnindex")) > 0


def test_record_set_that_is_too_large_needs_no_files() -> None:
    log = filled(LogHarness().open(LogConfig(segment_bytes=ONE)), 1)

    assert log.begin_append_files(prepared(log, batch(50))) is None
