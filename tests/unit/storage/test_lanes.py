"""Work on many logs goes a few at a time, and what befalls one befalls no other."""

import threading
from functools import partial

import pytest

from cordwood.core.system import ThreadWorker
from cordwood.storage.lanes import Task, outcomes
from cordwood.testing.worker import InlineWorker


def test_outcomes_come_in_the_order_of_the_tasks() -> None:
    tasks = [Task("/a", lambda: 1), Task("/b", lambda: 2), Task("/a", lambda: 3)]

    assert outcomes(InlineWorker(), tasks, lanes=1) == [1, 2, 3]


def test_outcome_of_a_task_that_fails_is_its_error() -> None:
    error = OSError("torn")

    def fail() -> int:
        raise error

    assert outcomes(InlineWorker(), [Task("/a", fail), Task("/a", lambda: 2)], lanes=2) == [
        error,
        2,
    ]


@pytest.mark.parametrize(("directories", "at_once"), ((("/a",) * 4, 2), (("/a", "/a", "/b"), 3)))
def test_lanes_are_as_many_as_each_directory_may_have(
    directories: tuple[str, ...], at_once: int
) -> None:
    together = threading.Barrier(at_once)
    worker = ThreadWorker(8)
    meet = partial(together.wait, 10)

    tasks = [Task(each, meet) for each in directories]
    met = outcomes(worker, tasks, lanes=2)

    worker.close()
    assert sorted(number for number in met if isinstance(number, int)) == sorted(
        [*range(at_once)] * (len(directories) // at_once)
    )


def test_one_lane_does_one_task_after_the_other() -> None:
    at_work = threading.Lock()
    worker = ThreadWorker(8)

    def alone() -> bool:
        is_alone = at_work.acquire(blocking=False)
        if is_alone:
            at_work.release()
        return is_alone

    done = outcomes(worker, [Task("/a", alone)] * 100, lanes=1)

    worker.close()
    assert done == [True] * 100
