"""Tests of the fetcher: requests, actions and errors; `test_late_answers` has the late ones."""

from dataclasses import replace

import pytest

from cordwood.cluster.partition.partition_fetch_state import FetchPhase
from cordwood.cluster.partition.replica_fetcher import (
    ApplyFetched,
    EpochEndAnswer,
    OffsetAnswer,
    ReplicaFetcher,
)
from cordwood.cluster.partition.truncation import FollowerLog, StartAt, TruncateTo
from cordwood.core.errors import (
    ERRORS_BY_CODE,
    CorruptMessageError,
    FencedLeaderEpochError,
    InvalidRecordError,
    KafkaError,
    KafkaStorageError,
    OutOfOrderSequenceNumberError,
    UnknownServerError,
)
from cordwood.core.types import LeaderEpoch, Offset, TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd, LeaderEpochCache
from tests.unit.cluster.partition.fetcher_samples import (
    BACKOFF_MS,
    FENCED,
    LOG,
    OUT_OF_RANGE,
    WITHOUT_EPOCHS,
    A,
    B,
    C,
    act,
    answer,
    fetched,
    fetcher,
    log,
    phase,
    request,
)

ORDERS_ID = Uuid(bytes(range(16)))


# -- adding partitions


def test_partition_is_fetched_from_the_log_end_with_its_latest_epoch() -> None:
    phase_of, partitions = request(fetcher())

    assert phase_of is FetchPhase.FETCHING
    assert (partitions[A].fetch_offset, partitions[A].last_epoch) == (10, 3)
    assert (partitions[A].leader_epoch, partitions[A].lag) == (4, None)


def test_partition_of_a_leader_that_does_not_detect_divergence_asks_first() -> None:
    phase_of, partitions = request(fetcher(detects=False))

    assert (phase_of, partitions[A].last_epoch) == (FetchPhase.ASKING_EPOCH, 3)


def test_partition_without_epochs_is_truncated_before_its_first_request() -> None:
    of = ReplicaFetcher(backoff_ms=BACKOFF_MS)

    action = of.add(A, NO_UUID, leader_epoch=4, log=WITHOUT_EPOCHS)

    assert action is not None
    assert action.step == TruncateTo(8)
    assert of.next_request(now_ms=0) is None
    of.applied(action, log=WITHOUT_EPOCHS._replace(log_end=8))
    assert request(of).partitions[A].fetch_offset == 8


def test_same_leader_epoch_again_keeps_the_state_and_takes_the_topic_id() -> None:
    of = fetcher()
    before = of.states[A]

    assert of.add(A, ORDERS_ID, leader_epoch=4, log=log(end=20)) is None
    assert of.states[A] == replace(before, topic_id=ORDERS_ID)


def test_topic_id_that_arrives_before_a_response_stays() -> None:
    of = fetcher()
    sent = request(of)
    of.add(A, ORDERS_ID, leader_epoch=4, log=LOG)

    action = answer(of, fetched(), sent=sent)
    assert action is not None
    of.applied(action, log=LOG)

    assert of.states[A].topic_id == ORDERS_ID


def test_older_leader_epoch_has_no_effect() -> None:
    of = fetcher()
    before = of.states[A]

    assert of.add(A, NO_UUID, leader_epoch=3, log=log(end=20)) is None
    assert of.states[A] is before


def test_next_leader_epoch_begins_again() -> None:
    of = fetcher(detects=False)
    action = act(of, EpochEndAnswer(A, 0, EpochEnd(LeaderEpoch(3), Offset(10))))
    of.applied(action, log=LOG)
    assert phase(of) is FetchPhase.FETCHING

    of.add(A, NO_UUID, leader_epoch=5, log=log(end=20))

    assert (phase(of), of.states[A].leader_epoch) == (FetchPhase.ASKING_EPOCH, 5)


def test_removed_partition_is_in_no_request() -> None:
    of = fetcher(A, B)

    of.remove([A, C])

    assert [*request(of).partitions] == [B]


# -- requests


def test_nothing_is_sent_without_partitions() -> None:
    assert ReplicaFetcher(backoff_ms=BACKOFF_MS).next_request(now_ms=0) is None


def test_questions_go_before_fetches() -> None:
    of = fetcher(A, B, C)
    sent = request(of)
    answer(of, fetched(B, error=OUT_OF_RANGE), sent=sent)

    assert [*request(of)] == [FetchPhase.FINDING_END, {B: of.states[B]}]


