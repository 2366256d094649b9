"""Positions of a consumer."""

import pytest

from cordwood.client.consumer.completed_fetch import CompletedFetch
from cordwood.client.consumer.subscription_state import SubscriptionState
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import InvalidRequestError, UnknownServerError
from cordwood.records.batch_builder import BatchBuilder, BatchFields

A, B, C = partitions_of([("a", 0), ("b", 0), ("c", 0)])


def fetched(offset: int) -> CompletedFetch:
    builder = BatchBuilder(BatchFields(base_offset=offset, partition_leader_epoch=4))
    builder.append(b"k", b"v")
    return CompletedFetch(partition=A, data=builder.build(), offset=offset)


def assignment() -> SubscriptionState:
    made = SubscriptionState()
    made.assign([A, B])
    return made


def test_prefetched_records_advance_the_next_fetch_offset() -> None:
    position = assignment()[A]
    position.seek(5)

    position.add_fetched(fetched(5))

    assert position.offset == 5
    assert position.fetch_offset == 6
    assert position.last_epoch == 4
    assert position.has_room
    position.add_fetched(fetched(6))
    assert not position.has_room


def test_seek_drops_prefetched_records() -> None:
    position = assignment()[A]
    position.seek(5)
    position.add_fetched(fetched(5))
    before = position.generation

    position.seek(0)

    assert position.fetch_offset == 0
    assert len(position.fetched) == 0
    assert position.generation > before


def test_partition_that_is_assigned_again_keeps_its_position() -> None:
    made = assignment()
    made[A].seek(5)

    made.assign([A, C])

    assert made[A].offset == 5
    assert made[C].offset is None
    assert len(made) == 2


def test_unassigned_partition_is_rejected() -> None:
    with pytest.raises(InvalidRequestError, match="c-0 is not assigned"):
        assignment()[C]


def test_fetched_partitions_are_returned_round_robin() -> None:
    made = assignment()
    for position in made:
        position.seek(0)
        position.add_fetched(fetched(0))

    turns = [made.next_fetched() for _ in range(3)]

    assert [turn.partition for turn in turns if turn] == [A, B, A]


def test_paused_partition_is_not_returned() -> None:
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
