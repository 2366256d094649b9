"""From a partition's directory to a log: after a clean stop, after none, and after worse."""

import errno
import random
from dataclasses import replace

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import DamagedFileError
from cordwood.core.types import Offset
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.names import segment_name
from cordwood.testing.faults import Fault, PowerLoss
from tests.unit.storage.log_samples import (
    DIRECTORY,
    NOW,
    SMALL,
    Place,
    bases,
    batch,
    filled,
    follow,
    lead,
    marker,
    offsets,
    produced,
    read,
)

SIZE = len(batch())
FIVE = replace(SMALL, segment_bytes=5 * SIZE)
SPARSE = replace(FIVE, index_interval_bytes=2 * SIZE - 1)
INDEXES = (".index", ".timeindex")


def path(base_offset: int, ending: str = ".log") -> str:
    return f"{DIRECTORY}/{segment_name(Offset(base_offset), ending)}"


def timed(place: Place, count: int, config: LogConfig = SPARSE) -> Log:
    """Return a log of single records, each 10 ms after the one before."""
    log = place.open(config)
    for number in range(count):
        lead(log, batch(timestamp=NOW + 10 * number))
    log.set_high_watermark(count)
    return log


def unclean(place: Place, config: LogConfig = FIVE, **said: int) -> Log:
    return place.open(config, is_clean=False, **said)


def files(place: Place, *endings: str) -> dict[str, bytes]:
    """Return the contents of all files that end so, by their names."""
    return {
        name: place.bytes_of(name) for name in place.files.list(DIRECTORY) if name.endswith(endings)
    }


def remove(place: Place, *endings: str) -> None:
    for name in files(place, *endings):
        place.files.remove(f"{DIRECTORY}/{name}")


def values(log: Log) -> tuple[int, int, int, int]:
    bounds = log.bounds
    return bounds.log_start, bounds.high_watermark, bounds.log_end, bounds.recovery_point


def found(log: Log) -> list[int]:
    """Return the last offset of each batch that is read one after the other."""
    at, seen = int(log.bounds.log_start), list[int]()
    while more := offsets(read(log, at)):
        seen += [last for _, last in more]
        at = seen[-1] + 1
    return seen


# -- a directory that is new, or empty


def test_directory_is_made_and_survives_a_crash() -> None:
    place = Place()

    log = place.open()
    place.files.crash()

    assert values(log) == (0, 0, 0, 0)
    assert place.files.list("/d") == ["t-0"]


def test_log_without_a_segment_begins_at_its_start() -> None:
    place = Place()

    log = place.open(log_start=40)

    assert values(log) == (40, 40, 40, 40)
    assert bases(log) == [40]
    assert place.names() == ["40.log", "40.snapshot"]


def test_log_without_a_segment_keeps_its_last_epoch() -> None:
    place = Place()
    filled(place.open(), 3, epoch=2).close()
    remove(place, ".log", *INDEXES)

    assert [tuple(each) for each in place.open(log_start=3).epochs.entries] == [(2, 3)]


def test_numbers_that_cannot_be_are_not_believed() -> None:
    place = Place()
    filled(place.open(), 5)

    log = unclean(place, recovery_point=-7, log_start=-1, high_watermark=900)

    assert values(log) == (0, 5, 5, 0)


# -- after a clean stop


def test_log_is_as_it_was_left() -> None:
    place = Place()
    log = filled(place.open(FIVE), 12, epoch=3)
    log.close()

    again = place.open(FIVE, high_watermark=9, log_start=2)

    assert values(again) == (2, 9, 12, 12)
    assert found(again) == list(range(2, 12))
    assert lead(again, batch()).first_offset == 12


def test_log_is_opened_by_reading_no_batch_but_the_last() -> None:
    place = Place()
    filled(place.open(FIVE), 12).close()
    place.files.open(path(0), writable=True).pwrite(b"\xff" * 10, SIZE)

    log = place.open(FIVE)

    assert log.report.recovered == []
    assert log.bounds.log_end == 12


