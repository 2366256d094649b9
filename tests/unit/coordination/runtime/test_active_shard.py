"""Tests of one loaded shard."""

import asyncio

import pytest

from cordwood.coordination.coordinator_record import StoredRecord
from cordwood.coordination.outcome import (
    Answer,
    CoordinatorEvent,
    EventCount,
    Outcome,
    TimerChange,
    TransactionalProducer,
)
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.runtime.active_shard import TIMER_RETRY_MS
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaError,
    MessageTooLargeError,
    NotEnoughReplicasError,
    UnknownServerError,
)
from cordwood.protocol.messages.heartbeat import HeartbeatResponse
from cordwood.protocol.schema import Response
from cordwood.records.record_batch import RecordBatch
from tests.unit.broker.broker_samples import run
from tests.unit.coordination.runtime.runtime_samples import (
    TIMER,
    ActiveHarness,
    group_record,
)


def test_append_that_is_not_written_yet_is_replayed_with_the_expected_offset() -> None:
    harness = ActiveHarness()
    harness.active.run(lambda *_: Outcome(records=[group_record("g")]))
    harness.log.holds = True

    harness.active.run(lambda *_: Outcome(records=[group_record("h"), group_record("i")]))

    assert [each.offset for each in harness.shard.stored] == [0, 1, 2]


def test_rejected_append_has_the_answers_of_on_failure_and_the_error_for_the_others() -> None:
    async def scene() -> tuple[Response, int]:
        harness = ActiveHarness()
        (first, one), (second, other) = harness.begin(), harness.begin()
        harness.log.rejection = NotEnoughReplicasError("none")
        told = Answer(first, HeartbeatResponse(error_code=27))
        harness.active.run(
            lambda *_: Outcome(
                records=[group_record("g")],
                answers=[Answer(each, HeartbeatResponse(error_code=0)) for each in (first, second)],
                on_failure=lambda *_: Outcome(answers=[told]),
            )
        )
        error = other.exception()
        assert isinstance(error, KafkaError)
        return one.result(), error.code

    assert run(scene()) == (HeartbeatResponse(error_code=27), 15)


def test_records_of_on_failure_are_appended() -> None:
    harness = ActiveHarness()
    harness.log.rejection = NotEnoughReplicasError("none")

    def recover(_: KafkaError, __: int) -> Outcome:
        harness.log.rejection = None
        return Outcome(records=[group_record("instead")])

    harness.active.run(lambda *_: Outcome(records=[group_record("g")], on_failure=recover))

    assert harness.shard.groups == ["instead"]


def test_request_whose_ticket_the_shard_has_lost_may_come_again_when_it_breaks() -> None:
    async def scene() -> tuple[int, int]:
        harness = ActiveHarness()
        _, future = harness.begin()
        harness.shard.on_replay = lambda _: 1 // 0
        harness.active.run(lambda *_: Outcome(records=[group_record("g")]))
        error = future.exception()
        assert isinstance(error, KafkaError)
        return error.code, len(harness.broken)

    assert run(scene()) == (15, 1)


def test_broken_shard_runs_no_more_events() -> None:
    harness = ActiveHarness()
    harness.shard.on_replay = lambda _: 1 // 0
    harness.active.run(lambda *_: Outcome(records=[group_record("g")]))
    replayed = list[StoredRecord]()
    harness.shard.on_replay = replayed.append

    harness.active.run(lambda *_: Outcome(records=[group_record("h")]))

    assert replayed == []


def test_outcome_is_performed_once_it_counts() -> None:
    harness = ActiveHarness()
    performed = list[Outcome]()
    harness.active.perform = performed.append
    harness.log.holds = True
    outcome = Outcome(records=[group_record("g")])
    harness.active.run(lambda *_: outcome)

    before = [*performed]
    harness.log.count()

    assert (before, performed) == ([], [outcome])


