"""Checkpoint files are written one at a time, and the newest values win."""

import errno
import threading
from collections.abc import Callable

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.core.system import ThreadWorker
from cordwood.core.types import Offset
from cordwood.storage.atomic import read_whole
from cordwood.storage.checkpointer import Checkpointer
from cordwood.storage.checkpoints import LOG_START_OFFSETS, RECOVERY_POINTS
from cordwood.storage.log_directory import LogDirectory
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles
from tests.unit.storage.manager_samples import HeldWorker, partition

TMP = f"/a/{RECOVERY_POINTS}.tmp"


class Desk:
    """A directory, and a checkpointer whose worker waits to be told."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.directory = LogDirectory.open(self.files, "/a")
        self.worker = HeldWorker()
        self.errors: list[int | None] = []
        self.later = list[Callable[[], object]]()
        self.checkpointer = Checkpointer(
            self.worker, call_soon=lambda call: call(), on_error=self.on_error
        )

    def on_error(self, _: LogDirectory, error: OSError) -> None:
        self.errors.append(error.errno)

    def write(self, offset: int, number: int = 0) -> Pending[None]:
        offsets = {partition(number): Offset(offset)}
        return self.checkpointer.write(self.directory, RECOVERY_POINTS, offsets=offsets)

    def write_now(self, offset: int) -> None:
        offsets = {partition(): Offset(offset)}
        self.checkpointer.write_now(self.directory, RECOVERY_POINTS, offsets=offsets)

    def mentions(self, number: int = 0) -> bool:
        return self.checkpointer.mentions(
            self.directory, RECOVERY_POINTS, partition=partition(number)
        )

    def text(self) -> str:
        return read_whole(self.files, f"/a/{RECOVERY_POINTS}").decode()


def test_checkpoint_is_written_by_the_worker() -> None:
    desk = Desk()

    pending = desk.write(7)
    before = desk.text()
    desk.worker.go_on()

    assert (before, desk.text()) == ("", "0\n1\norders 0 7\n")
    assert pending.done()


def test_checkpoints_that_wait_become_one_write_of_the_newest_values() -> None:
    desk = Desk()

    pendings = [desk.write(offset) for offset in (1, 2, 3)]
    at_once = len(desk.worker.held)
    desk.worker.go_on()
    done = [pending.done() for pending in pendings]
    desk.worker.go_on()

    assert (at_once, done) == (1, [True, False, False])
    assert desk.text() == "0\n1\norders 0 3\n"
    assert all(pending.done() for pending in pendings)


def test_different_checkpoints_do_not_wait_for_each_other() -> None:
    desk = Desk()

    desk.write(1)
    desk.checkpointer.write(desk.directory, LOG_START_OFFSETS, offsets={})

    assert len(desk.worker.held) == 2


def test_last_checkpoint_comes_after_what_runs_and_instead_of_what_waits() -> None:
    desk = Desk()
    worker, gate = ThreadWorker(threads=1), threading.Event()
    worker.submit(gate.wait)
    checkpointer = Checkpointer(worker, call_soon=desk.later.append, on_error=desk.on_error)
    pendings = [
        checkpointer.write(desk.directory, RECOVERY_POINTS, offsets={partition(): Offset(offset)})
        for offset in (1, 2)
    ]

    gate.set()
    checkpointer.write_now(desk.directory, RECOVERY_POINTS, offsets={partition(): Offset(3)})
    worker.close()
    for call in desk.later:
        call()

    assert [pending.exception() for pending in pendings] == [None, None]
    assert desk.text() == "0\n1\norders 0 3\n"


def test_checkpoint_that_failed_is_told_to_those_who_wait() -> None:
    desk = Desk()
    desk.files.script.add(Fault(on="append", path=TMP, code=errno.ENOSPC))

    pending = desk.write(7)
    desk.worker.go_on()

    assert desk.errors == [errno.ENOSPC]
    with pytest.raises(KafkaStorageError, match=r"/a: .*No space left"):
        pending.result()


def test_checkpoint_that_waits_is_given_up_when_its_directory_fails() -> None:
    desk = Desk()
    desk.write(1)
    pending = desk.write(2)
    desk.directory.fail(OSError(errno.EIO, "gone"))

    desk.worker.go_on()

    assert desk.worker.held == []
    with pytest.raises(KafkaStorageError, match="gone"):
        pending.result()


def test_last_checkpoint_that_fails_rises() -> None:
    desk = Desk()
    desk.files.script.add(Fault(on="append", path=TMP))

    with pytest.raises(OSError, match="Input/output error"):
        desk.write_now(3)


def test_checkpoint_mentions_what_a_crash_may_leave_in_the_file() -> None:
    desk = Desk()

    desk.write(1, number=0)
    desk.worker.go_on()
    desk.write(2, number=1)
    while_writing = [desk.mentions(number) for number in (0, 1, 2)]
    desk.worker.go_on()

    assert while_writing == [True, True, False]
    assert [desk.mentions(number) for number in (0, 1)] == [False, True]


def test_checkpoint_mentions_what_was_found_at_the_start() -> None:
    desk = Desk()
    desk.directory.checkpoints[RECOVERY_POINTS] = {partition(): Offset(4)}

    before = desk.mentions()
    desk.checkpointer.write_now(desk.directory, RECOVERY_POINTS, offsets={})

    assert (before, desk.mentions()) == (True, False)
