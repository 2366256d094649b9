"""Cleaned segments replace others wholly or not at all, without disturbing readers."""

import errno
import random
from functools import partial

import pytest

from cordwood.core.ports import Lane
from cordwood.storage.log.log import Log
from cordwood.storage.log.segment_swap import SegmentReplacement, SwapRefusedError
from cordwood.testing.file_faults import FileFault, PowerLoss
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.storage.cleaned_samples import batches_of, cleaned, write_cleaned
from tests.unit.storage.log_samples import DIRECTORY, SMALL, LogHarness, batch, lead, produced, read
from tests.unit.storage.manager_samples import HeldWorker

#: The batches that the cleaning pass removes.
GONE = (1, 4)


def rolled(harness: LogHarness, count: int = 8) -> Log:
    """Return a flushed log whose closed segments have two batches each."""
    log = harness.open()
    for number in range(count):
        if number and number % 2 == 0:
            log.roll()
        lead(log, batch())
    log.set_high_watermark(log.bounds.log_end)
    log.flush()
    return log


def prepared(harness: LogHarness) -> tuple[Log, SegmentReplacement]:
    """Return a log of segments 0, 2, 4 and 6, and the replacement of the first three."""
    log = rolled(harness)
    return log, cleaned(harness.files, log, (0, 2, 4), without=GONE)


def test_readers_see_the_replacement() -> None:
    log, replacement = prepared(harness := LogHarness())

    log.begin_swap(replacement).finish()

    assert log.base_offsets == (0, 6)
    assert list(batches_of(log)) == [0, 2, 3, 5, 6, 7]
    assert harness.names(".swap") == harness.names(".cleaned") == []


def test_open_slice_of_a_replaced_segment_stays_readable() -> None:
    log, replacement = prepared(LogHarness())
    found = read(log, 2)
    assert found.slice is not None
    before = bytes(found.slice.read())

    log.begin_swap(replacement).finish()

    assert bytes(found.slice.read()) == before


def test_readers_get_the_old_or_the_new_between_all_steps() -> None:
    log, replacement = prepared(LogHarness())
    worker, seen = HeldWorker(), []

    swap = log.begin_swap(replacement)
    while swap.advance(partial(worker.submit, lane=Lane.BACKGROUND)) is not None:
        seen.append(list(batches_of(log)))
        worker.go_on()

    old, new = [0, 1, 2, 3, 4, 5, 6, 7], [0, 2, 3, 5, 6, 7]
    assert [seen.count(old), seen.count(new)] == [1, len(seen) - 1]


def test_replaced_files_wait_for_their_removal() -> None:
    log, replacement = prepared(harness := LogHarness())

    log.begin_swap(replacement).finish()

    left = [f"{base}{kind}.deleted" for base in ("0", "2", "4") for kind in (".index", ".log")]
    assert set(left) < set(harness.names(".deleted"))
    assert len(harness.deletions.paths) == len(harness.names(".deleted"))
    assert harness.deletions.delays_ms == [SMALL.file_delete_delay_ms]


def test_snapshots_of_removed_segments_are_removed() -> None:
    log = (harness := LogHarness()).open()
    for number in range(6):
        lead(log, produced(number))
        log.roll()
    before = harness.names(".snapshot")

    log.begin_swap(cleaned(harness.files, log, (2, 3, 4), without=(3,))).finish()

    assert before == [f"{base}.snapshot" for base in range(1, 7)]
    assert harness.names(".snapshot") == [f"{base}.snapshot" for base in (1, 2, 5, 6)]


def test_several_segments_may_replace_one() -> None:
    log = rolled(harness := LogHarness())
    data = batches_of(log)
    write_cleaned(harness.files, DIRECTORY, 0, data[0])
    write_cleaned(harness.files, DIRECTORY, 3, data[3])

    log.begin_swap(SegmentReplacement((0, 2), (0, 3), truncations=0)).finish()

    assert log.base_offsets == (0, 3, 4, 6)
    assert list(batches_of(log)) == [0, 3, 4, 5, 6, 7]


