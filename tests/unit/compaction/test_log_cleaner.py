"""The cleaner cleans the dirtiest logs first, yields to other lease holders, and always retries."""

import errno

import pytest

from cordwood.compaction.cleaner_config import CleanerConfig
from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningResult
from cordwood.core.ports import FileStat
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import CLEANER_OFFSETS, read_offset_checkpoint
from cordwood.storage.log.maintenance_lease import LeaseStage
from cordwood.storage.log_config import COMPACT, DELETE
from cordwood.storage.manager import log_renames, log_truncation
from cordwood.testing.file_faults import FileFault
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.compaction.cleaner_samples import BACKOFF_MS, COMPACTED, CleanerHarness, held
from tests.unit.storage.cleaned_samples import batches_of
from tests.unit.storage.log_samples import filled
from tests.unit.storage.manager_samples import LogManagerHarness, create_logs, partition


def checkpoint(house: LogManagerHarness) -> dict[TopicPartition, int]:
    return {**read_offset_checkpoint(house.files, f"/a/{CLEANER_OFFSETS}")}


def test_dirty_log_is_cleaned_and_checkpointed() -> None:
    harness = CleanerHarness()
    log = harness.log()

    harness.cleaner.start()
    harness.pass_time(0)

    assert list(batches_of(log)) == [5, 6]
    assert log.bounds.cleaned_to == 6
    assert checkpoint(harness.house) == {partition(): 6}
    assert [each.partition for each in harness.cleaned] == [partition()]
    assert log.lease.is_free


def test_log_is_cleaned_again_after_the_backoff_when_it_is_dirty() -> None:
    harness = CleanerHarness()
    log = harness.log()
    harness.cleaner.start()
    harness.pass_time()

    filled(log, 8).roll()
    harness.pass_time(BACKOFF_MS - 1)
    before = len(harness.runner.jobs)
    harness.pass_time(1)

    assert (before, len(harness.runner.jobs)) == (1, 2)
    assert harness.runner.jobs[1].plan.first_dirty == 6


def test_dirtiest_log_is_cleaned_first() -> None:
    harness = CleanerHarness()
    half = harness.log(0)
    harness.cleaner.start()
    harness.pass_time(0)
    filled(half, 8).roll()
    harness.log(1)

    harness.pass_time()

    assert [each.plan.partition.partition for each in harness.runner.jobs] == [0, 1, 0]


def test_concurrent_passes_are_limited_by_the_threads() -> None:
    harness, worker = held()
    for number in range(3):
        harness.log(number)
    harness.cleaner.reconfigure(CleanerConfig(threads=2))
    harness.pass_time(0)
    at_first = len(worker.held)

    worker.go_on()
    harness.pass_time(0)

    assert (at_first, len(worker.held)) == (2, 1)
    assert {each.memory_bytes for each in harness.runner.jobs} == {60_397_977}


def test_log_has_at_most_one_running_pass() -> None:
    harness, worker = held()
    harness.log()
    harness.cleaner.reconfigure(CleanerConfig(threads=5))

    harness.pass_time(4 * BACKOFF_MS)

    assert len(worker.held) == 1


