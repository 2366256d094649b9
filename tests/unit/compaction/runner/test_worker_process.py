"""A worker process handles jobs, rates and stops from theirs pipe, and ends with it."""

import threading
from multiprocessing import Pipe

import pytest

from cordwood.compaction.cleaning_job import (
    CleaningFailedError,
    CleaningResult,
    CleaningStoppedError,
)
from cordwood.compaction.runner.worker_process import serve
from cordwood.core.system import SystemClock, ThreadWorker
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.compaction.cleaner_samples import CleanerHarness, job_of


class ServedPipe:
    """A pipe whose other end is served by a thread until it is closed."""

    def __init__(self, files: MemoryFiles) -> None:
        self.pipe, theirs = Pipe()
        self.is_cut = threading.Event()
        ports = {
            "clock": SystemClock(),
            "worker": ThreadWorker(1),
            "on_disconnect": self.is_cut.set,
        }
        self.thread = threading.Thread(
            target=serve, args=(theirs, files), kwargs=ports, daemon=True
        )
        self.thread.start()

    def end(self) -> None:
        self.pipe.close()
        self.is_cut.wait()


@pytest.fixture
def harness() -> CleanerHarness:
    return CleanerHarness()


def test_process_returns_the_result_of_a_job(harness: CleanerHarness) -> None:
    served, job = ServedPipe(harness.house.files), job_of(harness)

    served.pipe.send(job)
    found = served.pipe.recv()

    assert isinstance(found, CleaningResult)
    assert found.end == job.plan.end
    served.end()


def test_process_stops_a_running_job_on_request(harness: CleanerHarness) -> None:
    served = ServedPipe(harness.house.files)

    served.pipe.send(0.001)
    served.pipe.send(job_of(harness))
    served.pipe.send(None)

    assert isinstance(served.pipe.recv(), CleaningStoppedError)
    served.end()


def test_process_continues_after_a_failed_job(harness: CleanerHarness) -> None:
    served, job = ServedPipe(harness.house.files), job_of(harness)
    harness.house.files.remove(f"{job.directory}/{2:020}.log")

    for _ in range(2):
        served.pipe.send(job)
        assert isinstance(served.pipe.recv(), CleaningFailedError)
    served.end()


def test_idle_process_ends() -> None:
    pipe, theirs = Pipe()
    is_cut = threading.Event()

    serve(
        theirs,
        MemoryFiles(),
        clock=SystemClock(),
        worker=InlineWorker(),
        on_disconnect=is_cut.set,
        idle_seconds=0.01,
    )

    pipe.close()
    is_cut.wait()
