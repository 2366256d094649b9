"""The cases that the oracle of salvage accepts because the bytes do not decide them."""

import struct
from dataclasses import replace

import pytest

from tests.adversary.damages import DamagedLog, damaged
from tests.adversary.other_histories import (
    has_aborted,
    has_ended,
    has_other_history,
    zeroed_aborts,
)
from tests.adversary.random_logs import fill, random_log
from tests.adversary.salvage_oracle import violations

#: A log whose batch at 11 is committed by the only batch of its last segment, at 15.
COMMITTED, ELEVEN, INDEX = 119_858, 3, f"{15:020}.txnindex"

#: A log with cleaned messages of v1 at the offsets 3, 4 and 7 and a batch at 30; it ends at 51.
SEED, SEVEN = 2123, 2


def moved(offset: int, *, cleaned_to: int = 34) -> DamagedLog:
    """Return the log after the message at offset 7 got another offset."""
    log = replace(random_log(SEED), cleaned_to=cleaned_to)
    batch = log.batches[SEVEN]
    damage = damaged(log, 1, kinds=("lost checkpoints",))
    damage.beside = dict(log.beside)
    damage.overwrite(batch.file, batch.position, offset.to_bytes(8))
    return damage


def test_old_message_has_another_history_between_its_neighbours() -> None:
    found = [offset for offset in range(40) if has_other_history(moved(offset), SEVEN)]

    assert found == [5, 6, *range(8, 30)]


def test_old_message_has_no_other_history_above_the_cleaned_offsets() -> None:
    assert not has_other_history(moved(6, cleaned_to=6), SEVEN)


def test_old_message_with_another_change_has_no_other_history() -> None:
    damage = moved(6)
    batch = damage.source.batches[SEVEN]
    damage.overwrite(batch.file, batch.end - 1, b"\0")

    assert not has_other_history(damage, SEVEN)


def test_old_message_whose_offset_is_in_an_index_has_no_other_history() -> None:
    """The last message of a segment is also the one of its last time."""
    log = random_log(SEED)
    del log.segments[0].batches[SEVEN + 1 :]
    log.files, log.records, log.batches = {}, [], []
    fill(log, log.segments)
    damage = DamagedLog(log, dict(log.files), dict(log.beside))
    batch = log.batches[SEVEN]
    damage.overwrite(batch.file, batch.position, (6).to_bytes(8))

    assert not has_other_history(damage, SEVEN)


def test_other_history_leaves_the_bytes_that_the_salvage_gets() -> None:
    """The salvage of both logs is the same, so it is right for one of them at most."""
    damage = moved(5)

    assert violations(damage.source, damage) == []


#: A log whose first batch is cleaned: it has the offsets 3 to 5 of a segment from 0 on.
FIRST = 11_755


def of_producer(offset: int, *, has_snapshot: bool = True) -> DamagedLog:
    """Return the log with a producer in its first batch, which got another offset."""
    log = random_log(FIRST)
    for planned in (log.plan[1], log.segments[0].batches[0]):
        planned.producer = (300, 0, 0)
    log.files, log.records, log.batches = {}, [], []
    fill(log, log.segments)
    damage = DamagedLog(log, dict(log.files), dict(log.beside))
    damage.overwrite(log.batches[0].file, 0, offset.to_bytes(8))
    for name in log.files:
        if name.endswith(".snapshot") and not has_snapshot:
            damage.remove(name)
    return damage


def test_batch_of_a_cleaned_log_has_another_history_between_its_neighbours() -> None:
    log = random_log(FIRST)
    damages = [DamagedLog(log, dict(log.files), dict(log.beside)) for _ in range(6)]
    for offset, damage in enumerate(damages):
        damage.overwrite(log.batches[0].file, 0, offset.to_bytes(8))

    assert [has_other_history(each, 0) for each in damages] == [True] * 3 + [False] * 3
    assert [violations(log, each) for each in damages[:3]] == [[]] * 3


def test_batch_whose_offset_is_in_a_snapshot_has_no_other_history() -> None:
    assert not has_other_history(of_producer(2), 0)
    assert has_other_history(of_producer(2, has_snapshot=False), 0)