@pytest.mark.parametrize("rest", (b"half a batch", bytes(100)))
def test_log_that_says_it_was_closed_and_ends_in_rubbish_is_checked_there(rest: bytes) -> None:
    place = Place()
    filled(place.open(FIVE), 12).close()
    place.files.open(path(10), writable=True).append(rest)

    log = place.open(FIVE)
    lead(log, batch())

    assert log.report.recovered == [10]
    assert log.report.cut_bytes == len(rest)
    assert found(log) == list(range(13))


def test_producers_are_known_from_the_snapshot_alone() -> None:
    place = Place()
    lead(place.open(), produced(0), produced(1), produced(2))
    place.open(is_clean=False).close()

    log = place.open()

    assert [each.last_sequence for each in log.producers.producers[1].batches] == [2]


def test_log_without_snapshots_is_not_read_for_them_after_a_clean_stop() -> None:
    place = Place()
    log = place.open(FIVE)
    lead(log, *(produced(sequence) for sequence in range(12)))
    log.close()
    remove(place, ".snapshot")

    log = place.open(FIVE)

    assert log.producers.is_empty
    assert len(place.names("snapshot")) == 3


def test_log_is_recovered_where_there_is_no_room_for_snapshots() -> None:
    place = Place()
    filled(place.open(FIVE), 9)
    place.files.script.add(Fault(on="append", path="*.snapshot", code=errno.ENOSPC, times=9))

    log = unclean(place)

    assert log.bounds.log_end == 9
    assert "No space left" in str(log.report)


def test_damaged_snapshot_is_told_and_an_older_one_is_used() -> None:
    place = Place()
    log = place.open(FIVE)
    lead(log, *(produced(sequence) for sequence in range(7)))
    log.close()
    place.files.open(path(7, ".snapshot"), writable=True).pwrite(b"\xff", 10)

    log = place.open(FIVE)

    assert log.producers.producers[1].last_sequence == 6
    (warning,) = log.report.warnings
    assert warning.startswith(path(7, ".snapshot"))


@pytest.mark.parametrize(
    ("ending", "lie"), ((".index", b"\0\1\0\0\0\0\0\1"), (".timeindex", b"\1" + b"\0" * 11))
)
def test_last_index_entry_that_lies_is_written_anew_before_it_stops_an_append(
    ending: str, lie: bytes
) -> None:
    place = Place()
    timed(place, 4, SMALL).close()
    indexes = files(place, *INDEXES)
    file = place.files.open(path(0, ending), writable=True)
    file.pwrite(lie, file.size - len(lie))

    log = place.open()
    log.close()
    mended = files(place, *INDEXES)
    filled(place.open(), 2)

    assert log.report.recovered == [0]
    assert mended == indexes


# -- after no clean stop


@pytest.mark.parametrize("recovery_point", (100, 10))
def test_recovery_of_a_whole_log_changes_nothing(recovery_point: int) -> None:
    place = Place()
    timed(place, 100).close()
    before = files(place, ".log", *INDEXES)

    log = unclean(place, SPARSE, recovery_point=recovery_point)

    assert files(place, ".log", *INDEXES) == before
    assert (log.bounds.log_end, log.bounds.recovery_point) == (100, recovery_point)
    log.flush()
    assert log.bounds.recovery_point == 100


@pytest.mark.parametrize("rubbish", (None, b"", b"rubbish" * 9))
def test_indexes_that_are_lost_or_rubbish_are_written_anew(rubbish: bytes | None) -> None:
    place = Place()
    timed(place, 60).close()
    before = files(place, *INDEXES)
    remove(place, *INDEXES)
    for name in () if rubbish is None else before:
        place.files.create(f"{DIRECTORY}/{name}").append(rubbish or b"")

    log = unclean(place, SPARSE, high_watermark=60)

    assert files(place, *INDEXES) == before
    for offset in range(60):
        assert offsets(read(log, offset, SIZE))[0] == (offset, offset)
        at = log.offset_for_timestamp(NOW + 10 * offset)
        assert at is not None
        assert at.offset == offset


