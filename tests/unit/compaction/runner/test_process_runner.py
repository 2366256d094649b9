"""A pass in another process has the same result, can be stopped, and may die."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningJob, CleaningStoppedError
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.compaction.plan.candidates import assess
from cordwood.compaction.plan.log_facts import PlanningJob, read_log_facts
from cordwood.compaction.runner import process_runner
from cordwood.compaction.runner.process_runner import ProcessRunner
from cordwood.core.ports import Ports
from cordwood.core.system import SystemFiles
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.compaction.cleaner_samples import COMPACTED, Control
from tests.unit.storage.log_samples import NOW, PARTITION, KeptDeletions, filled


class Killing(Control):
    """A control that kills the processes of a runner at its first call."""

    def __init__(self, runner: ProcessRunner) -> None:
        super().__init__()
        self.runner = runner

    def is_stopped(self) -> bool:
        for each in self.runner.process_ids:
            os.kill(each, signal.SIGKILL)
        return False


class Suspending(Control):
    """A control that suspends the processes of a runner and then stops their passes."""

    def __init__(self, runner: ProcessRunner) -> None:
        super().__init__()
        self.runner = runner

    def is_stopped(self) -> bool:
        for each in self.runner.process_ids:
            os.kill(each, signal.SIGSTOP)
        return True


@pytest.fixture
def job(tmp_path: Path) -> CleaningJob:
    """Return a pass over a log of three closed segments on disk."""
    files = SystemFiles()
    ports = Ports(files=files, clock=VirtualClock(), random=SeededRandom(1))
    table = OpenFileCache(files, 8)
    place = LogPlace(partition=PARTITION, directory=f"{tmp_path}/t-0", config=COMPACTED)
    log = Log.open(place, ports, table=table, deletions=KeptDeletions())
    for _ in range(3):
        filled(log, 2).roll()
    log.flush()
    plan = PlanningJob.of(log, assess(read_log_facts(log, checkpoint=None), NOW), now_ms=NOW).run()
    table.close()
    assert plan is not None
    return CleaningJob(
        directory=log.directory, plan=plan, memory_bytes=1 << 20, io_buffer_bytes=1 << 16
    )


@pytest.fixture
def runner() -> Iterator[ProcessRunner]:
    runner = ProcessRunner()
    yield runner
    runner.close()
    assert not runner.process_ids


def test_process_has_the_same_result_as_an_inline_run(
    job: CleaningJob, runner: ProcessRunner
) -> None:
    here = InlineRunner(SystemFiles(), PLAIN).run(job, Control())

    assert runner.run(job, Control()) == here


def test_process_runs_one_pass_after_another(job: CleaningJob, runner: ProcessRunner) -> None:
    runner.run(job, Control())
    before = runner.process_ids

    runner.run(job, Control())

    assert runner.process_ids == before
    assert len(before) == 1


def test_pass_in_a_process_stops_on_request(job: CleaningJob, runner: ProcessRunner) -> None:
    runner.limit(1)
    control = Control()
    control.stop.set()

    with pytest.raises(CleaningStoppedError):
        runner.run(job, control)

    assert not [name for name in os.listdir(job.directory) if name.endswith(".cleaned")]  # noqa: PTH208  # names


def test_process_without_an_answer_to_a_stop_is_killed_and_its_pass_is_stopped(
    job: CleaningJob, runner: ProcessRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is suspended before its stop is sent, as on a machine that is too busy."""
    monkeypatch.setattr(process_runner, "_GRACE_POLLS", 1)

    with pytest.raises(CleaningStoppedError, match="cleaning was stopped"):
        runner.run(job, Suspending(runner))

    assert not runner.process_ids


def test_process_that_is_killed_has_failed_its_pass(
    job: CleaningJob, runner: ProcessRunner
) -> None:
    runner.limit(1)

    with pytest.raises(CleaningFailedError, match="was killed by signal 9"):
        runner.run(job, Killing(runner))

    runner.limit(1e9)
    assert runner.run(job, Control()).end == job.plan.end


def test_failed_pass_in_a_process_reports_the_reason(
    job: CleaningJob, runner: ProcessRunner
) -> None:
    Path(job.directory, f"{0:020}.log").write_bytes(b"rubbish" * 30)

    with pytest.raises(CleaningFailedError, match="t-0"):
        runner.run(job, Control())


def test_higher_rate_applies_to_a_running_pass(job: CleaningJob, runner: ProcessRunner) -> None:
    runner.limit(10)

    class Impatient(Control):
        def is_stopped(self) -> bool:
            runner.limit(1e9)
            return False

    assert runner.run(job, Impatient()).end == job.plan.end