def test_paused_partition_is_in_no_request_until_it_is_resumed() -> None:
    of = fetcher(A, B)

    of.pause(A)
    assert [*request(of).partitions] == [B]
    of.resume(A)
    assert [*request(of).partitions] == [A, B]


def test_response_of_a_partition_that_was_paused_meanwhile_still_counts() -> None:
    of = fetcher()
    sent = request(of)

    of.pause(A)

    assert answer(of, fetched(), sent=sent) is not None


def test_partition_that_is_added_again_is_not_paused_after_its_removal() -> None:
    of = fetcher()
    of.pause(A)
    of.remove([A])

    of.add(A, NO_UUID, leader_epoch=4, log=LOG)

    assert [*request(of).partitions] == [A]


def test_partition_with_new_records_goes_to_the_end_of_the_next_request() -> None:
    of = fetcher(A, B, C)
    sent = request(of)
    for each, end in ((A, 12), (B, 10)):
        action = answer(of, fetched(each), sent=sent)
        assert action is not None
        of.applied(action, log=log(end=end))

    assert [*request(of).partitions] == [B, C, A]


def test_request_without_a_response_delays_its_partitions() -> None:
    of = fetcher(A, B)
    sent = request(of)
    of.remove([B])
    of.add(B, NO_UUID, leader_epoch=4, log=LOG)

    of.on_disconnect(sent, now_ms=100)

    assert [*request(of, now_ms=100).partitions] == [B]
    assert of.wakes_at_ms(now_ms=100) == 100 + BACKOFF_MS
    assert [*request(of, now_ms=100 + BACKOFF_MS).partitions] == [A, B]


def test_paused_partition_wakes_nothing() -> None:
    of = fetcher()
    of.on_disconnect(request(of), now_ms=0)
    of.pause(A)

    assert of.wakes_at_ms(now_ms=0) is None


# -- fetched records


def test_records_are_applied_and_the_next_fetch_continues_the_log() -> None:
    of = fetcher()

    action = act(of, fetched(high_watermark=15))
    assert (action.partition, action.step) == (A, ApplyFetched(15))
    assert of.next_request(now_ms=0) is None
    of.applied(action, log=log((3, 0), (4, 10), end=12))

    state = request(of).partitions[A]
    assert (state.fetch_offset, state.last_epoch, state.lag) == (12, 4, 3)


def test_response_without_records_still_carries_bounds() -> None:
    of = fetcher()

    of.applied(act(of, fetched(high_watermark=10)), log=LOG)

    assert of.states[A].is_in_sync


def test_log_that_does_not_end_at_the_fetch_offset_fails() -> None:
    of = fetcher()

    assert answer(of, fetched(), local=log(end=11)) is None
    assert isinstance(of.states[A].error, UnknownServerError)
    assert "orders-0: the log ends at 11, not at 10" in str(of.states[A].error)


@pytest.mark.parametrize(
    "error",
    (CorruptMessageError("damaged"), InvalidRecordError("damaged"), KafkaStorageError("no space")),
)
def test_records_are_fetched_again_after_the_backoff(error: KafkaError) -> None:
    of = fetcher()

    of.rejected(act(of, fetched()), error, log=log(end=12), now_ms=0)

    assert of.next_request(now_ms=BACKOFF_MS - 1) is None
    assert request(of, now_ms=BACKOFF_MS).partitions[A].fetch_offset == 12


def test_records_that_the_log_rejects_fail_the_partition() -> None:
    of, error = fetcher(), OutOfOrderSequenceNumberError("sequence")

    of.rejected(act(of, fetched()), error, log=LOG, now_ms=0)

    assert (phase(of), of.states[A].error) == (FetchPhase.FAILED, error)
    assert of.next_request(now_ms=1_000_000) is None


def test_log_that_cannot_be_used_fails_until_the_next_epoch() -> None:
    of, error = fetcher(), KafkaStorageError("disk")
    action = act(of, fetched())

    of.fail(A, error)
    of.fail(B, error)

    assert of.applied(action, log=LOG) is None
    assert (phase(of), of.states[A].error, B in of.states) == (FetchPhase.FAILED, error, False)
    of.add(A, NO_UUID, leader_epoch=5, log=LOG)
    assert phase(of) is FetchPhase.FETCHING


# -- divergence


