"""A change in steps is driven job by job, or finished at once."""

import errno
from functools import partial

import pytest

from cordwood.core.ports import Lane
from cordwood.storage.log.log import Log
from cordwood.storage.log.stepped_change import RunningChanges, SteppedChange
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, batch, filled, follow
from tests.unit.storage.manager_samples import HeldWorker


def begun(log: Log, offset: int) -> SteppedChange:
    change = log.begin_truncation(offset)
    assert change is not None
    return change


def test_next_job_is_submitted_after_the_one_before() -> None:
    log, worker = filled(LogHarness().open(), 3), HeldWorker()
    log.roll()
    filled(log, 1)
    change, submit = begun(log, 2), partial(worker.submit, lane=Lane.FLUSH)

    jobs = [change.advance(submit), change.advance(submit), change.advance(submit)]

    assert [job is not None for job in jobs] == [True, True, False]
    assert all(job is None or job.done() for job in jobs)


def test_finish_runs_the_jobs_that_are_left() -> None:
    harness, worker = LogHarness(), HeldWorker()
    log = filled(harness.open(), 3)
    change = begun(log, 2)
    change.advance(partial(worker.submit, lane=Lane.FLUSH))

    change.finish()

    assert change.advance(partial(worker.submit, lane=Lane.FLUSH)) is None
    assert not any(".log to" in each for each in harness.files.pending())


def test_log_is_torn_when_a_job_fails() -> None:
    harness, worker = LogHarness(), HeldWorker()
    log = filled(harness.open(), 3)
    change, submit = begun(log, 2), partial(worker.submit, lane=Lane.FLUSH)
    harness.files.script.add(FileFault(on="sync*", path=f"{DIRECTORY}*", code=errno.EIO))

    change.advance(submit)
    worker.go_on()
    with pytest.raises(OSError, match="Input/output"):
        change.advance(submit)

    assert log.is_torn


@pytest.mark.parametrize("is_full", (True, False))
def test_new_records_wait_for_a_truncation(*, is_full: bool) -> None:
    harness = LogHarness()
    log = filled(harness.open(), 3)
    log.flush()
    if is_full:
        log.begin_full_truncation(2)
    else:
        log.begin_truncation(2)

    follow(log, batch(at=2))

    assert not any(".log to" in each for each in harness.files.pending())


def test_no_running_change_needs_no_work() -> None:
    changes = RunningChanges()

    changes.finish_all()

    assert (changes.swap, changes.truncation) == (None, None)
