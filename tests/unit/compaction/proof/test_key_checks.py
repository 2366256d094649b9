"""Verification of keys: records that may survive, and records that may be removed."""

import pytest

from cordwood.compaction.proof.key_checks import (
    ENTRY_BYTES,
    TWICE,
    KeyScope,
    KeysFullError,
    LostRecord,
    PlainKeyCheck,
)

LATER = "a record survives although a later one of its key survives, too"
OLDER = "the last record of a key was removed, and an older one survives"
LOST = "the last record of a key was removed"
EARLY = "a tombstone was removed before its horizon"


def keys(
    *left: int,
    first_dirty: int = 0,
    erased: tuple[bytes, ...] = (),
    is_sample: bool = False,
    log_start: int = 0,
) -> PlainKeyCheck:
    """Return a key check with surviving records of the key `k` at these offsets."""
    known = PlainKeyCheck(
        KeyScope(is_sample=is_sample),
        first_dirty=first_dirty,
        erased=erased,
        memory_bytes=1 << 20,
        log_start=log_start,
    )
    for offset in left:
        known.learn(b"k", offset)
    return known


def gone(known: PlainKeyCheck, offset: int, kind: str = "value") -> str | None:
    """Add a removed record: a value, a tombstone, or an expired tombstone."""
    is_tombstone, is_expired = kind != "value", kind == "expired"
    return known.see_gone(b"k", offset, is_tombstone=is_tombstone, is_expired=is_expired)


def test_record_may_be_removed_when_a_later_one_survives() -> None:
    known = keys(5)

    assert gone(known, 3) is None
    assert known.see_left(b"k", 5) is None
    assert (known.superseded, list(known.lost())) == (1, [])


def test_surviving_record_is_a_violation_when_a_later_one_survives() -> None:
    assert keys(3, 5).see_left(b"k", 3) == LATER


def test_two_clean_records_of_a_key_are_a_violation_unless_a_sample_is_checked() -> None:
    assert keys(3, 5, first_dirty=6).see_left(b"k", 3) == TWICE
    assert keys(3, 5, first_dirty=6, is_sample=True).see_left(b"k", 3) is None


def test_records_below_the_log_start_do_not_matter() -> None:
    assert keys(3, 5, first_dirty=6, log_start=4).see_left(b"k", 3) is None


def test_clean_record_may_not_be_removed_for_a_later_clean_record() -> None:
    assert gone(keys(5, first_dirty=6), 3) == LOST


def test_the_last_record_of_a_key_is_missed() -> None:
    known = keys()

    assert gone(known, 3) is None
    assert list(known.lost()) == [LostRecord(3, LOST)]


def test_removed_last_record_is_a_violation_when_an_older_one_survives() -> None:
    assert gone(keys(3), 5) == OLDER


def test_a_tombstone_is_missed_before_its_time() -> None:
    known = keys()

    gone(known, 3, "tombstone")

    assert list(known.lost()) == [LostRecord(3, EARLY)]


def test_tombstone_and_all_earlier_records_may_be_removed_after_the_horizon() -> None:
    known = keys()

    wrong = [gone(known, 1), gone(known, 2, "expired"), gone(known, 3, "expired")]

    assert wrong == [None, None, None]
    assert (known.superseded, known.tombstones, list(known.lost())) == (2, 1, [])


def test_surviving_older_record_of_a_removed_tombstone_is_a_violation() -> None:
    assert gone(keys(3), 5, "expired") == OLDER


def test_removed_clean_tombstone_does_not_explain_removed_records() -> None:
    known = keys(first_dirty=6)

    gone(known, 1)
    gone(known, 2, "expired")

    assert (known.tombstones, list(known.lost())) == (1, [LostRecord(1, LOST)])


def test_clean_tombstone_may_be_removed_while_a_clean_record_survives() -> None:
    assert gone(keys(1, first_dirty=6), 2, "expired") is None


def test_a_record_after_a_tombstone_is_missed() -> None:
    known = keys()

    gone(known, 1, "expired")
    gone(known, 2)

    assert (known.tombstones, list(known.lost())) == (0, [LostRecord(2, LOST)])


def test_an_erased_key_may_not_be_left() -> None:
    known = keys(3, erased=(b"k",))

    assert known.see_left(b"k", 3) == "a record of an erased key survives"


def test_erased_key_may_be_removed() -> None:
    known = keys(erased=(b"k",))

    assert gone(known, 3) is None
    assert (known.superseded, known.dirty_keys, list(known.lost())) == (1, 0, [])


def test_keys_are_counted_that_dirty_records_have() -> None:
    known = keys(3, 7, first_dirty=5)
    known.learn(b"other", 2)
    known.see_left(b"other", 2)

    known.see_left(b"k", 7)

    assert known.dirty_keys == 1


def test_key_check_is_full_at_the_memory_limit() -> None:
    known = PlainKeyCheck(KeyScope(), first_dirty=0, erased=(), memory_bytes=2 * ENTRY_BYTES)
    known.learn(b"k", 1)

    with pytest.raises(KeysFullError):
        known.learn(b"l", 2)


def test_one_key_fits_into_any_memory() -> None:
    known = PlainKeyCheck(KeyScope(), first_dirty=0, erased=(), memory_bytes=1)

    known.learn(b"k", 1)

    assert known.see_left(b"k", 1) is None


def test_an_erased_key_of_another_class_is_not_held() -> None:
    sides = KeyScope(seed=3).halves()

    entries = [
        PlainKeyCheck(side, first_dirty=0, erased=(b"k",), memory_bytes=1 << 20).see_left(b"k", 1)
        for side in sides
    ]

    assert entries.count(None) == 1


def test_each_key_is_in_exactly_one_half_of_a_scope() -> None:
    halves = [quarter for half in KeyScope(seed=5).halves() for quarter in half.halves()]

    held = [sum(half.holds(str(key).encode()) for half in halves) for key in range(100)]

    assert held == [1] * 100
    assert {half.words for half in halves} == {"all keys"}
    assert KeyScope(5, is_sample=True).halves()[1].words == "a sample of the keys, seed 5"
