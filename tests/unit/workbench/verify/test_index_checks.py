"""Indexes are compared with the log: wrong entries, and unusual correct ones."""

import pytest

from cordwood.records.compression import Codec
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.records.segments import legacy
from tests.unit.storage.reader_samples import directory, got, harm, name, put
from tests.unit.storage.reader_samples import offset_entries as offsets
from tests.unit.storage.reader_samples import time_entries as times
from tests.unit.storage.segment_samples import message, v2
from tests.unit.workbench.verified import damages, healthy, verified

SIZE = len(v2(0, 3))
LOG = b"".join(v2(4 * at, 4 * at + 3, timestamp=1000 + at) for at in range(5))


#: The last entry of a closed segment's time index.
LATEST = (1004, 19)


def indexed(
    *, index: bytes = b"", timeindex: bytes = times(0, LATEST), is_last: bool = False
) -> MemoryFiles:
    """Return five batches of four records in a segment with these indexes."""
    files = directory(log=LOG, index=index, timeindex=timeindex)
    if not is_last:
        put(files, name(20), v2(20))
    return files


def test_correct_entries_have_no_findings() -> None:
    files = indexed(
        index=offsets(0, (7, SIZE), (15, 3 * SIZE)), timeindex=times(0, (1001, 7), LATEST)
    )

    assert verified(files).findings == ()


@pytest.mark.parametrize("is_last", (False, True))
def test_preallocated_zeros_are_not_entries(*, is_last: bool) -> None:
    grown = indexed(
        index=offsets(0, (7, SIZE)) + bytes(80),
        timeindex=times(0, LATEST) + bytes(120),
        is_last=is_last,
    )

    assert verified(grown).findings == ()


def test_preallocated_zeros_of_the_active_segment_are_not_entries() -> None:
    assert verified(indexed(index=bytes(80), timeindex=bytes(120), is_last=True)).findings == ()


@pytest.mark.parametrize(
    ("entries", "words"),
    (
        (((7, SIZE + 1), (11, 2 * SIZE)), "points into the middle of a batch"),
        (((2, SIZE), (11, 2 * SIZE)), "has an offset before its batch"),
        (((6, SIZE), (11, 2 * SIZE)), "has an offset that is not the last of a batch"),
        (((7, SIZE), (90, 9 * SIZE)), "is behind the end of the log"),
    ),
)
def test_wrong_offset_entry_is_damage(entries: tuple[tuple[int, int], ...], words: str) -> None:
    assert damages(indexed(index=offsets(0, *entries))) == [(".index", f"an entry {words}")]


def test_one_entry_for_several_batches_is_correct() -> None:
    files = indexed(index=offsets(0, (11, SIZE), (19, 3 * SIZE)))

    assert verified(files).findings == ()


def test_entry_of_a_whole_set_may_end_in_another_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cordwood.workbench.segment_walk.WINDOW_BYTES", SIZE)

    assert verified(indexed(index=offsets(0, (11, SIZE)))).findings == ()
    assert damages(indexed(index=offsets(0, (90, SIZE))))[0][0] == ".index"


def test_old_entry_may_name_any_offset_inside_its_wrapper() -> None:
    files = directory(log=message(0) + message(1), index=offsets(0, (1, len(message(0)))))

    assert verified(files).findings == ()


@pytest.mark.parametrize(
    ("entries", "words"),
    (
        (((999, 7), (1002, 11)), "has a different timestamp than its batch"),
        (((1000, 3), (1001, 99)), "is behind the end of the log"),
    ),
)
def test_wrong_time_entry_is_damage(entries: tuple[tuple[int, int], ...], words: str) -> None:
    found = damages(indexed(timeindex=times(0, *entries)))

    assert found == [(".timeindex", f"an entry {words}")]


def test_timestamp_below_that_of_an_earlier_batch_is_damage() -> None:
    log = v2(0, timestamp=2000) + v2(1, timestamp=1000) + v2(2, timestamp=3000)
    files = directory(log=log, timeindex=times(0, (1000, 1), (3000, 2)), log_3=v2(3))

    found = damages(files)

    assert found == [(".timeindex", "an entry has an earlier timestamp than a batch before it")]


