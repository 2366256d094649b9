"""A log is loaded after a clean shutdown, after a crash, and with damaged files."""

import errno
from dataclasses import replace

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.core.types import Offset
from cordwood.storage.files.file_names import segment_name
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import LogConfig
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import (
    DIRECTORY,
    NOW,
    SMALL,
    LogHarness,
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


def timed(harness: LogHarness, count: int, config: LogConfig = SPARSE) -> Log:
    """Return a log of single records, each 10 ms after the one before."""
    log = harness.open(config)
    for number in range(count):
        lead(log, batch(timestamp=NOW + 10 * number))
    log.set_high_watermark(count)
    return log


def unclean(harness: LogHarness, config: LogConfig = FIVE, **checkpoints: int) -> Log:
    return harness.open(config, is_clean=False, **checkpoints)


def files(harness: LogHarness, *endings: str) -> dict[str, bytes]:
    """Return the contents of all files with these endings, by name."""
    return {
        name: harness.bytes_of(name)
        for name in harness.files.list(DIRECTORY)
        if name.endswith(endings)
    }


def remove(harness: LogHarness, *endings: str) -> None:
    for name in files(harness, *endings):
        harness.files.remove(f"{DIRECTORY}/{name}")


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


def test_directory_is_created_and_survives_a_crash() -> None:
    harness = LogHarness()

    log = harness.open()
    harness.files.crash()

    assert values(log) == (0, 0, 0, 0)
    assert harness.files.list("/d") == ["t-0"]


def test_log_without_a_segment_begins_at_its_start() -> None:
    harness = LogHarness()

    log = harness.open(log_start=40)

    assert values(log) == (40, 40, 40, 40)
    assert bases(log) == [40]
    assert harness.names() == ["40.log", "40.snapshot"]


def test_log_without_a_segment_keeps_its_last_epoch() -> None:
    harness = LogHarness()
    filled(harness.open(), 3, epoch=2).close()
    remove(harness, ".log", *INDEXES)

    assert [tuple(each) for each in harness.open(log_start=3).epochs.entries] == [(2, 3)]


def test_impossible_checkpoint_values_are_corrected() -> None:
    harness = LogHarness()
    filled(harness.open(), 5)

    log = unclean(harness, recovery_point=-7, log_start=-1, high_watermark=900)

    assert values(log) == (0, 5, 5, 0)


# -- after a clean shutdown


def test_log_is_as_it_was_left() -> None:
    harness = LogHarness()
    log = filled(harness.open(FIVE), 12, epoch=3)
    log.close()

    again = harness.open(FIVE, high_watermark=9, log_start=2)

    assert values(again) == (2, 9, 12, 12)
    assert found(again) == list(range(2, 12))
    assert lead(again, batch()).first_offset == 12


def test_log_is_opened_by_reading_no_batch_but_the_last() -> None:
    harness = LogHarness()
    filled(harness.open(FIVE), 12).close()
    harness.files.open(path(0), writable=True).pwrite(b"\xff" * 10, SIZE)

    log = harness.open(FIVE)

    assert log.report.recovered == []
    assert log.bounds.log_end == 12


@pytest.mark.parametrize("rest", (b"half a batch", bytes(100)))
def test_cleanly_closed_log_with_invalid_bytes_at_its_end_is_recovered(rest: bytes) -> None:
    harness = LogHarness()
    filled(harness.open(FIVE), 12).close()
    harness.files.open(path(10), writable=True).append(rest)

    log = harness.open(FIVE)
    lead(log, batch())

    assert log.report.recovered == [10]
    assert log.report.truncated_bytes == len(rest)
    assert found(log) == list(range(13))


def test_producers_are_loaded_from_the_snapshot_alone() -> None:
    harness = LogHarness()
    lead(harness.open(), produced(0), produced(1), produced(2))
    harness.open(is_clean=False).close()

    log = harness.open()

    assert [each.last_sequence for each in log.producers.producers[1].batches] == [2]


def test_log_without_snapshots_is_not_read_for_them_after_a_clean_stop() -> None:
    harness = LogHarness()
    log = harness.open(FIVE)
    lead(log, *(produced(sequence) for sequence in range(12)))
    log.close()
    remove(harness, ".snapshot")

    log = harness.open(FIVE)

    assert log.producers.is_empty
    assert len(harness.names("snapshot")) == 3


def test_log_is_recovered_when_there_is_no_space_for_snapshots() -> None:
    harness = LogHarness()
    filled(harness.open(FIVE), 9)
    harness.files.script.add(FileFault(on="append", path="*.snapshot", code=errno.ENOSPC, times=9))

    log = unclean(harness)

    assert log.bounds.log_end == 9
    assert "No space left" in str(log.report)


def test_damaged_snapshot_is_reported_and_an_older_one_is_used() -> None:
    harness = LogHarness()
    log = harness.open(FIVE)
    lead(log, *(produced(sequence) for sequence in range(7)))
    log.close()
    harness.files.open(path(7, ".snapshot"), writable=True).pwrite(b"\xff", 10)

    log = harness.open(FIVE)

    assert log.producers.producers[1].last_sequence == 6
    (warning,) = log.report.warnings
    assert warning.startswith(path(7, ".snapshot"))


@pytest.mark.parametrize(
    ("ending", "lie"), ((".index", b"\0\1\0\0\0\0\0\1"), (".timeindex", b"\1" + b"\0" * 11))
)
def test_wrong_last_index_entry_is_rebuilt_before_an_append(ending: str, lie: bytes) -> None:
    harness = LogHarness()
    timed(harness, 4, SMALL).close()
    indexes = files(harness, *INDEXES)
    file = harness.files.open(path(0, ending), writable=True)
    file.pwrite(lie, file.size - len(lie))

    log = harness.open()
    log.close()
    mended = files(harness, *INDEXES)
    filled(harness.open(), 2)

    assert log.report.recovered == [0]
    assert mended == indexes


# -- after an unclean shutdown


@pytest.mark.parametrize("recovery_point", (100, 10))
def test_recovery_of_a_whole_log_changes_no_files(recovery_point: int) -> None:
    harness = LogHarness()
    timed(harness, 100).close()
    before = files(harness, ".log", *INDEXES)

    log = unclean(harness, SPARSE, recovery_point=recovery_point)

    assert files(harness, ".log", *INDEXES) == before
    assert log.bounds.log_end == 100
    assert log.bounds.recovery_point == recovery_point
    log.flush()
    assert log.bounds.recovery_point == 100


@pytest.mark.parametrize("rubbish", (None, b"", b"rubbish" * 9))
def test_lost_or_invalid_indexes_are_rebuilt(rubbish: bytes | None) -> None:
    harness = LogHarness()
    timed(harness, 60).close()
    before = files(harness, *INDEXES)
    remove(harness, *INDEXES)
    for name in () if rubbish is None else before:
        harness.files.create(f"{DIRECTORY}/{name}").append(rubbish or b"")

    log = unclean(harness, SPARSE, high_watermark=60)

    assert files(harness, *INDEXES) == before
    for offset in range(60):
        assert offsets(read(log, offset, SIZE))[0] == (offset, offset)
        at = log.offset_for_timestamp(NOW + 10 * offset)
        assert at is not None
        assert at.offset == offset


def test_indexes_without_a_log_are_removed_and_empty_ones_grow_again() -> None:
    harness = LogHarness()
    filled(harness.open(), 3).close()
    for ending in INDEXES:
        harness.files.create(path(5, ending)).append(b"rubbish")
    harness.files.open(path(0, ".index"), writable=True).truncate(0)

    log = unclean(harness)
    lead(log, batch(), batch())

    assert log.report.cleaned_up == tuple(segment_name(Offset(5), ending) for ending in INDEXES)
    assert harness.names("index") == ["0.index", "0.timeindex"]
    assert len(harness.bytes_of(f"{0:020}.index")) == SMALL.segment_index_bytes


def test_stray_snapshot_is_removed_and_the_newest_stays() -> None:
    harness = LogHarness()
    log = harness.open()
    for sequence in range(4):
        lead(log, produced(sequence))
        if sequence < 2:
            log.roll()
    log.close()
    harness.files.create(path(3, ".snapshot"))

    log = unclean(harness)

    assert harness.names("snapshot") == ["1.snapshot", "2.snapshot", "4.snapshot"]
    assert log.producers.producers[1].last_sequence == 3


def test_snapshot_of_lost_records_stays_removed() -> None:
    harness = LogHarness()
    log = harness.open()
    lead(log, *(produced(sequence) for sequence in range(7)))
    log.close()
    harness.files.open(path(0), writable=True).truncate(3 * len(produced(0)))
    harness.files.open(path(0), writable=True).sync()

    unclean(harness)
    harness.files.crash()

    assert harness.names("snapshot") == ["3.snapshot"]


def test_log_that_ends_before_its_start_restarts_there() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 1, epoch=1)
    for _ in range(5):
        log.roll()
        filled(log, 1)
    harness.files.open(path(1), writable=True).pwrite(b"corruptRecord", 0)

    log = unclean(harness, log_start=4)

    assert bases(log) == [4]
    assert values(log) == (4, 4, 4, 0)
    assert harness.names() == ["4.log", "leader-epoch-checkpoint"]
    assert log.epochs.entries == ()
    for number in range(4, 9):
        assert lead(log, batch()).first_offset == number
        log.roll()
    assert harness.names("snapshot") == [f"{number}.snapshot" for number in range(5, 10)]


