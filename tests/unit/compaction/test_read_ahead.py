"""The next call runs while the result of the last one is in use."""

import threading
from contextlib import closing
from functools import partial

import pytest

from cordwood.compaction.read_ahead import read_ahead
from cordwood.core.ports import Worker
from cordwood.core.system import ThreadWorker
from cordwood.testing.inline_worker import InlineWorker


def raising() -> int:
    raise OSError("the disk is gone")


@pytest.mark.parametrize("worker", (None, InlineWorker(), ThreadWorker(1)))
@pytest.mark.parametrize("count", range(4))
def test_read_ahead_yields_results_in_order(count: int, worker: Worker | None) -> None:
    calls = [partial(int, number) for number in range(count)]

    assert list(read_ahead(calls, worker)) == list(range(count))


def test_read_ahead_starts_the_next_call_while_a_result_is_used() -> None:
    begun = [threading.Event() for _ in range(3)]
    made = read_ahead([event.set for event in begun], ThreadWorker(1))

    next(made)

    assert begun[1].wait(timeout=60)
    assert not begun[2].is_set()
    made.close()


def test_read_ahead_without_a_worker_makes_no_call_early() -> None:
    done: list[int] = []
    made = read_ahead([partial(done.append, number) for number in range(2)], None)

    next(made)

    assert done == [0]


@pytest.mark.parametrize("worker", (None, ThreadWorker(1)))
def test_error_of_a_call_is_raised_at_its_result(worker: Worker | None) -> None:
    made = read_ahead((int, raising, int), worker)

    assert next(made) == 0
    with pytest.raises(OSError, match="the disk is gone"):
        next(made)


def test_close_waits_for_the_running_call() -> None:
    is_open, ended = threading.Event(), threading.Event()

    def last() -> bool:
        is_open.wait()
        ended.set()
        return True

    with closing(read_ahead((bool, last), ThreadWorker(1))) as made:
        next(made)
        is_open.set()

    assert ended.is_set()