def test_indexes_without_a_log_are_removed_and_empty_ones_grow_again() -> None:
    place = Place()
    filled(place.open(), 3).close()
    for ending in INDEXES:
        place.files.create(path(5, ending)).append(b"rubbish")
    place.files.open(path(0, ".index"), writable=True).truncate(0)

    log = unclean(place)
    lead(log, batch(), batch())

    assert log.report.leftovers == tuple(segment_name(Offset(5), ending) for ending in INDEXES)
    assert place.names("index") == ["0.index", "0.timeindex"]
    assert len(place.bytes_of(f"{0:020}.index")) == SMALL.segment_index_bytes


def test_stray_snapshot_goes_and_the_newest_stays() -> None:
    place = Place()
    log = place.open()
    for sequence in range(4):
        lead(log, produced(sequence))
        if sequence < 2:
            log.roll()
    log.close()
    place.files.create(path(3, ".snapshot"))

    log = unclean(place)

    assert place.names("snapshot") == ["1.snapshot", "2.snapshot", "4.snapshot"]
    assert log.producers.producers[1].last_sequence == 3


def test_snapshot_of_records_that_are_lost_does_not_come_back() -> None:
    place = Place()
    log = place.open()
    lead(log, *(produced(sequence) for sequence in range(7)))
    log.close()
    place.files.open(path(0), writable=True).truncate(3 * len(produced(0)))
    place.files.open(path(0), writable=True).sync()

    unclean(place)
    place.files.crash()

    assert place.names("snapshot") == ["3.snapshot"]


def test_log_that_ends_before_its_start_begins_anew_there() -> None:
    place = Place()
    log = filled(place.open(), 1, epoch=1)
    for _ in range(5):
        log.roll()
        filled(log, 1)
    place.files.open(path(1), writable=True).pwrite(b"corruptRecord", 0)

    log = unclean(place, log_start=4)

    assert (bases(log), values(log)) == ([4], (4, 4, 4, 0))
    assert place.names() == ["4.log", "leader-epoch-checkpoint"]
    assert log.epochs.entries == ()
    for number in range(4, 9):
        assert lead(log, batch()).first_offset == number
        log.roll()
    assert place.names("snapshot") == [f"{number}.snapshot" for number in range(5, 10)]


def test_empty_active_segment_gets_its_indexes() -> None:
    place = Place()
    log = filled(place.open(FIVE), 10)
    log.roll()
    log.flush()
    before = place.names("10.index")

    log = unclean(place, recovery_point=10)

    assert before == []
    assert place.names("10.index") == ["10.index"]
    assert values(log)[2:] == (10, 10)
    assert lead(log, batch()).first_offset == 10


def test_follower_whose_offsets_jump_has_a_segment_there_with_its_snapshot() -> None:
    place = Place()
    far = INT32_MAX + 2
    log = place.open()
    for offset in (0, far, far + 1, far + 2):
        follow(log, batch(at=offset))

    log = unclean(place)

    assert bases(log) == [0, far]
    assert f"{far}.snapshot" in place.names()
    assert log.bounds.log_end == far + 3


def test_transaction_that_is_open_is_unstable_again() -> None:
    place = Place()
    lead(place.open(), batch(), produced(0, is_transactional=True), batch())

    log = unclean(place, high_watermark=3)

    assert log.bounds.last_stable == 1


def test_transaction_below_the_high_watermark_is_stable_again() -> None:
    place = Place()
    follow(place.open(), produced(0, is_transactional=True), marker(at=1))

    assert unclean(place, high_watermark=2).bounds.last_stable == 2
    assert unclean(place, high_watermark=1).bounds.last_stable == 0


def test_deleted_records_do_not_take_their_producers_along() -> None:
    place = Place()
    lead(place.open(), produced(0, producer=(1, 0)), produced(0, producer=(2, 0)))

    log = unclean(place, log_start=1)

    assert list(log.producers.producers) == [1, 2]


