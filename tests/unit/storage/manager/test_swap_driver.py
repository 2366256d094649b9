"""Replacements run one after the other, between appends, and stop if the log has changed."""

import errno

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.storage.log.segment_swap import SegmentReplacement, SwapRefusedError
from cordwood.storage.manager import log_renames, log_truncation
from cordwood.storage.manager.swap_driver import SwapDriver
from cordwood.testing.file_faults import FileFault
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.storage.cleaned_samples import batches_of, cleaned
from tests.unit.storage.log_samples import batch, filled, lead
from tests.unit.storage.manager_samples import HeldWorker, LogManagerHarness, create_logs, partition


class SwapDriverHarness:
    """A log of segments 0, 2, 4 and 6, two replacements for it, and a worker run on demand."""

    def __init__(self) -> None:
        self.logs = LogManagerHarness("/a")
        self.worker = HeldWorker()
        self.manager = self.logs.load(self.worker)
        self.log = create_logs(self.manager)[0]
        for _ in range(3):
            filled(self.log, 2).roll()
        filled(self.log, 1).flush()
        files = self.logs.files
        self.replacements = [
            cleaned(files, self.log, (0, 2), without=(1,)),
            cleaned(files, self.log, (4,), without=(4,)),
        ]
        self.driver = SwapDriver(self.manager)

    def swap(self, replacements: list[SegmentReplacement] | None = None) -> Pending[None]:
        return self.driver.swap(self.log, replacements or self.replacements)

    def go_on_until(self, pending: Pending[None]) -> None:
        while not pending.done():
            self.worker.go_on()


@pytest.fixture
def harness() -> SwapDriverHarness:
    return SwapDriverHarness()


def test_swap_is_done_when_all_replacements_are_in(harness: SwapDriverHarness) -> None:
    pending = harness.swap()
    before = harness.log.base_offsets

    harness.go_on_until(pending)

    assert before == (0, 2, 4, 6)
    assert harness.log.base_offsets == (0, 4, 6)
    assert list(batches_of(harness.log)) == [0, 2, 3, 5, 6]
    assert pending.exception() is None


def test_log_is_written_to_while_segments_are_swapped(harness: SwapDriverHarness) -> None:
    pending = harness.swap()
    while not pending.done():
        lead(harness.log, batch())
        harness.worker.go_on()

    assert list(batches_of(harness.log))[:5] == [0, 2, 3, 5, 6]
    assert harness.log.bounds.log_end > 12


def test_swap_stops_where_the_log_is_truncated(harness: SwapDriverHarness) -> None:
    pending = harness.swap()
    harness.worker.go_on()

    log_truncation.truncate(harness.manager, {partition(): 6})
    harness.go_on_until(pending)

    assert isinstance(pending.exception(), SwapRefusedError)
    assert list(batches_of(harness.log)) == [0, 2, 3, 4, 5]


def test_swap_stops_where_the_log_is_deleted(harness: SwapDriverHarness) -> None:
    pending = harness.swap()
    harness.worker.go_on()

    log_renames.delete(harness.manager, partition())
    harness.go_on_until(pending)

    assert isinstance(pending.exception(), KafkaStorageError)
    assert harness.manager.directories[0].is_online


def test_deletion_waits_for_the_job_of_a_swap_and_leaves_the_rest_out(
    harness: SwapDriverHarness,
) -> None:
    pending = harness.swap()
    deletion = log_renames.LogDeletion(harness.manager)

    deletion.add(partition())
    (job,) = deletion.jobs
    was_done = job.done()
    harness.worker.go_on()
    errors = list(deletion.rename())

    assert (was_done, job.done(), deletion.jobs, errors) == (False, True, [], [None])
    assert isinstance(pending.exception(), KafkaStorageError)
    assert any(name.endswith(".swap") for name in harness.logs.files.list(harness.log.directory))


def test_directory_goes_offline_when_a_swap_fails(harness: SwapDriverHarness) -> None:
    harness.logs.files.script.add(FileFault(on="rename", path="*.swap", code=errno.EIO))

    pending = harness.swap()
    harness.go_on_until(pending)

    assert isinstance(pending.exception(), KafkaStorageError)
    assert not harness.manager.directories[0].is_online


def test_swap_that_cannot_begin_ends_with_the_error(harness: SwapDriverHarness) -> None:
    pending = harness.swap([SegmentReplacement((0, 2), (2,), 0)])

    assert isinstance(pending.exception(), AssertionError)
    assert harness.manager.directories[0].is_online


def test_directory_goes_offline_when_a_defect_stops_a_swap_half_way() -> None:
    logs, worker = LogManagerHarness("/a"), InlineWorker()
    manager = logs.load(worker)
    log = filled(create_logs(manager)[0], 2)
    log.roll()
    replacement = cleaned(logs.files, log, (0,), without=(1,))
    worker.close()

    pending = SwapDriver(manager).swap(log, [replacement])

    assert isinstance(pending.exception(), KafkaStorageError)
    assert not manager.directories[0].is_online
