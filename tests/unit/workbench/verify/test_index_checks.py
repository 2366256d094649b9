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


def indexed(*, index: bytes = b"", timeindex: bytes = b"", is_last: bool = False) -> MemoryFiles:
    """Return five batches of four records in a segment with these indexes."""
    files = directory(log=LOG, index=index, timeindex=timeindex)
    if not is_last:
        put(files, name(20), v2(20))
    return files


def test_correct_entries_have_no_findings() -> None:
    files = indexed(
        index=offsets(0, (7, SIZE), (15, 3 * SIZE)), timeindex=times(0, (1001, 7), (1003, 15))
    )

    assert verified(files).findings == ()


@pytest.mark.parametrize("is_last", (False, True))
def test_preallocated_zeros_are_not_entries(*, is_last: bool) -> None:
    zeros = indexed(index=bytes(80), timeindex=bytes(120), is_last=is_last)
    grown = indexed(
        index=offsets(0, (7, SIZE)) + bytes(80),
        timeindex=times(0, (1001, 7)) + bytes(120),
        is_last=is_last,
    )

    assert (verified(zeros).findings, verified(grown).findings) == ((), ())


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


def test_time_of_an_offset_that_is_missing_is_damage() -> None:
    log = v2(0, timestamp=1000) + v2(5, timestamp=2000)
    files = directory(log=log, timeindex=times(0, (2000, 3)), log_6=v2(6))

    assert damages(files)[0] == (".timeindex", "an entry has an offset that is in no batch")


def test_time_entry_may_name_the_record_itself() -> None:
    assert verified(indexed(timeindex=times(0, (1001, 5)))).findings == ()


def test_entries_that_do_not_increase_are_damage() -> None:
    index = offsets(0, (11, 2 * SIZE)) + offsets(0, (7, SIZE), (15, 3 * SIZE))

    (found,) = verified(indexed(index=index)).findings

    assert (found.cause, found.position) == ("an entry does not ascend", 8)


def test_entries_left_by_a_truncation_of_the_active_segment_are_a_note() -> None:
    index = offsets(0, (7, SIZE), (15, 3 * SIZE)) + offsets(0, (9, SIZE + 7), (90, 9 * SIZE))

    found = verified(indexed(index=index, is_last=True))

    assert (found.is_damaged, found.findings[0].position) == (False, 16)


def test_wrong_entry_before_correct_ones_is_damage_in_the_active_segment_too() -> None:
    files = indexed(index=offsets(0, (6, SIZE), (15, 3 * SIZE)), is_last=True)

    assert len(damages(files)) == 1


def test_part_of_an_entry_is_damage() -> None:
    files = indexed(index=offsets(0, (7, SIZE)) + b"\1\2\3", timeindex=times(0, (1001, 7)))

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