def test_diverging_epoch_truncates_and_uses_no_bounds() -> None:
    of = fetcher()

    action = act(of, fetched(diverging=(3, 7)))
    of.applied(action, log=log(end=7, high_watermark=7))

    assert action.step == TruncateTo(7)
    assert (request(of).partitions[A].fetch_offset, of.states[A].lag) == (7, None)


def test_fetch_detects_the_next_divergence_after_a_truncation_that_is_not_final() -> None:
    local = log((1, 0), (3, 6))
    of = ReplicaFetcher(backoff_ms=BACKOFF_MS)
    of.add(A, NO_UUID, leader_epoch=4, log=local)

    action = act(of, fetched(diverging=(2, 7)), local=local)
    of.applied(action, log=log((1, 0), end=6))

    assert action.step == TruncateTo(6, is_final=False)
    assert (phase(of), of.states[A].last_epoch) == (FetchPhase.FETCHING, 1)


def test_follower_asks_again_after_a_truncation_that_is_not_final() -> None:
    local = log((1, 0), (3, 6))
    of = ReplicaFetcher(backoff_ms=BACKOFF_MS, detects_on_fetch=False)
    of.add(A, NO_UUID, leader_epoch=4, log=local)

    action = act(of, EpochEndAnswer(A, 0, EpochEnd(LeaderEpoch(2), Offset(7))), local=local)
    of.applied(action, log=log((1, 0), end=6))

    assert (phase(of), of.states[A].last_epoch) == (FetchPhase.ASKING_EPOCH, 1)


def test_follower_fetches_after_the_final_truncation() -> None:
    of = fetcher(detects=False)

    action = act(of, EpochEndAnswer(A, 0, EpochEnd(LeaderEpoch(3), Offset(9))))
    of.applied(action, log=log(end=9))

    assert (phase(of), of.states[A].fetch_offset) == (FetchPhase.FETCHING, 9)


def test_failed_truncation_fails_the_partition() -> None:
    of = fetcher(detects=False)
    action = act(of, EpochEndAnswer(A, 0, EpochEnd(LeaderEpoch(3), Offset(9))))

    of.rejected(action, KafkaStorageError("disk"), log=LOG, now_ms=0)

    assert phase(of) is FetchPhase.FAILED


# -- out of range


def test_out_of_range_truncates_to_the_end_of_a_shorter_leader() -> None:
    of = fetcher()
    answer(of, fetched(error=OUT_OF_RANGE))
    assert request(of).phase is FetchPhase.FINDING_END

    action = act(of, OffsetAnswer(A, 0, 6))
    of.applied(action, log=log(end=6))

    assert action.step == TruncateTo(6)
    assert (phase(of), of.states[A].fetch_offset) == (FetchPhase.FETCHING, 6)


def test_out_of_range_starts_again_at_the_leaders_log_start() -> None:
    of = fetcher()
    answer(of, fetched(error=OUT_OF_RANGE))
    assert answer(of, OffsetAnswer(A, 0, 30)) is None
    assert request(of).phase is FetchPhase.FINDING_START

    action = act(of, OffsetAnswer(A, 0, 20))
    of.applied(action, log=FollowerLog(LeaderEpochCache(), 20, 20, 20))

    assert action.step == StartAt(20)
    assert (of.states[A].fetch_offset, of.states[A].last_epoch) == (20, -1)


def test_out_of_range_of_a_leader_that_has_grown_since_is_fetched_after_the_backoff() -> None:
    of = fetcher()
    answer(of, fetched(error=OUT_OF_RANGE))
    answer(of, OffsetAnswer(A, 0, 30))

    assert answer(of, OffsetAnswer(A, 0, 0)) is None
    assert of.next_request(now_ms=BACKOFF_MS - 1) is None
    assert request(of, now_ms=BACKOFF_MS).partitions[A].fetch_offset == 10


# -- errors


@pytest.mark.parametrize("code", sorted(set(ERRORS_BY_CODE) - {OUT_OF_RANGE, FENCED}))
def test_error_of_the_leader_delays_the_partition(code: int) -> None:
    of = fetcher(A, B)
    sent = request(of)

    assert answer(of, fetched(error=code), sent=sent) is None

    assert [*request(of).partitions] == [B]
    assert request(of, now_ms=BACKOFF_MS).partitions[A].fetch_offset == 10


