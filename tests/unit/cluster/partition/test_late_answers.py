"""Tests of the fetcher: answers and actions of a leader epoch that has ended."""

import pytest

from cordwood.cluster.partition.partition_fetch_state import FetchPhase
from cordwood.cluster.partition.replica_fetcher import EpochEndAnswer, FetchedPartition
from cordwood.cluster.partition.truncation import TruncateTo
from cordwood.core.errors import KafkaStorageError, UnknownServerError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.core.uuids import NO_UUID
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd
from tests.unit.cluster.partition.fetcher_samples import (
    FENCED,
    LOG,
    WITHOUT_EPOCHS,
    A,
    B,
    act,
    answer,
    fetched,
    fetcher,
    log,
    phase,
    request,
)


@pytest.mark.parametrize(
    "late",
    (fetched(), fetched(error=6), fetched(error=FENCED), fetched(diverging=(3, 7))),
)
def test_answer_from_before_the_next_leader_epoch_is_discarded(late: FetchedPartition) -> None:
    of = fetcher()
    sent = request(of)
    of.add(A, NO_UUID, leader_epoch=5, log=LOG)
    before = of.states[A]

    assert answer(of, late, sent=sent) is None
    assert of.states[A] is before


def test_answer_for_a_partition_that_was_removed_is_discarded() -> None:
    of = fetcher()
    sent = request(of)
    of.remove([A])

    assert answer(of, fetched(), sent=sent) is None
    assert A not in of.states


def test_answer_for_a_partition_that_was_removed_and_added_is_discarded() -> None:
    of = fetcher()
    sent = request(of)
    of.remove([A])
    of.add(A, NO_UUID, leader_epoch=4, log=LOG)

    assert answer(of, fetched(), sent=sent) is None


def test_answer_that_was_not_requested_is_discarded() -> None:
    of = fetcher(A)
    sent = request(of)
    of.add(B, NO_UUID, leader_epoch=4, log=LOG)

    assert answer(of, fetched(B), sent=sent) is None
    assert phase(of, B) is FetchPhase.FETCHING


def test_second_answer_to_a_request_is_discarded() -> None:
    of = fetcher()
    sent = request(of)
    of.applied(act(of, fetched()), log=log(end=12))

    assert answer(of, fetched(), sent=sent) is None


def test_leader_epoch_begins_after_the_action_that_is_under_way() -> None:
    of = fetcher()
    action = act(of, fetched())

    assert of.add(A, NO_UUID, leader_epoch=5, log=LOG) is None
    assert of.next_request(now_ms=0) is None
    assert of.applied(action, log=log(end=12)) is None

    state = request(of).partitions[A]
    assert (state.leader_epoch, state.fetch_offset, state.lag) == (5, 12, None)


def test_first_truncation_of_a_leader_epoch_follows_the_action_that_is_under_way() -> None:
    of = fetcher()
    action = act(of, fetched())
    of.add(A, NO_UUID, leader_epoch=5, log=LOG)

    after = of.applied(action, log=WITHOUT_EPOCHS)

    assert after is not None
    assert (after.step, after.state.leader_epoch) == (TruncateTo(8), 5)


def test_leader_epoch_begins_after_an_action_that_has_failed() -> None:
    of = fetcher(detects=False)
    action = act(of, EpochEndAnswer(A, 0, EpochEnd(LeaderEpoch(3), Offset(9))))
    of.add(A, NO_UUID, leader_epoch=5, log=LOG)

    assert of.rejected(action, UnknownServerError("wrong"), log=LOG, now_ms=0) is None

    assert (phase(of), of.states[A].leader_epoch) == (FetchPhase.ASKING_EPOCH, 5)


def test_leader_epoch_does_not_begin_on_a_log_that_cannot_be_used() -> None:
    of = fetcher()
    action = act(of, fetched())
    of.add(A, NO_UUID, leader_epoch=5, log=LOG)

    of.fail(A, KafkaStorageError("disk"))

    assert of.rejected(action, KafkaStorageError("disk"), log=LOG, now_ms=0) is None
    assert phase(of) is FetchPhase.FAILED


def test_partition_that_is_added_again_waits_for_the_action_from_before_its_removal() -> None:
    of = fetcher()
    action = act(of, fetched())
    of.remove([A])
    of.add(A, NO_UUID, leader_epoch=4, log=LOG)
    assert of.next_request(now_ms=0) is None

    of.applied(action, log=log(end=12))

    assert request(of).partitions[A].fetch_offset == 12


def test_action_of_a_partition_that_is_not_followed_ends_without_effect() -> None:
    of = fetcher()
    action = act(of, fetched())
    of.remove([A])

    assert of.applied(action, log=LOG) is None
    assert of.rejected(action, KafkaStorageError("disk"), log=LOG, now_ms=0) is None
    assert A not in of.states


def test_action_ends_once() -> None:
    of = fetcher()
    action = act(of, fetched())
    of.applied(action, log=log(end=12))
    before = of.states[A]

    assert of.applied(action, log=log(end=14)) is None
    assert of.states[A] is before


def test_request_of_an_earlier_leader_epoch_delays_nothing() -> None:
    of = fetcher()
    sent = request(of)
    of.add(A, NO_UUID, leader_epoch=5, log=LOG)

    of.on_disconnect(sent, now_ms=0)

    assert [*request(of).partitions] == [A]
