"""Steps are made one after the other, each after the job before it."""

from collections.abc import Callable

from cordwood.core.ports import Lane, Pending
from cordwood.storage.manager.step_driver import drive
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.storage.manager_samples import HeldWorker


def steps(
    worker: HeldWorker | InlineWorker, made: list[int], *, count: int = 3
) -> Callable[[], Pending[None] | None]:
    """Return a function that starts up to `count` jobs."""

    def next_job() -> Pending[None] | None:
        if len(made) == count:
            return None
        made.append(len(made))
        return worker.submit(lambda: None, lane=Lane.BACKGROUND)

    return next_job


def test_step_is_made_when_the_job_before_it_has_ended() -> None:
    worker, made = HeldWorker(), list[int]()

    done = drive(steps(worker, made), call_soon=lambda call: call())
    seen = [len(made)]
    while not done.done():
        worker.go_on()
        seen.append(len(made))

    assert seen == [1, 2, 3, 3]
    assert done.exception() is None


def test_steps_of_jobs_that_end_at_once_are_made_at_once() -> None:
    made = list[int]()

    done = drive(steps(InlineWorker(), made), call_soon=lambda call: call())

    assert (made, done.done()) == ([0, 1, 2], True)


def test_step_is_made_on_the_owners_thread() -> None:
    worker, made, soon = HeldWorker(), list[int](), list[Callable[[], object]]()

    drive(steps(worker, made), call_soon=soon.append)
    worker.go_on()
    before = len(made)
    soon.pop()()

    assert (before, len(made)) == (1, 2)


def test_error_of_a_step_is_the_result() -> None:
    error = RuntimeError("a defect")

    def fail() -> None:
        raise error

    assert drive(fail, call_soon=lambda call: call()).exception() is error
