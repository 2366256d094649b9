"""Cleaned segments take the place of others: wholly or not at all, and nobody who reads notices."""

import errno
import random

import pytest

from cordwood.storage.log import Log
from cordwood.storage.replacing import Replacement, SwapRefusedError
from cordwood.testing.faults import Fault, PowerLoss
from cordwood.testing.worker import InlineWorker
from tests.unit.storage.cleaned_samples import batches_of, cleaned, write_cleaned
from tests.unit.storage.log_samples import DIRECTORY, SMALL, Place, batch, lead, produced, read
from tests.unit.storage.manager_samples import HeldWorker

#: Batches 1 and 4 are what a pass takes away.
GONE = (1, 4)


def rolled(place: Place, count: int = 8) -> Log:
    """Return a flushed log whose segments, but for the active one, have two batches each."""
    log = place.open()
    for number in range(count):
        if number and number % 2 == 0:
            log.roll()
        lead(log, batch())
    log.set_high_watermark(log.bounds.log_end)
    log.flush()
    return log


def prepared(place: Place) -> tuple[Log, Replacement]:
    """Return a log of segments 0, 2, 4 and 6, and what cleaning the first three has made."""
    log = rolled(place)
    return log, cleaned(place.files, log, (0, 2, 4), without=GONE)


def test_replacement_is_what_readers_get() -> None:
    log, replacement = prepared(place := Place())

    log.begin_replacing(replacement).finish()

    assert log.base_offsets == (0, 6)
    assert list(batches_of(log)) == [0, 2, 3, 5, 6, 7]
    assert place.names(".swap") == place.names(".cleaned") == []


def test_reader_keeps_what_it_has_when_its_segment_is_replaced() -> None:
    log, replacement = prepared(Place())
    found = read(log, 2)
    assert found.slice is not None
    before = bytes(found.slice.read())

    log.begin_replacing(replacement).finish()

    assert bytes(found.slice.read()) == before


def test_readers_get_the_old_or_the_new_between_all_steps() -> None:
    log, replacement = prepared(Place())
    worker, seen = HeldWorker(), []

    swap = log.begin_replacing(replacement)
    while swap.go_on(worker.submit) is not None:
        seen.append(list(batches_of(log)))
        worker.go_on()

    old, new = [0, 1, 2, 3, 4, 5, 6, 7], [0, 2, 3, 5, 6, 7]
    assert [seen.count(old), seen.count(new)] == [1, len(seen) - 1]


def test_replaced_files_wait_for_their_removal() -> None:
    log, replacement = prepared(place := Place())

    log.begin_replacing(replacement).finish()

    left = [f"{base}{kind}.deleted" for base in ("0", "2", "4") for kind in (".index", ".log")]
    assert set(left) < set(place.names(".deleted"))
    assert len(place.deletions.paths) == len(place.names(".deleted"))
    assert place.deletions.delays_ms == [SMALL.file_delete_delay_ms]


def test_snapshots_go_whose_segments_are_gone() -> None:
    log = (place := Place()).open()
    for number in range(6):
        lead(log, produced(number))
        log.roll()
    before = place.names(".snapshot")

    log.begin_replacing(cleaned(place.files, log, (2, 3, 4), without=(3,))).finish()

    assert before == [f"{base}.snapshot" for base in range(1, 7)]
    assert place.names(".snapshot") == [f"{base}.snapshot" for base in (1, 2, 5, 6)]


def test_several_segments_take_the_place_of_one() -> None:
    log = rolled(place := Place())
    data = batches_of(log)
    write_cleaned(place.files, DIRECTORY, 0, data[0])
    write_cleaned(place.files, DIRECTORY, 3, data[3])

    log.begin_replacing(Replacement((0, 2), (0, 3), cuts=0)).finish()

    assert log.base_offsets == (0, 3, 4, 6)
    assert list(batches_of(log)) == [0, 3, 4, 5, 6, 7]


def test_empty_segment_takes_the_place_of_others() -> None:
    log = rolled(place := Place())

    log.begin_replacing(cleaned(place.files, log, (2, 4), without=range(9))).finish()

    assert log.base_offsets == (0, 2, 6)
    assert list(batches_of(log)) == [0, 1, 6, 7]


def test_replacement_is_refused_when_the_log_has_been_cut() -> None:
    log, replacement = prepared(Place())
    log.truncate_to(7)

    with pytest.raises(SwapRefusedError, match="t-0 has been cut"):
        log.begin_replacing(replacement)

    assert log.base_offsets == (0, 2, 4, 6)


def test_replacement_is_refused_when_segments_have_gone() -> None:
    log, replacement = prepared(Place())
    log.delete_records(2)
    log.delete_old_segments()

    with pytest.raises(SwapRefusedError, match="segments of it have gone"):
        log.begin_replacing(replacement)


def test_start_inside_a_replaced_segment_stays_where_it_is() -> None:
    log, replacement = prepared(Place())
    log.delete_records(3)

    log.begin_replacing(replacement).finish()

    assert (log.bounds.log_start, list(batches_of(log))) == (3, [3, 5, 6, 7])


def test_truncation_brings_a_replacement_to_its_end_first() -> None:
    log, replacement = prepared(place := Place())
    swap = log.begin_replacing(replacement)
    for _ in range(2):
        swap.go_on(InlineWorker().submit)

    log.truncate_to(3)

    assert list(batches_of(log)) == [0, 2]
    assert swap.go_on(InlineWorker().submit) is None
    assert place.names(".swap") == []


def test_close_brings_a_replacement_to_its_end_first() -> None:
    log, replacement = prepared(place := Place())
    swap = log.begin_replacing(replacement)
    for _ in range(2):
        swap.go_on(InlineWorker().submit)

    log.close()

    assert place.names(".log") == ["0.log", "6.log"]
    assert list(batches_of(place.open())) == [0, 2, 3, 5, 6, 7]


@pytest.mark.parametrize("call", ("rename", "sync_directory"))
def test_log_is_torn_when_a_step_fails(call: str) -> None:
    log, replacement = prepared(place := Place())
    place.files.script.add(Fault(on=call, code=errno.EIO))

    with pytest.raises(OSError, match="Input/output"):
        log.begin_replacing(replacement).finish()

    assert log.is_torn


def test_missing_index_of_a_replaced_segment_is_no_trouble() -> None:
    log, replacement = prepared(place := Place())
    paths = log.paths()
    place.files.remove(next(path for path in paths if path.endswith("2.index")))

    log.begin_replacing(replacement).finish()

    assert log.base_offsets == (0, 6)


@pytest.mark.parametrize("seed", range(6))
def test_replacement_is_whole_or_not_at_all_when_it_dies_anywhere(seed: int) -> None:
    chance = random.Random(seed)
    died, write_points = True, 0
    while died:
        log, replacement = prepared(place := Place())
        place.files.script.stop_after(write_points)
        try:
            log.begin_replacing(replacement).finish()
            died = False
        except PowerLoss:
            died = True
        pending = range(len(place.files.pending()))
        place.files.crash([number for number in pending if chance.random() < 0.5])

        again = place.open(is_clean=False, recovery_point=6)
        assert list(batches_of(again)) in ([0, 1, 2, 3, 4, 5, 6, 7], [0, 2, 3, 5, 6, 7])
        assert place.names(".swap") == place.names(".cleaned") == []
        write_points += 1