@pytest.mark.parametrize("window", (1 << 20, 90))
def test_time_entry_of_a_later_batch_with_the_same_time_is_damage(
    window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cordwood.workbench.segment_walk.WINDOW_BYTES", window)
    log = v2(0, timestamp=1000) + v2(1, timestamp=1000) + v2(2, timestamp=900)

    found = [
        damages(directory(log=log, timeindex=times(0, (1000, offset)), log_3=v2(3)))
        for offset in range(3)
    ]

    same, lower = ("same timestamp as a batch", "different timestamp than its")
    assert found[0] == []
    assert found[1] == [(".timeindex", f"an entry has the {same} before it")]
    assert found[2] == [(".timeindex", f"an entry has a {lower} batch")]


def test_time_entry_of_a_later_old_message_with_the_same_time_is_correct() -> None:
    log = message(0) + message(1)

    assert damages(directory(log=log, timeindex=times(0, (1000, 1)), log_2=message(2))) == []


def test_time_of_an_offset_that_is_missing_is_damage() -> None:
    log = v2(0, timestamp=1000) + v2(5, timestamp=2000)
    files = directory(log=log, timeindex=times(0, (2000, 3)), log_6=v2(6))

    assert damages(files)[0] == (".timeindex", "an entry has an offset that is in no batch")


def test_time_entry_may_name_the_record_itself() -> None:
    assert verified(indexed(timeindex=times(0, (1001, 5), LATEST))).findings == ()


def test_entries_that_do_not_increase_are_damage() -> None:
    index = offsets(0, (11, 2 * SIZE)) + offsets(0, (7, SIZE), (15, 3 * SIZE))

    (found,) = verified(indexed(index=index)).findings

    assert (found.cause, found.position) == ("an entry does not ascend", 8)


@pytest.mark.parametrize("is_crashed", (True, False))
def test_wrong_entries_at_the_end_of_the_active_segment_are_a_note_after_a_crash(
    *, is_crashed: bool
) -> None:
    index = offsets(0, (7, SIZE), (15, 3 * SIZE)) + offsets(0, (9, SIZE + 7), (90, 9 * SIZE))
    files = indexed(index=index, is_last=True)
    if is_crashed:
        files.create("/d/recovery-point-offset-checkpoint").append(b"0\n1\nt 0 0\n")

    found = verified(files)

    assert (found.is_damaged, found.findings[0].position) == (not is_crashed, 16)


@pytest.mark.parametrize(
    ("entries", "words"),
    (
        (((1001, 7), (1003, 15)), "the last entry is not the latest time"),
        ((), "there are no entries"),
    ),
)
def test_time_index_of_a_closed_segment_ends_with_the_latest_time(
    entries: tuple[tuple[int, int], ...], words: str
) -> None:
    assert damages(indexed(timeindex=times(0, *entries))) == [(".timeindex", words)]


@pytest.mark.parametrize("stop", (None, ".kafka_cleanshutdown"))
def test_time_index_of_the_active_segment_ends_with_the_latest_time_after_a_clean_stop(
    stop: str | None,
) -> None:
    files = indexed(timeindex=times(0, (1001, 7)), is_last=True)
    if stop is not None:
        files.create(f"/d/{stop}")

    assert len(damages(files)) == (stop is not None)


def test_time_index_that_a_broker_rebuilds_may_lag() -> None:
    lagging = indexed(timeindex=times(0, (1001, 7)))
    lagging.create("/d/recovery-point-offset-checkpoint").append(b"0\n1\nt 0 19\n")
    unindexed = directory(log=LOG, log_20=v2(20))

    assert (damages(lagging), damages(unindexed)) == ([], [])


def test_missing_time_index_is_damage_where_no_broker_rebuilds_it() -> None:
    files = directory(log=LOG, index=offsets(0, (7, SIZE)), log_20=v2(20))

    assert damages(files) == [(".timeindex", "there are no entries")]


def test_log_from_before_time_indexes_has_none() -> None:
    files = directory(log=message(0) + message(1), index=b"", timeindex=b"", log_2=message(2))

    assert damages(files) == []


def test_wrong_entry_before_correct_ones_is_damage_in_the_active_segment_too() -> None:
    files = indexed(index=offsets(0, (6, SIZE), (15, 3 * SIZE)), is_last=True)

    assert len(damages(files)) == 1


def test_part_of_an_entry_is_damage() -> None:
    files = indexed(index=offsets(0, (7, SIZE)) + b"\1\2\3")

    (found,) = verified(files).findings

    assert (found.cause, found.position, found.found) == ("an incomplete entry at the end", 8, 11)


def test_zeros_amid_entries_are_damage() -> None:
    index = offsets(0, (7, SIZE)) + bytes(8) + offsets(0, (15, 3 * SIZE)) + bytes(8)

    assert damages(indexed(index=index)) == [(".index", "zeros between entries")]


def test_entries_of_a_damaged_batch_are_skipped() -> None:
    files = indexed(index=offsets(0, (7, SIZE), (15, 3 * SIZE)), timeindex=times(0, (1001, 7)))
    harm(files, name(0), SIZE + 70)

    assert damages(files) == [(".log", "the checksum is wrong")]


def test_every_flipped_entry_of_a_healthy_log_is_found() -> None:
    for ending in ("index", "timeindex"):
        files = healthy()
        whole = name(17, f".{ending}")
        harm(files, whole, 7, bytes([got(files, whole)[7] ^ 4]))
        assert [path for path, _ in damages(files)] == [f"17.{ending}"]


def test_entry_inside_a_wrapper_is_correct() -> None:
    wrapper = legacy(1, b"a", b"b", b"c", base_offset=1, codec=Codec.GZIP)
    files = directory(log=message(0) + wrapper, index=offsets(0, (2, len(message(0)))))

    assert verified(files).findings == ()


def test_entries_are_unpacked_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cordwood.workbench.verify.index_checks._ENTRIES", 2)

    assert damages(healthy()) == []
