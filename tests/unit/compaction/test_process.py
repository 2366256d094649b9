"""A process does what its line says: jobs, a pace, a stop; without a line it is over."""

import threading
from multiprocessing import Pipe

import pytest

from cordwood.compaction.job import Cleaning, CleaningFailedError, CleaningStoppedError
from cordwood.compaction.process import Ground, serve
from cordwood.core.system import SystemClock, ThreadWorker
from cordwood.testing.files import MemoryFiles
from cordwood.testing.worker import InlineWorker
from tests.unit.compaction.cleaner_samples import Home, job_of


class Served:
    """A line, whose other end is served by a thread until it is cut."""

    def __init__(self, files: MemoryFiles) -> None:
        self.line, its = Pipe()
        self.is_cut = threading.Event()
        ground = Ground(files, SystemClock(), ThreadWorker(1), self.is_cut.set)
        self.thread = threading.Thread(target=serve, args=(its, ground), daemon=True)
        self.thread.start()

    def end(self) -> None:
        self.line.close()
        self.is_cut.wait()


@pytest.fixture
def home() -> Home:
    return Home()


def test_process_answers_with_what_a_job_has_come_to(home: Home) -> None:
    served, job = Served(home.house.files), job_of(home)

    served.line.send(job)
    found = served.line.recv()

    assert isinstance(found, Cleaning)
    assert found.end == job.plan.end
    served.end()


def test_process_stops_what_it_does_when_it_is_told(home: Home) -> None:
    served = Served(home.house.files)

    served.line.send(0.001)
    served.line.send(job_of(home))
    served.line.send(None)

    assert isinstance(served.line.recv(), CleaningStoppedError)
    served.end()


def test_process_goes_on_behind_a_job_that_has_failed(home: Home) -> None:
    served, job = Served(home.house.files), job_of(home)
    home.house.files.remove(f"{job.directory}/{2:020}.log")

    for _ in range(2):
        served.line.send(job)
        assert isinstance(served.line.recv(), CleaningFailedError)
    served.end()


def test_process_ends_when_there_is_no_job_for_long() -> None:
    line, its = Pipe()
    is_cut = threading.Event()

    serve(its, Ground(MemoryFiles(), SystemClock(), InlineWorker(), is_cut.set), idle_seconds=0.01)

    line.close()
    is_cut.wait()
