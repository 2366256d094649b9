"""A consumer's positions."""

import pytest

from cordwood.client.places import partitions_of
from cordwood.client.positions import Assignment
from cordwood.client.record_set import RecordSet
from cordwood.core.errors import InvalidRequestError, UnknownServerError
from cordwood.records.builder import BatchBuilder, BatchFields

A, B, C = partitions_of([("a", 0), ("b", 0), ("c", 0)])


def fetched(offset: int) -> RecordSet:
    builder = BatchBuilder(BatchFields(base_offset=offset, partition_leader_epoch=4))
    builder.append(b"k", b"v")
    return RecordSet(partition=A, data=builder.build(), offset=offset)


def assignment() -> Assignment:
    made = Assignment()
    made.assign([A, B])
    return made


def test_what_was_read_ahead_moves_the_next_fetch() -> None:
    position = assignment()[A]
    position.seek(5)

    position.take(fetched(5))

    assert (position.offset, position.fetch_offset, position.last_epoch) == (5, 6, 4)
    assert position.has_room
    position.take(fetched(6))
    assert not position.has_room


def test_seek_forgets_what_was_read_ahead() -> None:
    position = assignment()[A]
    position.seek(5)
    position.take(fetched(5))
    before = position.generation

    position.seek(0)

    assert (position.fetch_offset, len(position.fetched)) == (0, 0)
    assert position.generation > before


def test_assigned_again_goes_on_where_it_was() -> None:
    made = assignment()
    made[A].seek(5)

    made.assign([A, C])

    assert made[A].offset == 5
    assert made[C].offset is None
    assert len(made) == 2


def test_partition_that_is_not_assigned_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="c-0 is not assigned"):
        assignment()[C]


def test_partitions_take_turns() -> None:
    made = assignment()
    for position in made:
        position.seek(0)
        position.take(fetched(0))

    turns = [made.next_fetched() for _ in range(3)]

    assert [turn.partition for turn in turns if turn] == [A, B, A]


def test_paused_partition_has_no_turn() -> None:
    made = assignment()
    made[A].problem = UnknownServerError()
    made[A].is_paused = True

    assert made.next_fetched() is None


def test_old_position_is_not_in_a_new_assignment() -> None:
    made = assignment()
    old = made[A]

    made.assign([B])

    assert old not in made
    assert made[B] in made
