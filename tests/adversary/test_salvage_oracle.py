"""The cases that the oracle of salvage accepts because the bytes do not decide them."""

from dataclasses import replace

from tests.adversary.damages import DamagedLog, damaged
from tests.adversary.random_logs import fill, random_log
from tests.adversary.salvage_oracle import has_ended, has_other_history, violations

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