def shortened(*kept: str) -> DamagedLog:
    """Return a log that has lost its last segment, all snapshots and its log directory."""
    log = random_log(122_982)
    damage = DamagedLog(log, dict(log.files), {})
    for name in log.files:
        if (name.startswith(f"{42:020}") or "snapshot" in name) and name not in kept:
            damage.remove(name)
    return damage


def test_log_without_any_trace_of_its_last_segment_may_have_ended_before_it() -> None:
    damage = shortened()

    assert has_ended(damage, f"{42:020}.log")
    assert not has_ended(damage, f"{27:020}.log")
    assert violations(damage.source, damage) == []


def test_log_with_a_trace_of_its_last_segment_has_not_ended_before_it() -> None:
    for kept in (f"{42:020}.index", f"{49:020}.snapshot"):
        assert not has_ended(shortened(kept), f"{42:020}.log")

    damage = shortened()
    damage.beside = dict(damage.source.beside)
    assert not has_ended(damage, f"{42:020}.log")


def indexed(*entry: int, zeros: int = 78) -> DamagedLog:
    """Return a log whose last marker begins with zeros, and has an entry of an abort."""
    log = random_log(COMMITTED)
    damage = DamagedLog(log, dict(log.files), dict(log.beside))
    damage.overwrite(f"{15:020}.log", 0, bytes(zeros))
    damage.files[INDEX] = struct.pack(">hqqqq", 0, *entry)
    return damage


def test_zeroed_marker_with_the_entry_of_an_abort_may_have_been_one() -> None:
    damage = indexed(200, 11, 15, 16)

    assert [has_aborted(damage, at) for at in range(len(damage.source.batches))] == [
        at == ELEVEN for at in range(len(damage.source.batches))
    ]
    assert violations(damage.source, damage) == []


@pytest.mark.parametrize(
    "entry", ((201, 11, 15, 16), (200, 10, 15, 16), (200, 11, 14, 16), (200, 11, 15, 11))
)
def test_zeroed_marker_with_another_entry_was_no_abort(entry: tuple[int, ...]) -> None:
    assert not has_aborted(indexed(*entry), ELEVEN)


def test_marker_of_which_the_type_or_the_checksum_is_left_was_no_abort() -> None:
    """The byte at 69 is the type."""
    assert has_aborted(indexed(200, 11, 15, 16, zeros=70), ELEVEN)
    assert not has_aborted(indexed(200, 11, 15, 16, zeros=69), ELEVEN)
    assert not has_aborted(indexed(200, 11, 15, 16, zeros=0), ELEVEN)
    with_checksum = indexed(200, 11, 15, 16, zeros=0)
    with_checksum.overwrite(f"{15:020}.log", 21, bytes(57))
    assert not has_aborted(with_checksum, ELEVEN)


def test_zeroed_marker_without_an_entry_was_no_abort() -> None:
    damage = indexed(200, 11, 15, 16)
    del damage.files[INDEX]

    assert not has_aborted(damage, ELEVEN)


#: A log whose records at 2 and at 3 to 5 are committed by the marker at 6.
ZEROED = 331_600


def zeroed(end: int) -> DamagedLog:
    """Return the log with a false abort at 5, and zeros up to a position of the file from 3 on."""
    log = random_log(ZEROED)
    damage = DamagedLog(log, dict(log.files), dict(log.beside))
    damage.files[f"{3:020}.txnindex"] = struct.pack(">hqqqq", 0, 200, 2, 5, 6)
    damage.overwrite(f"{3:020}.log", 0, bytes(end))
    return damage


def test_abort_may_have_been_among_batches_of_which_nothing_is_left() -> None:
    """The marker ends at 268."""
    assert [each.last_offset for each in zeroed_aborts(zeroed(268))] == [5]
    assert violations(random_log(ZEROED), zeroed(268)) == []


@pytest.mark.parametrize("end", (0, 60, 190, 250))
def test_abort_was_not_among_batches_of_which_something_is_left(end: int) -> None:
    assert list(zeroed_aborts(zeroed(end))) == []
