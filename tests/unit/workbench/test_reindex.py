"""Indexes and snapshots are written anew, and nothing else."""

import pytest

from cordwood.core.errors import CorruptMessageError, LogDirectoryError
from cordwood.storage.log_config import LogConfig
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.reindex import ReindexReport, reindex
from tests.unit.storage.log_samples import (
    DIRECTORY,
    Place,
    filled,
    follow,
    interleaved,
    lead,
    produced,
)
from tests.unit.storage.reader_samples import THREES, got, harm, name, put

ENDINGS = ("index", "timeindex", "snapshot")


def closed(config: LogConfig = THREES) -> Place:
    """Return a place with a log of ten records that was closed in order."""
    place = Place()
    log = filled(place.open(config), 10)
    log.close()
    return place


def run(files: MemoryFiles, config: LogConfig = THREES) -> ReindexReport:
    return reindex(files, DIRECTORY, config=config, now_ms=0)


def contents(place: Place, *endings: str) -> dict[str, bytes]:
    names = [each for each in place.files.list(DIRECTORY) if each.endswith(endings or ("",))]
    return {each: got(place.files, each) for each in names}


def test_reindex_writes_the_indexes_that_were_there() -> None:
    place = closed()
    before = contents(place, "index")

    report = run(place.files)

    assert contents(place, "index") == before
    assert (report.segments, report.batches, report.log_end) == (4, 10, 10)
    assert report.snapshots == (3, 6, 9, 10)


def test_reindex_heals_damaged_indexes_and_snapshots_and_touches_no_log() -> None:
    place = closed()
    logs, right = contents(place, ".log"), contents(place, "index")
    harm(place.files, name(3, ".index"), 0)
    put(place.files, name(6, ".timeindex"), b"\1" * 7)
    harm(place.files, name(10, ".snapshot"), 3)
    place.files.remove(f"{DIRECTORY}/{name(0, '.index')}")

    run(place.files)

    assert contents(place, "index") == right
    assert contents(place, ".log") == logs
    assert not place.open(THREES).report.is_worth_telling


def test_aborted_transactions_are_in_their_index_again() -> None:
    place = Place()
    log = place.open()
    follow(log, *interleaved())
    log.close()
    right = place.aborted()

    place.files.remove(f"{DIRECTORY}/{name(0, '.txnindex')}")
    run(place.files)

    assert right
    assert place.aborted() == right


def test_snapshots_know_the_producers_that_the_log_has() -> None:
    place = Place()
    log = place.open()
    lead(log, produced(0, 2), produced(2, 3, producer=(4, 1)))
    log.close()
    before = contents(place, ".snapshot")

    run(place.files)

    assert contents(place, ".snapshot") == before


def test_epochs_that_cannot_be_read_are_learnt_from_the_log() -> None:
    place = closed()
    right = contents(place, "leader-epoch-checkpoint")
    put(place.files, "leader-epoch-checkpoint", b"x")

    (warning,) = run(place.files).warnings

    assert warning.startswith("written anew: ")
    assert contents(place, "leader-epoch-checkpoint") == right


@pytest.mark.parametrize(
    "data",
    (b"\xee" * 9, b"\0" * 4096),
    ids=("torn", "preallocated"),
)
def test_log_that_is_not_whole_is_refused_untouched(data: bytes) -> None:
    place = closed()
    last = name(9)
    put(place.files, last, got(place.files, last) + data)
    before = contents(place)

    with pytest.raises(CorruptMessageError, match="cordwood log salvage"):
        run(place.files)

    assert contents(place) == before


def test_log_with_a_wrong_bit_is_refused() -> None:
    place = closed()
    harm(place.files, name(3), 70, bytes((got(place.files, name(3))[70] ^ 1,)))

    with pytest.raises(CorruptMessageError, match="a wrong checksum or size"):
        run(place.files)


@pytest.mark.parametrize(("base", "offset"), ((3, 1), (3, 6)))
def test_log_whose_offsets_are_out_of_order_is_refused(base: int, offset: int) -> None:
    place = closed()
    harm(place.files, name(base), 0, offset.to_bytes(8))

    with pytest.raises(CorruptMessageError, match="out of order"):
        run(place.files)


def test_directory_in_use_is_refused() -> None:
    place = closed()
    lock = place.files.lock("/d/.lock")

    with pytest.raises(LogDirectoryError, match="is in use"):
        run(place.files)
    lock.release()

    assert run(place.files).log_end == 10


@pytest.mark.parametrize("extra", (".log.swap", ".index.cleaned"))
def test_directory_that_was_left_half_done_is_refused(extra: str) -> None:
    place = closed()
    put(place.files, name(0, extra), b"")

    with pytest.raises(LogDirectoryError, match="left in the middle"):
        run(place.files)


def test_what_is_no_partition_is_refused() -> None:
    place = Place()

    with pytest.raises(LogDirectoryError, match="no directory"):
        run(place.files)
    place.files.make_directory(DIRECTORY)
    with pytest.raises(LogDirectoryError, match="no segment"):
        run(place.files)


def test_report_reads_as_json() -> None:
    assert '"log_end": 10' in run(closed().files).to_json()
