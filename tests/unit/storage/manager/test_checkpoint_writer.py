"""Checkpoint files are written one at a time, and the newest values win."""

import errno
import threading
from collections.abc import Callable

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.core.system import ThreadWorker
from cordwood.core.types import Offset
from cordwood.storage.checkpoints.checkpoint_files import LOG_START_OFFSETS, RECOVERY_POINTS
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.manager.checkpoint_writer import CheckpointWriter
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.manager_samples import HeldWorker, partition

TMP = f"/a/{RECOVERY_POINTS}.tmp"


class CheckpointWriterHarness:
    """A directory, and a writer whose worker runs on demand."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.directory = LogDirectory.open(self.files, "/a")
        self.worker = HeldWorker()
        self.errors: list[int | None] = []
        self.later = list[Callable[[], object]]()
        self.writer = CheckpointWriter(self.worker, lambda call: call(), on_error=self.on_error)

    def on_error(self, _: LogDirectory, error: OSError) -> None:
        self.errors.append(error.errno)

    def write(self, offset: int, number: int = 0) -> Pending[None]:
        offsets = {partition(number): Offset(offset)}
        return self.writer.write(self.directory, RECOVERY_POINTS, offsets=offsets)

    def write_now(self, offset: int) -> None:
        offsets = {partition(): Offset(offset)}
        self.writer.write_now(self.directory, RECOVERY_POINTS, offsets=offsets)

    def mentions(self, number: int = 0) -> bool:
        return self.writer.may_contain(self.directory, RECOVERY_POINTS, partition=partition(number))

    def text(self) -> str:
        return read_whole(self.files, f"/a/{RECOVERY_POINTS}").decode()


def test_checkpoint_is_written_by_the_worker() -> None:
    harness = CheckpointWriterHarness()

    pending = harness.write(7)
    before = harness.text()
    harness.worker.go_on()

    assert before == ""
    assert harness.text() == "0\n1\norders 0 7\n"
    assert pending.done()


def test_waiting_checkpoints_become_one_write_of_the_newest_values() -> None:
    harness = CheckpointWriterHarness()

    pendings = [harness.write(offset) for offset in (1, 2, 3)]
    at_once = len(harness.worker.held)
    harness.worker.go_on()
    done = [pending.done() for pending in pendings]
    harness.worker.go_on()

    assert at_once == 1
    assert done == [True, False, False]
    assert harness.text() == "0\n1\norders 0 3\n"
    assert all(pending.done() for pending in pendings)


def test_different_checkpoints_do_not_wait_for_each_other() -> None:
    harness = CheckpointWriterHarness()

    harness.write(1)
    harness.writer.write(harness.directory, LOG_START_OFFSETS, offsets={})

    assert len(harness.worker.held) == 2


def test_last_checkpoint_waits_for_the_running_write_and_replaces_waiting_ones() -> None:
    harness = CheckpointWriterHarness()
    worker, gate = ThreadWorker(threads=1), threading.Event()
    worker.submit(gate.wait, lane=Lane.BACKGROUND)
    writer = CheckpointWriter(worker, harness.later.append, on_error=harness.on_error)
    pendings = [
        writer.write(harness.directory, RECOVERY_POINTS, offsets={partition(): Offset(offset)})
        for offset in (1, 2)
    ]

    gate.set()
    writer.write_now(harness.directory, RECOVERY_POINTS, offsets={partition(): Offset(3)})
    worker.close()
    for call in harness.later:
        call()

    assert [pending.exception() for pending in pendings] == [None, None]
    assert harness.text() == "0\n1\norders 0 3\n"


def test_checkpoint_that_failed_is_raised_to_the_waiting_callers() -> None:
    harness = CheckpointWriterHarness()
    harness.files.script.add(FileFault(on="append", path=TMP, code=errno.ENOSPC))

    pending = harness.write(7)
    harness.worker.go_on()

    assert harness.errors == [errno.ENOSPC]
    with pytest.raises(KafkaStorageError, match=r"/a: .*No space left"):
        pending.result()


def test_waiting_checkpoint_fails_when_its_directory_fails() -> None:
    harness = CheckpointWriterHarness()
    harness.write(1)
    pending = harness.write(2)
    harness.directory.fail(OSError(errno.EIO, "gone"))

    harness.worker.go_on()

    assert harness.worker.held == []
    with pytest.raises(KafkaStorageError, match="gone"):
        pending.result()


def test_error_of_the_last_checkpoint_is_raised() -> None:
    harness = CheckpointWriterHarness()
    harness.files.script.add(FileFault(on="append", path=TMP))

    with pytest.raises(OSError, match="Input/output error"):
        harness.write_now(3)


def test_checkpoint_mentions_entries_that_a_crash_may_leave_in_the_file() -> None:
    harness = CheckpointWriterHarness()

    harness.write(1, number=0)
    harness.worker.go_on()
    harness.write(2, number=1)
    while_writing = [harness.mentions(number) for number in (0, 1, 2)]
    harness.worker.go_on()

    assert while_writing == [True, True, False]
    assert [harness.mentions(number) for number in (0, 1)] == [False, True]


def test_checkpoint_mentions_entries_read_at_startup() -> None:
    harness = CheckpointWriterHarness()
    harness.directory.checkpoints[RECOVERY_POINTS] = {partition(): Offset(4)}

    before = harness.mentions()
    harness.writer.write_now(harness.directory, RECOVERY_POINTS, offsets={})

    assert before
    assert not harness.mentions()


def test_partition_of_a_queued_write_counts_as_contained() -> None:
    harness = CheckpointWriterHarness()
    directory = harness.directory
    harness.writer.write(directory, RECOVERY_POINTS, offsets={})

    harness.write(7)

    assert harness.mentions()
    assert harness.writer.written(directory, RECOVERY_POINTS) == {}