def test_empty_segment_replaces_others() -> None:
    log = rolled(harness := LogHarness())

    log.begin_swap(cleaned(harness.files, log, (2, 4), without=range(9))).finish()

    assert log.base_offsets == (0, 2, 6)
    assert list(batches_of(log)) == [0, 1, 6, 7]


def test_replacement_is_rejected_when_the_log_has_been_truncated() -> None:
    log, replacement = prepared(LogHarness())
    log.truncate_to(7)

    with pytest.raises(SwapRefusedError, match="t-0: the log was truncated"):
        log.begin_swap(replacement)

    assert log.base_offsets == (0, 2, 4, 6)


def test_replacement_is_rejected_when_segments_were_deleted() -> None:
    log, replacement = prepared(LogHarness())
    log.delete_records(2)
    log.delete_old_segments()

    with pytest.raises(SwapRefusedError, match="segments of it were deleted"):
        log.begin_swap(replacement)


def test_start_inside_a_replaced_segment_stays_where_it_is() -> None:
    log, replacement = prepared(LogHarness())
    log.delete_records(3)

    log.begin_swap(replacement).finish()

    assert log.bounds.log_start == 3
    assert list(batches_of(log)) == [3, 5, 6, 7]


def test_truncation_finishes_a_replacement_first() -> None:
    log, replacement = prepared(harness := LogHarness())
    swap = log.begin_swap(replacement)
    for _ in range(2):
        swap.advance(partial(InlineWorker().submit, lane=Lane.BACKGROUND))

    log.truncate_to(3)

    assert list(batches_of(log)) == [0, 2]
    assert swap.advance(partial(InlineWorker().submit, lane=Lane.BACKGROUND)) is None
    assert harness.names(".swap") == []


def test_close_finishes_a_replacement_first() -> None:
    log, replacement = prepared(harness := LogHarness())
    swap = log.begin_swap(replacement)
    for _ in range(2):
        swap.advance(partial(InlineWorker().submit, lane=Lane.BACKGROUND))

    log.close()

    assert harness.names(".log") == ["0.log", "6.log"]
    assert list(batches_of(harness.open())) == [0, 2, 3, 5, 6, 7]


@pytest.mark.parametrize("call", ("rename", "sync_directory"))
def test_log_is_torn_when_a_step_fails(call: str) -> None:
    log, replacement = prepared(harness := LogHarness())
    harness.files.script.add(FileFault(on=call, code=errno.EIO))

    with pytest.raises(OSError, match="Input/output"):
        log.begin_swap(replacement).finish()

    assert log.is_torn


def test_missing_index_of_a_replaced_segment_is_ignored() -> None:
    log, replacement = prepared(harness := LogHarness())
    paths = (path for segment in log.segments for path in segment.paths())
    harness.files.remove(next(path for path in paths if path.endswith("2.index")))

    log.begin_swap(replacement).finish()

    assert log.base_offsets == (0, 6)


@pytest.mark.parametrize("seed", range(6))
def test_replacement_is_whole_or_not_at_all_after_a_crash_at_any_point(seed: int) -> None:
    chance = random.Random(seed)
    died, write_points = True, 0
    while died:
        log, replacement = prepared(harness := LogHarness())
        harness.files.script.stop_after(write_points)
        try:
            log.begin_swap(replacement).finish()
            died = False
        except PowerLoss:
            died = True
        pending = range(len(harness.files.pending()))
        harness.files.crash([number for number in pending if chance.random() < 0.5])

        again = harness.open(is_clean=False, recovery_point=6)
        assert list(batches_of(again)) in ([0, 1, 2, 3, 4, 5, 6, 7], [0, 2, 3, 5, 6, 7])
        assert harness.names(".swap") == harness.names(".cleaned") == []
        write_points += 1