def test_fenced_leader_epoch_fails_until_the_next_epoch() -> None:
    of = fetcher()
    answer(of, fetched(error=FENCED))
    assert isinstance(of.states[A].error, FencedLeaderEpochError)
    assert of.next_request(now_ms=1_000_000) is None

    of.add(A, NO_UUID, leader_epoch=5, log=LOG)

    assert (phase(of), of.states[A].error) == (FetchPhase.FETCHING, None)


def test_failed_partition_that_is_added_again_begins_again() -> None:
    of = fetcher()
    answer(of, fetched(error=FENCED))

    of.add(A, NO_UUID, leader_epoch=4, log=log(end=20))

    assert (phase(of), of.states[A].fetch_offset) == (FetchPhase.FETCHING, 20)


@pytest.mark.parametrize("error", (OUT_OF_RANGE, 6, 75))
def test_error_of_a_question_repeats_it_after_the_backoff(error: int) -> None:
    asking, finding = fetcher(detects=False), fetcher()
    answer(finding, fetched(error=OUT_OF_RANGE))

    answer(asking, EpochEndAnswer(A, error, EpochEnd(LeaderEpoch(-1), Offset(-1))))
    answer(finding, OffsetAnswer(A, error, -1))

    assert asking.next_request(now_ms=0) is finding.next_request(now_ms=0) is None
    assert request(asking, now_ms=BACKOFF_MS).phase is FetchPhase.ASKING_EPOCH
    assert request(finding, now_ms=BACKOFF_MS).phase is FetchPhase.FINDING_END


def test_fenced_question_fails() -> None:
    of = fetcher(detects=False)

    answer(of, EpochEndAnswer(A, FENCED, EpochEnd(LeaderEpoch(-1), Offset(-1))))

    assert phase(of) is FetchPhase.FAILED


# -- throttles


def throttled_fetcher(*throttled: TopicPartition) -> ReplicaFetcher:
    """Return a fetcher of A and B, which throttles these partitions unless they are in sync."""

    def is_throttled(partition: TopicPartition, *, is_in_sync: bool) -> bool:
        return partition in throttled and not is_in_sync

    of = ReplicaFetcher(backoff_ms=BACKOFF_MS, is_throttled=is_throttled)
    for each in (A, B):
        of.add(each, NO_UUID, leader_epoch=4, log=LOG)
    return of


def test_throttled_partition_is_left_out_of_fetches() -> None:
    assert [*request(throttled_fetcher(A)).partitions] == [B]


def test_throttled_partition_alone_is_looked_at_after_the_backoff() -> None:
    of = throttled_fetcher(A, B)

    assert of.next_request(now_ms=5) is None
    assert of.wakes_at_ms(now_ms=5) == 5 + BACKOFF_MS


def test_partition_returns_after_an_action_without_a_log() -> None:
    of = fetcher()
    action = act(of, fetched())
    of.remove([A])
    of.abandon(action)

    assert of.add(A, NO_UUID, leader_epoch=0, log=LOG) is None

    assert request(of).partitions[A].leader_epoch == 0


def test_paused_partition_is_not_looked_at_because_of_a_throttle() -> None:
    of = throttled_fetcher(A, B)
    of.pause(A)
    of.pause(B)

    assert of.wakes_at_ms(now_ms=5) is None


def test_partition_that_has_all_records_that_count_is_not_throttled() -> None:
    throttled = set[TopicPartition]()

    def is_throttled(partition: TopicPartition, *, is_in_sync: bool) -> bool:
        return partition in throttled and not is_in_sync

    of = ReplicaFetcher(backoff_ms=BACKOFF_MS, is_throttled=is_throttled)
    for each in (A, B):
        of.add(each, NO_UUID, leader_epoch=4, log=LOG)
    sent = request(of)
    for name, high_watermark in ((A, LOG.log_end), (B, LOG.log_end + 1)):
        action = answer(of, fetched(name, high_watermark=high_watermark), sent=sent)
        assert action is not None
        of.applied(action, log=LOG)
    throttled |= {A, B}

    assert [*request(of).partitions] == [A]


def test_truncation_is_never_throttled() -> None:
    of = ReplicaFetcher(
        backoff_ms=BACKOFF_MS,
        detects_on_fetch=False,
        is_throttled=lambda _, *, is_in_sync: not is_in_sync,
    )
    of.add(A, NO_UUID, leader_epoch=4, log=LOG)

    assert request(of).phase is FetchPhase.ASKING_EPOCH