def test_plan_of_a_pass_reads_the_files_on_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of 5,000 segments held up the event loop for 0.1 s."""
    harness, worker = held()
    harness.log()
    looks, stat = list[str](), MemoryFiles.stat

    def noted(files: MemoryFiles, path: str) -> FileStat:
        looks.append(path)
        return stat(files, path)

    monkeypatch.setattr(MemoryFiles, "stat", noted)

    harness.cleaner.start()
    harness.pass_time(0)
    on_the_loop = len(looks)
    worker.go_on()

    assert on_the_loop == 0
    assert len(looks) >= 9, "three files of three segments"
    assert len(harness.cleaned) == 1


def test_disabled_cleaner_cleans_no_log() -> None:
    harness = CleanerHarness(settings=CleanerConfig(is_enabled=False))
    harness.log()

    harness.cleaner.start()
    harness.pass_time(4 * BACKOFF_MS)

    assert harness.runner.jobs == []


def test_log_that_is_not_compacted_is_not_cleaned() -> None:
    harness = CleanerHarness()
    harness.log()
    harness.configure(cleanup_policy=frozenset({DELETE}))

    harness.cleaner.start()
    harness.pass_time(0)

    assert harness.runner.jobs == []


def test_retention_runs_on_a_log_that_is_compacted_and_deleted() -> None:
    harness = CleanerHarness()
    log = harness.log()
    harness.configure(cleanup_policy=frozenset({COMPACT, DELETE}), retention_ms=1000)
    harness.pass_time(2000)

    harness.cleaner.start()
    harness.pass_time(0)

    assert log.bounds.log_start == log.bounds.log_end == 7
    assert harness.runner.jobs == []


def test_cleaning_starts_at_the_log_start_after_retention() -> None:
    harness = CleanerHarness()
    log = harness.log()
    harness.manager.set_cleaned_to(log, 2)
    log.delete_records(4)

    harness.cleaner.start()
    harness.pass_time(0)

    assert harness.runner.jobs[0].plan.first_dirty == 4
    assert "counts as dirty from 4 on" in harness.house.events[0]


def test_checkpoint_of_a_log_that_is_not_compacted_is_corrected() -> None:
    harness = CleanerHarness()
    log = filled(create_logs(harness.manager)[0], 3)
    harness.manager.set_cleaned_to(log, 1)
    log.delete_records(2)

    harness.cleaner.start()
    harness.pass_time(0)

    assert checkpoint(harness.house) == {partition(): 2}


def test_idle_log_is_rolled_and_cleaned_when_its_lag_is_over() -> None:
    harness = CleanerHarness()
    log = filled(create_logs(harness.manager)[0], 3)
    harness.configure(max_compaction_lag_ms=60_000)
    harness.cleaner.start()
    harness.pass_time()
    before = len(harness.runner.jobs)

    harness.pass_time(120_000)

    assert (before, list(batches_of(log))) == (0, [2])


def test_log_truncated_during_a_pass_keeps_its_records() -> None:
    harness, worker = held()
    log = harness.log()
    harness.cleaner.start()
    harness.pass_time(0)
    harness.runner.meanwhile.append(
        lambda: log_truncation.truncate(harness.manager, {partition(): 3})
    )

    worker.go_on()
    worker.go_on()

    assert list(batches_of(log)) == [0, 1, 2]
    assert (log.lease.is_free, log.bounds.cleaned_to, harness.failed) == (True, None, [])
    assert not [each for each in harness.house.files.list(log.directory) if "cleaned" in each]


def test_delete_records_during_a_pass_does_not_stop_the_cleaner() -> None:
    harness, worker = held()
    log, other = harness.log(0, segments=4), harness.log(1)
    harness.cleaner.start()
    harness.pass_time(0)

    log.delete_records(9)
    for _ in range(3):
        worker.go_on()
        harness.pass_time(0)

    assert (log.bounds.cleaned_to, log.bounds.log_start, log.lease.is_free) == (9, 9, True)
    assert list(batches_of(other)) == [5, 6]
    assert harness.failed == []


def test_unexpected_error_of_a_swap_frees_the_lease_and_the_thread() -> None:
    harness = CleanerHarness()
    log, other = harness.log(0, segments=4), harness.log(1)

    def alter(result: CleaningResult) -> CleaningResult:
        if len(harness.runner.jobs) > 1:
            return result
        return result._replace(groups=(result.groups[0]._replace(replaced=(99,)),))

    harness.runner.altered = alter
    harness.cleaner.start()
    harness.pass_time()

    assert [(each, failure.count) for each, failure in harness.failed] == [(log.partition, 1)]
    assert (log.lease.is_free, list(batches_of(other))) == (True, [5, 6])
    assert not [each for each in harness.house.files.list(log.directory) if "cleaned" in each]


def test_unexpected_error_of_a_report_frees_the_lease_and_the_thread() -> None:
    harness = CleanerHarness()
    log, other = harness.log(0, segments=4), harness.log(1)
    harness.report_errors = [RuntimeError("a defect of the metrics")]

    harness.cleaner.start()
    harness.pass_time()

    assert harness.failed[0][1].reason == "RuntimeError('a defect of the metrics')"
    assert (log.lease.is_free, other.lease.is_free) == (True, True)
    assert [list(batches_of(each)) for each in (log, other)] == [[7, 8], [5, 6]]


def test_lease_is_free_when_a_pass_cannot_be_submitted() -> None:
    worker = InlineWorker()
    harness = CleanerHarness(worker=worker)
    log = harness.log()
    worker.close()

    harness.cleaner.start()
    harness.pass_time(0)

    assert log.lease.is_free
    assert harness.failed[0][1].reason == "RuntimeError('the worker is closed')"


def test_log_deleted_during_a_pass_is_not_a_failure() -> None:
    harness, worker = held()
    harness.log()
    harness.cleaner.start()
    harness.pass_time(0)
    log_renames.delete(harness.manager, partition())

    harness.runner.errors = [CleaningFailedError("there is no such file")]
    worker.go_on()

    assert (harness.failed, harness.cleaned) == ([], [])


def test_pass_stops_when_the_log_is_not_compacted_any_more() -> None:
    harness, worker = held()
    log = harness.log()
    harness.cleaner.start()
    harness.pass_time(0)
    harness.configure(cleanup_policy=frozenset({DELETE}))

    worker.go_on()
    worker.go_on()

    assert (list(batches_of(log)), log.lease.is_free) == ([0, 1, 2, 3, 4, 5, 6], True)


def test_paused_log_is_not_cleaned() -> None:
    harness = CleanerHarness()
    log = harness.log()
    log.lease = log.lease.pause("an operator")

    harness.cleaner.start()
    harness.pass_time()
    before = len(harness.runner.jobs)
    log.lease = log.lease.resume("an operator")
    harness.pass_time()

    assert (before, len(harness.runner.jobs)) == (0, 1)


def test_failed_pass_is_tried_again_after_longer_each_time() -> None:
    harness = CleanerHarness()
    log = harness.log()
    harness.runner.errors = [CleaningFailedError(f"no {number}") for number in range(3)]
    harness.cleaner.start()

    harness.pass_time(BACKOFF_MS * 100)

    told = [(failure.count, failure.reason, failure.backoff_ms) for _, failure in harness.failed]
    assert told == [(1, "no 0", 15_000), (2, "no 1", 30_000), (3, "no 2", 60_000)]
    assert list(batches_of(log)) == [5, 6]
    assert harness.cleaner.failures == {}


def test_failed_pass_leaves_no_files() -> None:
    harness = CleanerHarness()
    log = harness.log()
    harness.runner.errors = [CleaningFailedError("no")]

    harness.cleaner.start()
    harness.pass_time(0)

    assert not [each for each in harness.house.files.list(log.directory) if "cleaned" in each]
    assert (log.lease.is_free, list(harness.cleaner.failures)) == (True, [partition()])


def test_log_that_fails_keeps_no_other_from_being_cleaned() -> None:
    harness = CleanerHarness()
    logs = [harness.log(number) for number in range(2)]
    harness.runner.errors = [RuntimeError("a mistake of ours")]
    harness.cleaner.start()

    harness.pass_time(0)

    assert [list(batches_of(log)) for log in logs] == [[0, 1, 2, 3, 4, 5, 6], [5, 6]]
    assert harness.failed[0][1].reason == "RuntimeError('a mistake of ours')"


def test_log_with_an_unreadable_directory_is_reported_and_retried() -> None:
    harness = CleanerHarness()
    log = harness.log()
    harness.house.files.script.add(FileFault(on="stat", path="*/orders-0/*.log", code=errno.EMFILE))

    harness.cleaner.start()
    harness.pass_time(0)
    before = len(harness.failed)
    harness.pass_time(2 * BACKOFF_MS)

    assert (before, list(batches_of(log))) == (1, [5, 6])


def test_directory_that_fails_while_it_is_cleaned_ends_the_pass() -> None:
    harness, worker = held()
    log = harness.log()
    harness.cleaner.start()
    harness.pass_time(0)

    harness.manager.fail(harness.manager.directories[0], OSError("gone"))
    worker.go_on()

    assert (harness.cleaned, harness.failed, log.lease.is_free) == ([], [], True)


def test_close_stops_a_running_pass_and_discards_its_result() -> None:
    harness, worker = held()
    log = harness.log()
    harness.cleaner.start()
    harness.pass_time(0)

    closed = harness.cleaner.close()
    is_closed_at_once = closed.done()
    worker.go_on()
    harness.pass_time()

    assert (is_closed_at_once, closed.done()) == (False, True)
    assert list(batches_of(log)) == [0, 1, 2, 3, 4, 5, 6]
    assert (harness.runner.is_closed, harness.cleaned, harness.failed) == (True, [], [])


def test_settings_do_not_restart_a_closed_cleaner() -> None:
    harness = CleanerHarness()
    harness.log()
    harness.cleaner.start()

    harness.cleaner.close()
    harness.cleaner.reconfigure(CleanerConfig())
    harness.pass_time()

    assert harness.runner.jobs == []


def test_settings_change_while_the_cleaner_runs() -> None:
    harness = CleanerHarness(settings=CleanerConfig(threads=0))
    log = harness.log()
    harness.cleaner.start()
    harness.pass_time()
    before = list(batches_of(log))

    harness.cleaner.reconfigure(CleanerConfig(dedupe_buffer_bytes=1 << 20))
    harness.pass_time(0)

    assert (len(before), list(batches_of(log))) == (7, [5, 6])
    assert harness.runner.jobs[0].memory_bytes == int((1 << 20) * 0.9)


def test_ratio_changes_while_the_cleaner_runs() -> None:
    harness = CleanerHarness(config=COMPACTED)
    harness.log()
    harness.configure(min_cleanable_dirty_ratio=1.0)
    harness.cleaner.start()
    harness.pass_time()
    before = len(harness.runner.jobs)

    harness.configure(min_cleanable_dirty_ratio=0.1)
    harness.pass_time()

    assert (before, len(harness.runner.jobs)) == (0, 1)


def test_cleaner_holds_the_lease_while_a_pass_runs() -> None:
    harness, _ = held()
    log = harness.log()

    harness.cleaner.start()
    harness.pass_time(0)

    assert (log.lease.stage, log.lease.holder) == (LeaseStage.CLEANING, "the cleaner")
