"""Change of a log in steps: jobs that wait for the disk, and changes of the state between them.

A job may run on any thread. The state of the log changes on the owner's thread. A job's error is
raised inside the steps, at the place of the job. `segment_swap`, `truncation`, `segment_roll`,
`append_files` and `segment_deletion` define the steps.
"""

from collections.abc import Callable, Generator
from contextlib import nullcontext
from typing import TypeAlias

from cordwood.core.ports import Pending
from cordwood.storage.log.log_state import LogState

Job: TypeAlias = Callable[[], None]
Submit: TypeAlias = Callable[[Job], Pending[None]]
Steps: TypeAlias = Generator[Job, None, None]


class SteppedChange:
    """A running change. A change of the same part of the log must `finish` it first.

    After an error the log is torn, unless the change `undoes_errors` itself.
    """

    __slots__ = ("_running", "_state", "_steps", "_undoes_errors")

    def __init__(self, state: LogState, steps: Steps, *, undoes_errors: bool = False) -> None:
        self._state = state
        self._steps = steps
        self._undoes_errors = undoes_errors
        self._running: Pending[None] | None = None

    @property
    def running(self) -> Pending[None] | None:
        """The last job that was submitted, None before the first one and after the end."""
        return self._running

    def advance(self, submit: Submit) -> Pending[None] | None:
        """Submit the next job when the one before has ended; return None after the last one."""
        with nullcontext() if self._undoes_errors else self._state.torn_on_error():
            job = self._next_job()
            self._running = None if job is None else submit(job)
        return self._running

    def finish(self) -> None:
        """Run all remaining jobs before returning."""
        with nullcontext() if self._undoes_errors else self._state.torn_on_error():
            run_steps(self._steps, self._next_job())

    def _next_job(self) -> Job | None:
        running, self._running = self._running, None
        return _next_after(self._steps, None if running is None else running.result)


def run_steps(steps: Steps, first: Job | None = None) -> None:
    """Run the job `first` and all jobs behind it before returning."""
    job = next(steps, None) if first is None else first
    while job is not None:
        job = _next_after(steps, job)


def _next_after(steps: Steps, job: Job | None) -> Job | None:
    """Run a job, and return the next one; its error is raised inside the steps."""
    try:
        if job is not None:
            job()
    except Exception as error:
        steps.throw(error)
        raise
    return next(steps, None)


class RunningChanges:
    """The changes of one log, at most one of a kind; the last ones may have ended.

    `files` is a roll, or the preparation of the active segment for an append. `files_end` and
    `truncation_end` are done when the last changes of these kinds have ended, if they are driven.
    `epoch_save` is the last save of the leader epochs.
    """

    __slots__ = (
        "deletion",
        "epoch_save",
        "files",
        "files_end",
        "swap",
        "truncation",
        "truncation_end",
    )

    def __init__(self) -> None:
        self.deletion: SteppedChange | None = None
        self.epoch_save: Pending[None] | None = None
        self.files: SteppedChange | None = None
        self.files_end: Pending[None] | None = None
        self.swap: SteppedChange | None = None
        self.truncation: SteppedChange | None = None
        self.truncation_end: Pending[None] | None = None

    def jobs(self) -> list[Pending[None]]:
        """Return the submitted jobs that may still change names in the directory of the log.

        After a rename of the directory, they would do that in another log of the same name.
        """
        every = (self.truncation, self.files, self.swap, self.deletion)
        running = [each.running for each in every if each is not None]
        return [each for each in (*running, self.epoch_save) if each is not None]

    def end_before_append(self) -> Pending[None] | None:
        """Return the end of a driven change that appends wait for, None if there is none."""
        for end in (self.truncation_end, self.files_end):
            if end is not None and not end.done():
                return end
        self.truncation_end = self.files_end = None
        return None

    def end_of_truncation(self) -> Pending[None] | None:
        """Return the end of a driven truncation that has not ended, None without one."""
        end = self.truncation_end
        return None if end is None or end.done() else end

    def finish_truncation(self) -> None:
        """Finish a running truncation."""
        if self.truncation is not None:
            self.truncation.finish()
            self.truncation = None

    def finish_before_append(self) -> None:
        """Finish what must end before new records or a new segment."""
        self.finish_truncation()
        if self.files is not None:
            self.files.finish()
            self.files = None

    def finish_before_swap(self) -> None:
        """Finish the changes of the segments before the active one."""
        self.finish_truncation()
        if self.swap is not None:
            self.swap.finish()
            self.swap = None

    def finish_deletion(self) -> None:
        """Finish a running deletion of old segments."""
        if self.deletion is not None:
            self.deletion.finish()
            self.deletion = None

    def finish_before_move(self) -> None:
        """Finish everything that changes names in the directory."""
        self.finish_all()
        if self.epoch_save is not None:
            self.epoch_save.exception()  # waits; the flusher itself looks at the outcome

    def finish_all(self) -> None:
        """Finish every running change, before another change of all segments."""
        self.finish_before_append()
        self.finish_before_swap()
        self.finish_deletion()