def test_events_are_counted_once_their_outcome_counts() -> None:
    harness = ActiveHarness()
    harness.log.holds = True
    event = EventCount(CoordinatorEvent.CLASSIC_REBALANCE)
    harness.active.run(lambda *_: Outcome(records=[group_record("g")], events=(event,)))

    before = [*harness.counted]
    harness.log.count()

    assert (before, harness.counted) == ([], [event])


def test_events_of_a_rejected_append_are_not_counted() -> None:
    harness = ActiveHarness()
    harness.log.rejection = NotEnoughReplicasError()
    event = EventCount(CoordinatorEvent.CLASSIC_REBALANCE)

    harness.active.run(lambda *_: Outcome(records=[group_record("g")], events=(event,)))

    assert harness.counted == []


def test_timer_whose_records_are_rejected_fires_again() -> None:
    harness = ActiveHarness()
    harness.active.run(lambda *_: Outcome(timers=[TimerChange(TIMER, harness.clock.now_ms())]))
    harness.log.rejection = NotEnoughReplicasError()
    harness.clock.advance(ms=1)
    harness.log.rejection = None

    harness.clock.advance(ms=TIMER_RETRY_MS)

    assert [key for key, _ in harness.shard.fired] == [TIMER, TIMER]
    assert harness.shard.groups == ["g"]


def test_outcomes_of_one_turn_share_an_append() -> None:
    harness = ActiveHarness()
    harness.defer_calls()

    for group in ("g", "h"):
        harness.active.run(lambda *_, group=group: Outcome(records=[group_record(group)]))
    before = (len(harness.log.batches), [each.offset for each in harness.shard.stored])
    harness.make_calls()

    assert before == (0, [0, 1])
    assert [RecordBatch(each).count for each in harness.log.batches] == [2]


def test_answers_of_one_turn_are_given_after_its_append() -> None:
    async def scene() -> list[bool]:
        harness = ActiveHarness()
        harness.defer_calls()
        waiting = list[asyncio.Future[Response]]()
        for _ in range(2):
            ticket, future = harness.begin()
            waiting.append(future)
            answer = Answer(ticket, HeartbeatResponse(error_code=0))
            harness.active.run(
                lambda *_, answer=answer: Outcome(records=[group_record("g")], answers=[answer])
            )
        before = [each.done() for each in waiting]
        harness.make_calls()
        return [*before, *(each.done() for each in waiting)]

    assert run(scene()) == [False, False, True, True]


def test_outcome_of_a_transaction_is_appended_after_those_of_its_turn() -> None:
    harness = ActiveHarness()
    harness.defer_calls()
    harness.active.run(lambda *_: Outcome(records=[group_record("g")]))

    producer = TransactionalProducer(7, 0)
    harness.active.run(lambda *_: Outcome(records=[group_record("h")], producer=producer))
    harness.make_calls()

    assert [RecordBatch(each).producer_id for each in harness.log.batches] == [-1, 7]
    assert [each.offset for each in harness.shard.stored] == [0, 1]


def test_outcome_that_does_not_fit_begins_the_next_batch() -> None:
    harness = ActiveHarness()
    harness.defer_calls()
    harness.log.most_bytes = 150

    for group in ("g", "h"):
        harness.active.run(lambda *_, group=group: Outcome(records=[group_record(group)]))
    harness.make_calls()

    assert [RecordBatch(each).count for each in harness.log.batches] == [1, 1]
    assert harness.shard.groups == ["g", "h"]


def test_shard_breaks_when_the_append_of_its_turn_is_rejected() -> None:
    async def scene() -> tuple[int, int]:
        harness = ActiveHarness()
        harness.defer_calls()
        ticket, future = harness.begin()
        answer = Answer(ticket, HeartbeatResponse(error_code=0))
        harness.active.run(lambda *_: Outcome(records=[group_record("g")], answers=[answer]))
        harness.log.late_rejection = NotEnoughReplicasError("none")
        harness.make_calls()
        error = future.exception()
        assert isinstance(error, KafkaError)
        return error.code, len(harness.broken)

    assert run(scene()) == (15, 1)


