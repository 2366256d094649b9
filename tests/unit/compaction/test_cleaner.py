"""The cleaner takes the dirtiest logs first, gives way to others, and never gives a log up."""

import errno

from cordwood.compaction.cleaner_settings import CleanerSettings
from cordwood.compaction.job import CleaningFailedError
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints import CLEANER_OFFSETS, read_offset_checkpoint
from cordwood.storage.lease import Stage
from cordwood.storage.log_config import COMPACT, DELETE
from cordwood.testing.faults import Fault
from tests.unit.compaction.cleaner_samples import BACKOFF_MS, COMPACTED, Home, held
from tests.unit.storage.cleaned_samples import batches_of
from tests.unit.storage.log_samples import filled
from tests.unit.storage.manager_samples import House, made, partition


def checkpoint(house: House) -> dict[TopicPartition, int]:
    return {**read_offset_checkpoint(house.files, f"/a/{CLEANER_OFFSETS}")}


def test_dirty_log_is_cleaned_and_the_checkpoint_says_so() -> None:
    home = Home()
    log = home.log()

    home.cleaner.start()
    home.pass_time(0)

    assert list(batches_of(log)) == [5, 6]
    assert log.bounds.cleaned_to == 6
    assert checkpoint(home.house) == {partition(): 6}
    assert [each.partition for each in home.cleaned] == [partition()]
    assert log.lease.is_free


def test_clean_log_is_left_alone_until_it_is_dirty_again() -> None:
    home = Home()
    log = home.log()
    home.cleaner.start()
    home.pass_time()

    filled(log, 8).roll()
    home.pass_time(BACKOFF_MS - 1)
    before = len(home.runner.jobs)
    home.pass_time(1)

    assert (before, len(home.runner.jobs)) == (1, 2)
    assert home.runner.jobs[1].plan.first_dirty == 6


def test_dirtiest_log_is_cleaned_first() -> None:
    home = Home()
    half = home.log(0)
    home.cleaner.start()
    home.pass_time(0)
    filled(half, 8).roll()
    home.log(1)

    home.pass_time()

    assert [each.plan.partition.partition for each in home.runner.jobs] == [0, 1, 0]


def test_as_many_passes_run_at_a_time_as_there_are_threads() -> None:
    home, worker = held()
    for number in range(3):
        home.log(number)
    home.cleaner.adopt(CleanerSettings(threads=2))
    home.pass_time(0)
    at_first = len(worker.held)

    worker.go_on()
    home.pass_time(0)

    assert (at_first, len(worker.held)) == (2, 1)
    assert {each.memory_bytes for each in home.runner.jobs} == {60_397_977}


def test_one_pass_at_a_time_runs_over_a_log() -> None:
    home, worker = held()
    home.log()
    home.cleaner.adopt(CleanerSettings(threads=5))

    home.pass_time(4 * BACKOFF_MS)

    assert len(worker.held) == 1


def test_nothing_is_cleaned_when_the_cleaner_is_off() -> None:
    home = Home(settings=CleanerSettings(is_enabled=False))
    home.log()

    home.cleaner.start()
    home.pass_time(4 * BACKOFF_MS)

    assert home.runner.jobs == []


def test_log_that_is_not_compacted_is_not_cleaned() -> None:
    home = Home()
    home.log()
    home.configure(cleanup_policy=frozenset({DELETE}))

    home.cleaner.start()
    home.pass_time(0)

    assert home.runner.jobs == []


def test_retention_has_its_turn_with_a_log_that_is_compacted_and_deleted() -> None:
    home = Home()
    log = home.log()
    home.configure(cleanup_policy=frozenset({COMPACT, DELETE}), retention_ms=1000)
    home.pass_time(2000)

    home.cleaner.start()
    home.pass_time(0)

    assert log.bounds.log_start == log.bounds.log_end == 7
    assert home.runner.jobs == []


def test_cleaning_goes_on_where_the_log_starts_when_retention_was_faster() -> None:
    home = Home()
    log = home.log()
    home.manager.cleaned(log, 2)
    log.delete_records(4)

    home.cleaner.start()
    home.pass_time(0)

    assert home.runner.jobs[0].plan.first_dirty == 4
    assert "counts as dirty from 4 on" in home.house.events[0]


def test_checkpoint_of_a_log_that_is_not_cleaned_is_put_right_too() -> None:
    home = Home()
    log = filled(made(home.manager)[0], 3)
    home.manager.cleaned(log, 1)
    log.delete_records(2)

    home.cleaner.start()
    home.pass_time(0)

    assert checkpoint(home.house) == {partition(): 2}


def test_idle_log_is_rolled_and_cleaned_when_its_lag_is_over() -> None:
    home = Home()
    log = filled(made(home.manager)[0], 3)
    home.configure(max_compaction_lag_ms=60_000)
    home.cleaner.start()
    home.pass_time()
    before = len(home.runner.jobs)

    home.pass_time(120_000)

    assert (before, list(batches_of(log))) == (0, [2])


def test_log_that_is_cut_while_it_is_cleaned_keeps_what_it_has() -> None:
    home, worker = held()
    log = home.log()
    home.cleaner.start()
    home.pass_time(0)
    home.runner.meanwhile.append(lambda: home.manager.truncate({partition(): 3}))

    worker.go_on()
    worker.go_on()

    assert list(batches_of(log)) == [0, 1, 2]
    assert (log.lease.is_free, log.bounds.cleaned_to, home.failed) == (True, None, [])
    assert not [each for each in home.house.files.list(log.directory) if "cleaned" in each]


