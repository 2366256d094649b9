"""Tasks run a few at a time per directory, and an error concerns one task alone."""

import threading
from functools import partial

import pytest

from cordwood.core.system import ThreadWorker
from cordwood.storage.manager.per_directory import DirectoryTask, run_per_directory
from cordwood.testing.inline_worker import InlineWorker


def test_results_are_in_the_order_of_the_tasks() -> None:
    tasks = [
        DirectoryTask("/a", lambda: 1),
        DirectoryTask("/b", lambda: 2),
        DirectoryTask("/a", lambda: 3),
    ]

    assert run_per_directory(InlineWorker(), tasks, threads=1) == [1, 2, 3]


def test_result_of_a_failed_task_is_its_error() -> None:
    error = OSError("torn")

    def fail() -> int:
        raise error

    assert run_per_directory(
        InlineWorker(), [DirectoryTask("/a", fail), DirectoryTask("/a", lambda: 2)], threads=2
    ) == [
        error,
        2,
    ]


@pytest.mark.parametrize(("directories", "at_once"), ((("/a",) * 4, 2), (("/a", "/a", "/b"), 3)))
def test_each_directory_has_its_own_threads(directories: tuple[str, ...], at_once: int) -> None:
    together = threading.Barrier(at_once)
    worker = ThreadWorker(8)
    meet = partial(together.wait, 10)

    tasks = [DirectoryTask(each, meet) for each in directories]
    met = run_per_directory(worker, tasks, threads=2)

    worker.close()
    assert sorted(number for number in met if isinstance(number, int)) == sorted(
        [*range(at_once)] * (len(directories) // at_once)
    )


def test_one_thread_runs_one_task_at_a_time() -> None:
    at_work = threading.Lock()
    worker = ThreadWorker(8)

    def alone() -> bool:
        is_alone = at_work.acquire(blocking=False)
        if is_alone:
            at_work.release()
        return is_alone

    done = run_per_directory(worker, [DirectoryTask("/a", alone)] * 100, threads=1)

    worker.close()
    assert done == [True] * 100
