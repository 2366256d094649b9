"""Positions of a consumer."""

import pytest

from cordwood.client.consumer.completed_fetch import CompletedFetch, completed_fetch
from cordwood.client.consumer.offset_fetcher import EARLIEST
from cordwood.client.consumer.subscription_state import (
    PositionCheck,
    SubscriptionState,
    TopicPartitionState,
)
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import InvalidRequestError, UnknownServerError
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.records.batch_builder import BatchBuilder, BatchFields

ID, OTHER_ID = Uuid(b"1" * 16), Uuid(b"2" * 16)
A, B, C = partitions_of([("a", 0), ("b", 0), ("c", 0)])


def fetched(offset: int) -> CompletedFetch:
    builder = BatchBuilder(BatchFields(base_offset=offset, partition_leader_epoch=4))
    builder.append(b"k", b"v")
    return completed_fetch(A, builder.build(), offset=offset)[0]


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


def validated(*, returned: int = 0) -> TopicPartitionState:
    """Return a position with two prefetched records of epoch 4, valid in epoch 4."""
    position = TopicPartitionState(A)
    position.seek(0)
    for offset in range(2):
        position.add_fetched(fetched(offset))
    position.offset = returned
    assert position.check(ID, 4) is PositionCheck.VALID
    return position


def test_position_is_compared_with_each_leader_epoch() -> None:
    position = validated()

    checks = [position.check(ID, epoch) for epoch in (4, 5, 3, -1)]

    changed = PositionCheck.EPOCH_CHANGED
    assert checks == [PositionCheck.VALID, changed, changed, PositionCheck.VALID]


def test_position_without_records_is_valid_in_every_epoch() -> None:
    position = TopicPartitionState(A)
    position.seek(7)

    assert {position.check(ID, epoch) for epoch in (4, 5, 3)} == {PositionCheck.VALID}


def test_position_of_another_topic_id_is_not_valid() -> None:
    position = validated()

    assert position.check(NO_UUID, 4) is PositionCheck.VALID
    assert position.check(OTHER_ID, 4) is PositionCheck.TOPIC_RECREATED


@pytest.mark.parametrize(
    ("returned", "end", "expected"), ((0, 2, (0, 2)), (0, 1, (0, 0)), (2, 1, (1, 1)))
)
def test_validation_keeps_what_the_leaders_log_has(
    returned: int, end: int, expected: tuple[int, int]
) -> None:
    position = validated(returned=returned)

    problem = position.complete_validation(end, epoch=4, reset_target=EARLIEST)

    assert (position.offset, position.fetch_offset) == expected
    assert bool(problem) == (end < returned)


@pytest.mark.parametrize(("end", "text"), ((1, "truncated to offset 1"), (-1, "no records of")))
def test_validation_without_a_reset_keeps_the_position(end: int, text: str) -> None:
    position = validated(returned=2)

    assert text in position.complete_validation(end, epoch=4, reset_target=None)
    assert position.offset == 2


def test_unknown_epoch_resets_the_position() -> None:
    position = validated(returned=2)

    assert position.complete_validation(-1, epoch=-1, reset_target=EARLIEST)
    assert (position.offset, position.reset_target) == (None, EARLIEST)
