"""Tests of the free space of log directories."""

import errno

from cordwood.broker.process.free_space import FreeSpace
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.manager_samples import HeldWorker, LogManagerHarness


def test_free_space_is_measured_on_a_worker_once_at_a_time() -> None:
    harness, worker = LogManagerHarness("/a"), HeldWorker(holds_files=True)
    manager = harness.load(worker)
    worker.go_on()
    space = FreeSpace(manager)

    assert [*space.measure()] == [""]
    assert [*space.measure()] == [""]
    before = space.usable(), len(worker.held)
    worker.go_on()

    volume = harness.files.volume("/a")
    assert before == ({}, 1)
    assert (space.usable(), space.total()) == (
        {("/a",): volume.usable_bytes},
        {("/a",): volume.total_bytes},
    )


def test_directory_that_is_offline_has_no_free_space() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    space = FreeSpace(manager)
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    assert [*space.measure()] == [""]

    assert [*space.usable()] == [("/b",)]


def test_directory_that_cannot_be_measured_loses_its_value() -> None:
    harness = LogManagerHarness("/a")
    space = FreeSpace(harness.load())
    assert [*space.measure()] == [""]

    harness.files.script.add(FileFault(on="volume", code=errno.EIO))
    assert [*space.measure()] == [""]

    assert space.usable() == {}