def test_producers_of_deleted_segments_are_not_known_again() -> None:
    place = Place()
    log = place.open()
    lead(log, produced(0, producer=(1, 0)))
    log.roll()
    lead(log, produced(0, producer=(2, 0)))
    remove(place, f"{0:020}.log")

    log = unclean(place, log_start=1)

    assert list(log.producers.producers) == [2]


def test_damage_where_only_producers_are_looked_for_is_told() -> None:
    place = Place()
    log = place.open(FIVE)
    lead(log, *(produced(sequence) for sequence in range(12)))
    log.close()
    remove(place, ".snapshot")
    place.files.open(path(0), writable=True).pwrite(bytes(20), 2 * len(produced(0)))

    log = unclean(place, recovery_point=11)

    assert log.producers.producers[1].last_sequence == 11
    (warning,) = log.report.warnings
    assert "what producers did behind it is not known" in warning


# -- what a cleaner has left


@pytest.mark.parametrize(
    ("left", "seen"),
    (
        ({".log": ".cleaned", ".index": ".cleaned"}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({".log": ".swap", ".index": ".cleaned"}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({".log": ".swap", ".index": ".swap", ".timeindex": ".swap"}, [1, 3, 5, 7]),
        ({".log": ".swap"}, [1, 3, 5, 7]),
        ({".timeindex": ".swap"}, [0, 1, 2, 3, 4, 5, 6, 7]),
    ),
)
def test_cleaning_is_finished_or_undone(left: dict[str, str], seen: list[int]) -> None:
    """Segments 0, 2 and 4 were being replaced by one; 6 is active."""
    place, other = Place(), Place()
    log = filled(place.open(), 2)
    for _ in range(3):
        log.roll()
        filled(log, 2)
    log.close()
    clean = other.open()
    for offset in (1, 3, 5):
        follow(clean, batch(at=offset))
    clean.close()
    for ending, suffix in left.items():
        data = other.bytes_of(f"{0:020}{ending}")
        place.files.create(f"{path(0, ending)}{suffix}").append(data)

    log = unclean(place)

    assert found(log) == (seen if seen[0] == 0 else [1, 3, 5, 6, 7])
    assert not place.names(".swap")
    assert not place.names(".cleaned")


def test_swap_that_cannot_be_read_is_refused_by_name() -> None:
    place = Place()
    filled(place.open(), 2).close()
    place.files.create(f"{path(0)}.swap").append(bytes(100))

    with pytest.raises(DamagedFileError, match=r"\.log\.swap: .* remove it if the segments"):
        unclean(place)


def test_damaged_epochs_are_refused_by_name() -> None:
    place = Place()
    place.open().close()
    place.files.create(f"{DIRECTORY}/leader-epoch-checkpoint").append(b"rubbish")

    with pytest.raises(DamagedFileError, match="remove the file"):
        unclean(place)


# -- anything at all


@pytest.mark.parametrize("seed", range(8))
def test_what_was_flushed_survives_any_crash_and_gaps_are_told(seed: int) -> None:
    chance = random.Random(seed)
    place = Place()
    log, safe = place.open(FIVE), list[int]()
    for _ in range(12):
        place.files.script.stop_after(chance.randrange(60))
        safe = appended_until_power_is_lost(log, chance) or safe
        pending = range(len(place.files.pending()))
        place.files.crash([number for number in pending if chance.random() < 0.5])
        log = unclean(place, recovery_point=len(safe))
        seen = found(log)

        assert seen[: len(safe)] == safe
        assert log.bounds.recovery_point == len(safe)
        if seen != list(range(log.bounds.log_end)):
            assert "no records" in str(log.report)
            return


def appended_until_power_is_lost(log: Log, chance: random.Random) -> list[int]:
    """Append and flush; return the offsets that the last flush has made durable."""
    safe: list[int] = []
    try:
        while True:
            lead(log, produced(0, producer=(chance.randrange(5), 0)), batch())
            if chance.random() < 0.3:
                log.flush()
                safe = list(range(log.bounds.log_end))
    except PowerLoss:
        return safe