def test_log_that_is_deleted_while_it_is_cleaned_is_no_failure() -> None:
    home, worker = held()
    home.log()
    home.cleaner.start()
    home.pass_time(0)
    home.manager.delete(partition())

    home.runner.errors = [CleaningFailedError("there is no such file")]
    worker.go_on()

    assert (home.failed, home.cleaned) == ([], [])


def test_pass_stops_when_the_log_is_not_compacted_any_more() -> None:
    home, worker = held()
    log = home.log()
    home.cleaner.start()
    home.pass_time(0)
    home.configure(cleanup_policy=frozenset({DELETE}))

    worker.go_on()
    worker.go_on()

    assert (list(batches_of(log)), log.lease.is_free) == ([0, 1, 2, 3, 4, 5, 6], True)


def test_log_is_not_touched_while_others_have_paused_it() -> None:
    home = Home()
    log = home.log()
    log.lease = log.lease.pause("an operator")

    home.cleaner.start()
    home.pass_time()
    before = len(home.runner.jobs)
    log.lease = log.lease.resume("an operator")
    home.pass_time()

    assert (before, len(home.runner.jobs)) == (0, 1)


def test_failed_pass_is_tried_again_after_longer_each_time() -> None:
    home = Home()
    log = home.log()
    home.runner.errors = [CleaningFailedError(f"no {number}") for number in range(3)]
    home.cleaner.start()

    home.pass_time(BACKOFF_MS * 100)

    told = [(setback.count, setback.reason, setback.wait_ms) for _, setback in home.failed]
    assert told == [(1, "no 0", 15_000), (2, "no 1", 30_000), (3, "no 2", 60_000)]
    assert list(batches_of(log)) == [5, 6]
    assert home.cleaner.setbacks == {}


def test_failed_pass_leaves_nothing_behind() -> None:
    home = Home()
    log = home.log()
    home.runner.errors = [CleaningFailedError("no")]

    home.cleaner.start()
    home.pass_time(0)

    assert not [each for each in home.house.files.list(log.directory) if "cleaned" in each]
    assert (log.lease.is_free, list(home.cleaner.setbacks)) == (True, [partition()])


def test_log_that_fails_keeps_no_other_from_being_cleaned() -> None:
    home = Home()
    logs = [home.log(number) for number in range(2)]
    home.runner.errors = [RuntimeError("a mistake of ours")]
    home.cleaner.start()

    home.pass_time(0)

    assert [list(batches_of(log)) for log in logs] == [[0, 1, 2, 3, 4, 5, 6], [5, 6]]
    assert home.failed[0][1].reason == "RuntimeError('a mistake of ours')"


def test_log_whose_files_cannot_be_looked_at_is_told_of_and_tried_again() -> None:
    home = Home()
    log = home.log()
    home.house.files.script.add(Fault(on="stat", path="*/orders-0/*.log", code=errno.EMFILE))

    home.cleaner.start()
    home.pass_time(0)
    before = len(home.failed)
    home.pass_time(2 * BACKOFF_MS)

    assert (before, list(batches_of(log))) == (1, [5, 6])


def test_directory_that_fails_while_it_is_cleaned_ends_the_pass() -> None:
    home, worker = held()
    log = home.log()
    home.cleaner.start()
    home.pass_time(0)

    home.manager.fail(home.manager.directories[0], OSError("gone"))
    worker.go_on()

    assert (home.cleaned, home.failed, log.lease.is_free) == ([], [], True)


def test_close_stops_what_is_at_work_and_uses_nothing_of_it() -> None:
    home, worker = held()
    log = home.log()
    home.cleaner.start()
    home.pass_time(0)

    home.cleaner.close()
    worker.go_on()
    home.pass_time()

    assert list(batches_of(log)) == [0, 1, 2, 3, 4, 5, 6]
    assert (home.runner.is_closed, home.cleaned, home.failed) == (True, [], [])


def test_settings_change_while_the_cleaner_runs() -> None:
    home = Home(settings=CleanerSettings(threads=0))
    log = home.log()
    home.cleaner.start()
    home.pass_time()
    before = list(batches_of(log))

    home.cleaner.adopt(CleanerSettings(dedupe_buffer_bytes=1 << 20))
    home.pass_time(0)

    assert (len(before), list(batches_of(log))) == (7, [5, 6])
    assert home.runner.jobs[0].memory_bytes == int((1 << 20) * 0.9)


def test_ratio_changes_while_the_cleaner_runs() -> None:
    home = Home(config=COMPACTED)
    home.log()
    home.configure(min_cleanable_dirty_ratio=1.0)
    home.cleaner.start()
    home.pass_time()
    before = len(home.runner.jobs)

    home.configure(min_cleanable_dirty_ratio=0.1)
    home.pass_time()

    assert (before, len(home.runner.jobs)) == (0, 1)


def test_cleaner_holds_the_lease_while_a_pass_runs() -> None:
    home, _ = held()
    log = home.log()

    home.cleaner.start()
    home.pass_time(0)

    assert (log.lease.stage, log.lease.holder) == (Stage.CLEANING, "the cleaner")
