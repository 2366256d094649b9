"""Leader epochs are assigned, looked up and truncated."""

import pytest

from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.checkpoints.leader_epoch_cache import (
    UNKNOWN_END,
    EpochEntry,
    LeaderEpochCache,
)

Pairs = tuple[tuple[int, int], ...]

THREE: Pairs = ((2, 6), (3, 8), (4, 11))
NONE: Pairs = ()


def epochs(*pairs: tuple[int, int]) -> LeaderEpochCache:
    return LeaderEpochCache(EpochEntry(LeaderEpoch(epoch), Offset(start)) for epoch, start in pairs)


@pytest.mark.parametrize(
    ("pairs", "kept"),
    (
        (((2, 10),), ((2, 10),)),
        (((2, 9), (2, 10)), ((2, 9),)),
        (((2, 9), (3, 9)), ((3, 9),)),
        (((2, 6), (3, 5)), ((3, 5),)),
        (((1, 5), (2, 6), (1, 7)), ((1, 7),)),
        (((5, 11), (6, 12), (7, 13), (7, 12)), ((5, 11), (7, 12))),
        (((0, 0), (1, 0)), ((1, 0),)),
    ),
)
def test_assigned_entry_removes_contradicting_entries(pairs: Pairs, kept: Pairs) -> None:
    assert epochs(*pairs).entries == kept


def test_assign_returns_whether_the_entries_changed() -> None:
    known = epochs((2, 6))

    assert known.assign(LeaderEpoch(2), Offset(7)) is False
    assert known.assign(LeaderEpoch(2), Offset(5)) is True
    assert known.assign(LeaderEpoch(3), Offset(9)) is True


@pytest.mark.parametrize(("epoch", "start"), ((-1, 0), (0, -1)))
def test_assign_rejects_negative_epochs_and_offsets(epoch: int, start: int) -> None:
    with pytest.raises(ValueError, match="both must be at least 0"):
        epochs((epoch, start))


@pytest.mark.parametrize(
    ("pairs", "epoch", "end"),
    (
        (((0, 10), (2, 13), (4, 17)), 1, (0, 13)),
        (((0, 10), (2, 13), (4, 17)), 2, (2, 17)),
        (((0, 10), (2, 13), (4, 17)), 3, (2, 17)),
        (((0, 10), (2, 13), (4, 17)), 4, (4, 99)),
        (((5, 11), (6, 12), (7, 13)), 4, (4, 11)),
        (((5, 11), (6, 12), (7, 13), (7, 12)), 5, (5, 12)),
        (((5, 11), (6, 12), (7, 13), (7, 12)), 6, (5, 12)),
        (((0, 0), (1, 0)), 0, (0, 0)),
        (((1, 11), (1, 12), (2, 13), (2, 14), (3, 15), (3, 16)), 2, (2, 15)),
        (((2, 6),), 2, (2, 99)),
        (((2, 6),), 3, UNKNOWN_END),
        (((2, 6),), -1, UNKNOWN_END),
        (NONE, 0, UNKNOWN_END),
        (NONE, -1, UNKNOWN_END),
    ),
)
def test_epoch_ends_where_the_next_one_begins(
    pairs: Pairs, epoch: int, end: tuple[int, int]
) -> None:
    assert epochs(*pairs).end_offset_for(LeaderEpoch(epoch), Offset(99)) == end


@pytest.mark.parametrize(
    ("offset", "epoch"), ((5, None), (10, 0), (20, 1), (25, 1), (30, 5), (50, 5))
)
def test_offset_was_written_in_the_epoch_that_began_before_it(
    offset: int, epoch: int | None
) -> None:
    assert epochs((0, 10), (1, 20), (5, 30)).epoch_for(Offset(offset)) == epoch


def test_first_and_last_entry_are_none_without_entries() -> None:
    assert epochs().earliest is None
    assert epochs().latest is None
    assert epochs(*THREE).earliest == (2, 6)
    assert epochs(*THREE).latest == (4, 11)


@pytest.mark.parametrize(
    ("pairs", "offset", "kept"),
    (
        (THREE, 8, ((3, 8), (4, 11))),
        (THREE, 9, ((3, 9), (4, 11))),
        (THREE, 11, ((4, 11),)),
        (THREE, 15, ((4, 15),)),
        (THREE, 1, THREE),
        (THREE, 6, THREE),
        (THREE, -1, THREE),
        (((0, 0), (1, 7), (2, 10)), 5, ((0, 5), (1, 7), (2, 10))),
        (((0, 0), (1, 5), (2, 10)), 5, ((1, 5), (2, 10))),
        (NONE, 7, NONE),
    ),
)
def test_truncation_from_the_start_keeps_the_epoch_of_the_offset(
    pairs: Pairs, offset: int, kept: Pairs
) -> None:
    known = epochs(*pairs)

    is_changed = known.truncate_from_start(Offset(offset))

    assert known.entries == kept
    assert is_changed == (kept != pairs)


@pytest.mark.parametrize(
    ("pairs", "offset", "kept"),
    (
        (THREE, 9, ((2, 6), (3, 8))),
        (THREE, 8, ((2, 6),)),
        (THREE, 6, NONE),
        (THREE, 12, THREE),
        (THREE, -1, THREE),
        (((0, 0), (1, 10), (2, 16)), 20, ((0, 0), (1, 10), (2, 16))),
        (((0, 0), (1, 10), (2, 16)), 11, ((0, 0), (1, 10))),
        (((0, 0), (1, 10), (2, 16)), 10, ((0, 0),)),
        (((0, 0), (1, 10), (2, 16)), 0, NONE),
        (((0, 0), (1, 20)), 20, ((0, 0),)),
        (NONE, 7, NONE),
    ),
)
def test_truncation_from_the_end_removes_the_epochs_from_the_offset_on(
    pairs: Pairs, offset: int, kept: Pairs
) -> None:
    known = epochs(*pairs)

    is_changed = known.truncate_from_end(Offset(offset))

    assert known.entries == kept
    assert is_changed == (kept != pairs)


def test_clear_removes_all_epochs() -> None:
    known = epochs(*THREE)

    assert known.clear()
    assert not known.clear()
    assert known.entries == ()