def test_outcome_after_a_batch_that_is_rejected_is_not_appended() -> None:
    """It was decided on the records of the batch, which the log lacks."""
    harness = ActiveHarness()
    harness.defer_calls()
    harness.active.run(lambda *_: Outcome(records=[group_record("g")]))
    harness.log.late_rejection = NotEnoughReplicasError("none")

    harness.active.run(
        lambda *_: Outcome(records=[group_record("h")], on_failure=lambda *_: Outcome())
    )

    assert (harness.log.batches, len(harness.broken)) == ([], 1)


def test_outcome_that_does_not_fit_is_lost_with_the_batch_before_it() -> None:
    harness = ActiveHarness()
    harness.defer_calls()
    harness.log.most_bytes = 150
    harness.active.run(lambda *_: Outcome(records=[group_record("g")]))
    harness.log.late_rejection = NotEnoughReplicasError("none")

    harness.active.run(lambda *_: Outcome(records=[group_record("h")]))

    assert (harness.log.batches, harness.shard.groups) == ([], ["g"])


def test_marker_after_a_batch_that_is_rejected_is_to_be_sent_again() -> None:
    harness = ActiveHarness()
    harness.defer_calls()
    harness.active.run(lambda *_: Outcome(records=[group_record("g")]))
    harness.log.late_rejection = NotEnoughReplicasError("none")

    with pytest.raises(CoordinatorLoadInProgressError):
        harness.active.end_transaction(
            TransactionMarker(7, 0, 0, is_commit=True, partitions=frozenset())
        )

    assert (harness.log.batches, harness.shard.markers) == ([], [])


@pytest.mark.parametrize("error", (MessageTooLargeError(), KeyError("unexpected")))
def test_requests_that_wait_in_a_shard_that_breaks_may_come_again(error: Exception) -> None:
    async def scene() -> int:
        harness = ActiveHarness()
        ticket, future = harness.begin()
        harness.active.run(lambda shard, _: shard.wait(ticket))
        harness.log.holds = True
        harness.active.run(lambda *_: Outcome(records=[group_record("g")]))
        harness.log.held.pop().set_exception(error)
        found = future.exception()
        assert isinstance(found, KafkaError)
        return found.code

    assert run(scene()) == CoordinatorNotAvailableError.code


def test_event_with_an_unexpected_error_fails_for_its_own_request() -> None:
    async def scene() -> int:
        harness = ActiveHarness()
        ticket, future = harness.begin()
        harness.shard.on_replay = lambda _: 1 // 0
        harness.active.run(lambda *_: Outcome(records=[group_record("g")]), ticket)
        error = future.exception()
        assert isinstance(error, KafkaError)
        return error.code

    assert run(scene()) == UnknownServerError.code


def test_error_of_an_outcome_that_counts_loses_no_answer() -> None:
    async def scene() -> tuple[int, int]:
        harness = ActiveHarness()
        ticket, future = harness.begin()
        harness.log.holds = True
        harness.active.perform = lambda _: 1 // 0
        harness.active.run(lambda *_: Outcome(records=[group_record("g")]))
        answer = Answer(ticket, HeartbeatResponse(error_code=0))
        harness.active.run(lambda *_: Outcome(answers=[answer]))
        harness.log.count()
        error = future.exception()
        assert isinstance(error, KafkaError)
        return error.code, len(harness.broken)

    assert run(scene()) == (CoordinatorNotAvailableError.code, 1)


def test_batch_of_a_shard_that_ends_is_not_appended() -> None:
    harness = ActiveHarness()
    harness.defer_calls()
    harness.active.run(lambda *_: Outcome(records=[group_record("g")]))

    harness.active.close(NotEnoughReplicasError("none"))
    harness.make_calls()

    assert harness.log.batches == []