def test_empty_active_segment_gets_its_indexes() -> None:
    harness = LogHarness()
    log = filled(harness.open(FIVE), 10)
    log.roll()
    log.flush()
    before = harness.names("10.index")

    log = unclean(harness, recovery_point=10)

    assert before == []
    assert harness.names("10.index") == ["10.index"]
    assert values(log)[2:] == (10, 10)
    assert lead(log, batch()).first_offset == 10


def test_follower_starts_a_segment_with_a_snapshot_at_an_offset_jump() -> None:
    harness = LogHarness()
    far = INT32_MAX + 2
    log = harness.open()
    for offset in (0, far, far + 1, far + 2):
        follow(log, batch(at=offset))

    log = unclean(harness)

    assert bases(log) == [0, far]
    assert f"{far}.snapshot" in harness.names()
    assert log.bounds.log_end == far + 3


def test_transaction_that_is_open_is_unstable_again() -> None:
    harness = LogHarness()
    lead(harness.open(), batch(), produced(0, is_transactional=True), batch())

    log = unclean(harness, high_watermark=3)

    assert log.bounds.last_stable == 1


def test_transaction_below_the_high_watermark_is_stable_again() -> None:
    harness = LogHarness()
    follow(harness.open(), produced(0, is_transactional=True), marker(at=1))

    assert unclean(harness, high_watermark=2).bounds.last_stable == 2
    assert unclean(harness, high_watermark=1).bounds.last_stable == 0


def test_deleted_records_keep_their_producers() -> None:
    harness = LogHarness()
    lead(harness.open(), produced(0, producer=(1, 0)), produced(0, producer=(2, 0)))

    log = unclean(harness, log_start=1)

    assert list(log.producers.producers) == [1, 2]


def test_producers_of_deleted_segments_are_not_restored() -> None:
    harness = LogHarness()
    log = harness.open()
    lead(log, produced(0, producer=(1, 0)))
    log.roll()
    lead(log, produced(0, producer=(2, 0)))
    remove(harness, f"{0:020}.log")

    log = unclean(harness, log_start=1)

    assert list(log.producers.producers) == [2]


def test_damage_in_a_range_read_only_for_producers_is_reported() -> None:
    harness = LogHarness()
    log = harness.open(FIVE)
    lead(log, *(produced(sequence) for sequence in range(12)))
    log.close()
    remove(harness, ".snapshot")
    harness.files.open(path(0), writable=True).pwrite(bytes(20), 2 * len(produced(0)))

    log = unclean(harness, recovery_point=11)

    assert log.producers.producers[1].last_sequence == 11
    (warning,) = log.report.warnings
    assert "the producer state lacks the batches after it" in warning


@pytest.mark.parametrize("order", ((1, 0), (0, 0), (1, 1, 0)))
def test_clean_start_rebuilds_a_transaction_index_out_of_order(order: tuple[int, ...]) -> None:
    """A binary search in such an index leaves out aborted transactions."""
    harness = LogHarness()
    log = harness.open()
    follow(
        log,
        produced(0, 2, is_transactional=True),
        marker(at=2),
        produced(0, 2, producer=(2, 0), at=3, is_transactional=True),
        marker(producer=(2, 0), at=5),
    )
    log.roll()
    log.close()
    right = harness.bytes_of(f"{0:020}.txnindex")
    file = harness.files.open(path(0, ".txnindex"), writable=True)
    file.truncate(0)
    file.append(b"".join(right[34 * number :][:34] for number in order))

    again = harness.open(is_clean=True, recovery_point=6, high_watermark=6)

    found = read(again, 0, isolation=FetchIsolation.TXN_COMMITTED).aborted
    assert found is not None
    assert [each.producer_id for each in found] == [1, 2]
    assert harness.bytes_of(f"{0:020}.txnindex") == right
